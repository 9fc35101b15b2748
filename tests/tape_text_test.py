"""How tapes are said shortly: loops (scripts/tapes/roll.py), and parts by what others have
(shorten.py)."""

import sys

from built import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "tapes"))

from roll import rolled
from shorten import Parts


def _scan(rounds):
    """A state that goes on from round to round, as torch_chunk_gated_delta_rule has one."""
    lines = [("$0", "=", "zeros", 3), ("$1", "=", "ones", 2)]
    state, before = "$0", []
    for i in range(rounds):
        part, made, new = (f"${2 + 3 * i + k}" for k in range(3))
        lines += [(part, "=", "select.int", "$1", 2, i), (made, "=", "matmul", part, state)]
        lines += [("free", part, *before), (new, "=", "add.Tensor", state, made), ("free", state)]
        state, before = new, [made]
    return [*lines, ("free", state, *before), ("return", "$1")]


def test_a_loop_has_all_its_rounds():
    """The first, which finds what was made before it and drops nothing of a round, and the last,
    behind which more is dropped."""
    for rounds in range(4, 9):
        lines = rolled(_scan(rounds), "$")
        assert lines == [
            ("$4", "=", "zeros", 3),
            ("$1", "=", "ones", 2),
            ("loop", rounds, 3, 5),
            ("$5", "=", "select.int", "$1", 2, 0),
            ("$6", "=", "matmul", "$5", "$4"),
            ("free", "$5", "$3"),
            ("$7", "=", "add.Tensor", "$4", "$6"),
            ("free", "$4"),
            ("again",),
            ("free", "$4", "$3"),
            ("return", "$1"),
        ]


def test_lines_without_rounds_stay_as_they_are():
    lines = [("$0", "=", "zeros", 3), ("free", "$0", "$1"), ("return", "$2")]
    assert rolled(lines, "$") == lines


BASE = [
    "$0 = to.dtype ^0 float32",
    "$1 = pow.Tensor_Scalar $0 2",
    "$2 = mean.dim $1 [-1] true",
    "free $1",
    "$3 = rsqrt $2",
    "$4 = mul.Tensor $0 $3",
    "free $0 $2 $3",
    "give $4",
]


def test_a_part_is_told_by_what_another_has():
    """What comes behind another line is called as there all the same."""
    own = ["$0 = to.dtype ^0 float32", "$1 = to.dtype $0 T"]
    own += [line.replace("$1", "$5").replace("$0", "$1") for line in BASE[1:]]
    parts = Parts(set())
    assert parts.told("layer A", "train", BASE) == ["layer A", *BASE, "end"]
    assert parts.told("layer A", "train eager", own) == [
        "layer A from A train",
        "same 1",
        "$6 = to.dtype $0 T",
        "$1 = pow.Tensor_Scalar $6 2",
        "skip 1",
        "same 3",
        "$4 = mul.Tensor $6 $3",
        "free $6 $2 $3",
        "skip 2",
        "same 1",
        "end",
    ]


def test_what_others_name_too_keeps_its_name():
    base = ["%1 = embedding @w %0", "%2 = arange S", "%3 = layers %1", "return %3"]
    own = ["%1 = embedding @w %0", "%3 = arange S", "%2 = layers %1", "return %2"]
    parts = Parts({"%2", "%3"})
    parts.told("main", "train", base)
    told = parts.told("main", "prefill", own)
    assert told == [
        "main from train",
        "same 1",
        "%3 = arange S",
        "%2 = layers %1",
        "return %2",
        "end",
    ]
