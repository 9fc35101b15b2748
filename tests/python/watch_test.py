"""A run that is watched: a stand-in for PyTorch, whose recording is what vramfit predicts."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import vramfit

RUN = {"model": "gpt2-124m", "train": True, "batch": 2, "seq": 64, "gpu": "rtx4090"}


class OutOfMemoryError(RuntimeError):
    pass


@pytest.fixture
def torch(monkeypatch):
    """Records the run that `recorded` names, and what was called."""
    calls = []
    stand_in = SimpleNamespace(recorded=RUN, calls=calls, OutOfMemoryError=OutOfMemoryError)

    def dump(path):
        calls.append("dump")
        vramfit.estimate(**stand_in.recorded).snapshot(path)

    def record(enabled="all", **_):
        calls.append(f"record {enabled}")

    stand_in.cuda = SimpleNamespace(
        is_available=lambda: True,
        synchronize=lambda: calls.append("synchronize"),
        reset_peak_memory_stats=lambda: calls.append("reset"),
        mem_get_info=lambda: (0, 0),
        memory_reserved=lambda: 0,
        max_memory_allocated=lambda: 123,
        max_memory_reserved=lambda: 456,
        memory=SimpleNamespace(_record_memory_history=record, _dump_snapshot=dump),
    )
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    return stand_in


def test_a_run_as_predicted_agrees(torch):
    with vramfit.watch(**RUN) as watched:
        assert torch.calls == ["synchronize", "reset", "record all"]
    assert torch.calls[-2:] == ["dump", "record None"]
    assert watched.agrees
    assert (watched.allocated, watched.reserved) == (123, 456)
    assert "was 123 bytes" in str(watched)
    assert watched.answer.fits


def test_another_run_is_told_apart(torch):
    torch.recorded = {**RUN, "batch": 3}
    with vramfit.watch(**RUN) as watched:
        pass
    assert not watched.agrees
    assert watched.verification is not None
    assert str(watched.verification) in str(watched)


def test_what_is_raised_goes_on_and_recording_ends(torch):
    for error in (OutOfMemoryError, KeyError):
        with pytest.raises(error), vramfit.watch(**RUN):
            raise error
        assert torch.calls[-1] == "record None"


def test_what_was_not_compared_says_why(torch):
    watched = vramfit.watch(**RUN)
    assert "not compared: nothing was recorded yet" in str(watched)
    with pytest.raises(KeyError), watched:
        raise KeyError
    assert "not compared: the run ended in KeyError" in str(watched)
    torch.cuda.memory._dump_snapshot = lambda path: Path(path).write_bytes(b"no pickle")
    with vramfit.watch(**RUN) as watched:
        pass
    assert watched.verification is None
    assert re.search("not compared: .*snapshot", str(watched))


def test_it_says_what_it_lacks(torch, monkeypatch):
    torch.cuda.is_available = lambda: False
    with pytest.raises(vramfit.BadInput, match="needs a GPU"), vramfit.watch(**RUN):
        pass
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(vramfit.BadInput, match="needs torch"), vramfit.watch(**RUN):
        pass
