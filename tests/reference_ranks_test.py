"""The processes that PyTorch's cases on several GPUs run in, with work that needs no GPU."""

import os
import sys
import time

import pytest
from programs import ROOT

sys.path.insert(0, str(ROOT / "data" / "reference"))
from ranks import TIMED_OUT, of_all_ranks


def _noted(case):
    os.close(os.open(f"{case['notes']}/{os.getpid()}", os.O_CREAT | os.O_WRONLY))


def done(rank, case):
    _noted(case)
    return {"rank": rank, "port": os.environ["MASTER_PORT"]}


def waiting(rank, case):
    """For one of them that says something, or is no more."""
    _noted(case)
    if rank != 1:
        time.sleep(60)
    elif "says" in case:
        return case["says"]
    elif case.get("dies"):
        os._exit(9)
    time.sleep(60)
    return {}


def _result(work, folder, seconds=30.0, **case):
    """Once every process that noted itself is gone."""
    begin = time.monotonic()
    result = of_all_ranks(work, {"notes": str(folder), **case}, 3, seconds)
    assert time.monotonic() - begin < 25
    for note in folder.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(note.name), 0)
    return result


def test_all_being_done_the_first_counts(tmp_path):
    result = _result(done, tmp_path)
    assert (result["rank"], result["port"].isdigit()) == (0, True)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("said", [{"oom": "GPU 1: of memory"}, {"error": "GPU 1: so"}])
def test_one_that_fails_ends_the_others_with_what_it_says(tmp_path, said):
    assert _result(waiting, tmp_path, says=said) == said


def test_one_that_dies_ends_the_others(tmp_path):
    assert _result(waiting, tmp_path, dies=True) == {"error": "GPU 1: its process died"}


def test_what_is_not_done_in_time_is_ended(tmp_path):
    assert _result(waiting, tmp_path, seconds=3.0) == TIMED_OUT
