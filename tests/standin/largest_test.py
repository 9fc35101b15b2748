"""Batches that are tried in processes of their own, where one of them fails."""

from stood_in import PACKAGE, needs_torch, play

pytestmark = needs_torch

# `_forks` in the place of what a watched run has.
BEGIN = f"""
import os, time, types
vramfit = types.ModuleType("vramfit")
vramfit.__path__ = [{str(PACKAGE / "vramfit")!r}]
sys.modules["vramfit"] = vramfit
import torch
from vramfit._step import largest

class Forks:
    begin = staticmethod(lambda: None)
    took = staticmethod(lambda process: None)

    @staticmethod
    def end():
        raise OSError("no room for what it took")

largest._forks = Forks

def failure(play):
    try:
        largest._together([1, 2], play)
    except SystemExit as end:
        return str(end)
"""


def test_a_process_that_has_ended_is_not_killed():
    """Its number may be another's."""
    killed, failure = play(
        BEGIN
        + """
kill, killed = os.kill, []
os.kill = lambda process, signal: (killed.append(process), kill(process, signal))

def fail(batch):
    if batch == 2:
        time.sleep(100)
    raise ValueError("of one")

why = failure(fail)
print(json.dumps([len(killed), why]))
"""
    )
    assert killed == 1
    assert failure.endswith("ValueError: of one")


def test_what_a_try_that_ran_out_cannot_write_down_is_told():
    failure = play(
        BEGIN
        + """
def run_out(batch):
    raise torch.OutOfMemoryError

print(json.dumps(failure(run_out)))
"""
    )
    assert failure.startswith("With a batch of 1:")
    assert failure.endswith("OSError: no room for what it took")
