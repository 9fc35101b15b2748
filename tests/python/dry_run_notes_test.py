"""What an answer of vramfit run notes."""

import pytest
from dry_runs import GB
from vramfit._dry_run import _words

ANSWER = {
    "compile": None,
    "batches": [[4, 512]],
    "longest": None,
    "processes": 1,
    "rank": None,
    "gpus": [{"device_used": GB}],
    "levels": {"reserved": GB},
    "levels_of_late_gpu": None,
    "out_of_memory_caught": [],
    "kernels": {"cudnn attention, forward": 4, "cudnn attention, backward": 2, "fill": 9},
    "assumptions": [],
    "unknown_calls": [],
    "doubtful_events": 0,
    "host": {"page_locked": 0, "managed": 0, "resident": GB, "hollow": 0},
    "checkpoints": {"written": [], "kept": []},
}


MEASURED = {"assumed_from": ""}


def called(name, calls, by="", as_zero=False) -> dict:
    library = "libcuda.so.1"
    return {"library": library, "name": name, "calls": calls, "by": by, "as_zero": as_zero}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"batches": [[4, 80], [4, 512], [2, 300]]}, "batches had 80 to 512 tokens a row"),
        ({"longest": []}, "no DataLoader gave batches"),
        ({"longest": ["the longest batch"]}, "the longest batch"),
        ({"doubtful_events": 3}, "3 times memory could be given again only if"),
        ({"levels_of_late_gpu": {"reserved": 2 * GB}}, "the true figure lies between"),
        ({"levels_of_late_gpu": {"reserved": GB}}, "which makes no difference"),
        ({"host": {**ANSWER["host"], "page_locked": GB}}, "1.00 GB were page-locked"),
        ({"processes": 2}, "of 2 processes"),
        (
            {"rank": {"rank": 3, "ranks": 8, "not_received": 0, "peers": 0}},
            "figures are of rank 3 of 8;",
        ),
        (
            {"rank": {"rank": 0, "ranks": 1, "not_received": 2, "peers": 0}},
            "2 objects that another rank sends",
        ),
        (
            {"rank": {"rank": 0, "ranks": 1, "not_received": 0, "peers": 1}},
            "1 other rank ran as well",
        ),
        ({"assumptions": [{"what": "/a/b/c.py:3", "times": 1}]}, "read 1 time, and assumed: b/c"),
        (
            {"assumptions": [{"what": "of RNNs PyTorch's own ran", "times": 2}]},
            "of RNNs PyTorch's own ran (2 times)",
        ),
        (
            {"unknown_calls": [called("cuNew", 2, by="/lib/libnew.so")]},
            "not known of libcuda.so.1, called by libnew.so, and without effect: cuNew (2 times)",
        ),
        (
            {"unknown_calls": [called("a_bufferSize", 1, as_zero=True)]},
            "so a real run may take more: a_bufferSize (1 time)",
        ),
        (
            {"unknown_calls": [called("cuGetExportTable", 1, by="/lib/libown.so")]},
            "/lib/libown.so has a CUDA runtime of its own inside",
        ),
    ],
)
def test_notes(more, says):
    notes = list(_words.notes({**ANSWER, **more}, MEASURED))
    assert len(notes) == 1
    assert says in notes[0]


def test_nothing_to_note():
    assert _words.notes(ANSWER, {**MEASURED, "notes": ["of the card"]}) == ["of the card"]


def test_what_was_measured_on_another_card_is_named_where_it_was_used():
    card = {"assumed_from": "NVIDIA H200", "title": "NVIDIA B200"}
    assert _words.notes(ANSWER, card) == [
        "cuDNN's attention ran 6 times: its workspace is as read off an NVIDIA H200, since no "
        "source tells it of the NVIDIA B200"
    ]
    assert _words.notes({**ANSWER, "kernels": {"fill": 9}}, card) == []
    assert "NCCL" in _words.notes({**ANSWER, "kernels": {"nccl collective": 1}}, card)[0]


def test_what_convolutions_work_in_is_said_to_be_assumed():
    (note,) = _words.notes({**ANSWER, "kernels": {"cudnn convolution": 3}}, MEASURED)
    assert note.startswith("cuDNN's convolutions ran 3 times: what they work in is taken to be")
