"""`vramfit record`: what sizes are made of, how runs are laid on each other, its command line."""

import os
import subprocess
import sys

import pytest
from installed import PACKAGE
from vramfit import _core
from vramfit._record._check import checked
from vramfit._record._merge import PartError, merged
from vramfit._record._options import at, parse, rounds
from vramfit._record._solve import Solver
from vramfit._record._steps import Act, Step, Taken, taken
from vramfit._record._tape import made
from vramfit._record._thresholds import condition

# One of each, then crossed.
POINTS = [
    {"batch": batch, "seq": seq}
    for batch, seq in (
        (8, 500), (12, 777), (20, 1024), (8, 777), (12, 1024), (20, 500), (8, 1024), (12, 500),
        (20, 777),
    )
]  # fmt: skip
FAR = [{"batch": 31, "seq": 901}, {"batch": 5, "seq": 650}, {"batch": 64, "seq": 4096}]


def _up(value: int, unit: int) -> int:
    return -(-value // unit)


SIZES = {
    "a number": (3, lambda b, s: 4096),
    "a product": (3, lambda b, s: 3072 * b * s),
    "of the length twice": (3, lambda b, s: 8 * b * s * s),
    "a sum": (3, lambda b, s: 512 * b * s + 40),
    "shifted": (3, lambda b, s: 4000 * b * (s - 1)),
    "three terms": (9, lambda b, s: 16 * b * s * s + 8 * b * s + 24),
    "rounded up to 8 tokens": (9, lambda b, s: 64 * b * _up(s, 8)),
    "rounded down, and more": (9, lambda b, s: 8 * (b * s // 10) + 8000),
    "bounded above": (9, lambda b, s: 4 * min(528, _up(b * s, 16))),
    "a part of a product": (9, lambda b, s: b * 4 * s // 2),
    "storage of cub's sort": (
        9,
        lambda b, s: 255 + 16384 + 1024 * _up(b * s, 4608) + 512 * _up(b * s, 32) + 256,
    ),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_is_solved_from_few_points_and_right_at_others(name):
    count, size = SIZES[name]
    solver = Solver(POINTS[:count])
    said = solver.say({i: size(**_short(point)) for i, point in enumerate(POINTS[:count])})
    assert said is not None
    for point in FAR:
        assert said.at(point) == size(**_short(point)), said.text


def _short(point):
    return {"b": point["batch"], "s": point["seq"]}


def test_a_bound_is_none_that_no_point_shows():
    points = [{"batch": b, "seq": s} for b in (8, 12, 20) for s in (512, 768, 1024)]
    said = Solver(points).say({i: p["batch"] * p["seq"] // 32 for i, p in enumerate(points)})
    assert said.at({"batch": 64, "seq": 4096}) == 64 * 4096 // 32


def test_what_a_text_says_is_what_it_is():
    """The program reads these texts: (a+b)/c rounds down there."""
    for count, size in SIZES.values():
        solver = Solver(POINTS[:count])
        said = solver.say({i: size(**_short(point)) for i, point in enumerate(POINTS[:count])})
        for point in FAR:
            assert eval(said.text.replace("/", "//"), {}, point) == said.at(point)


def test_sizes_of_chance_have_no_expression():
    solver = Solver(POINTS)
    values = [1013, 40, 77777, 12, 9, 1 << 20, 31, 4, 8191]
    assert solver.say(dict(enumerate(values))) is None


def test_sizes_that_go_together_are_refused():
    assert Solver([{"batch": b, "seq": 64 * b} for b in (2, 3, 5)]).alike() == ("seq", "batch")
    assert Solver(POINTS[:3]).alike() is None


def test_a_threshold_is_the_simplest_term_that_parts_the_points():
    tokens = Solver(POINTS).terms[4]
    assert tokens.text == "batch*seq"
    found = condition([tokens], POINTS, [point["batch"] * point["seq"] > 6200 for point in POINTS])
    assert found.low == 6000
    assert found.high == 6216
    assert found.low <= found.bound < found.high
    assert found.holds({"batch": 100, "seq": 100})
    assert condition([tokens], POINTS, [True, False] * 4 + [True]) is None


def _alloc(step, place, size, line="train.py:1"):
    return Act("alloc", "forward", (step, place), size, 0, "activations", line, ("alloc", 0, line))


def _free(step, place, line="train.py:1"):
    return Act("free", "forward", (step, place), line=line, key=("free", step, line))


def _stage():
    return Act("stage", "forward", key=("stage", "forward"))


def _run(tokens, more):
    """`more`: with a temporary of its own."""
    acts = [_stage(), _alloc(0, 0, 8 * tokens)]
    if more:
        acts += [_alloc(0, 1, 512, "t.py:9"), _free(0, 1, "t.py:9")]
    last = 1 + more
    acts += [_alloc(0, last, 4 * tokens, "train.py:2"), _free(0, 0), _free(0, last, "train.py:2")]
    return Taken([Step(acts, [0] * len(acts), [(0, 0)] * len(acts))], [])


def test_runs_are_laid_one_on_the_other():
    points = [{"batch": each} for each in (2, 3, 5, 7, 9)]
    tape = made([_run(each["batch"], each["batch"] > 4) for each in points], points)
    texts = [each.text() for each in tape.steps[0]]
    assert texts == [
        "stage forward",
        "alloc 8*batch activations",
        "alloc 512 activations when batch above 4 3 5",
        "free 1",
        "alloc 4*batch activations",
        "free 0",
        "free 2",
    ]
    for batch, more in ((4, False), (11, True)):
        assert checked(tape, _run(batch, more), {"batch": batch}) is None
    assert "bytes where 4*batch is 16" in checked(tape, _run(4, True), {"batch": 4})
    assert "bytes where" in checked(tape, _run(5, True), {"batch": 6})


def test_runs_without_anything_in_common_are_no_tape():
    other = [Act("alloc", "forward", key=("alloc", 0, f"x.py:{i}")) for i in range(500)]
    with pytest.raises(PartError, match="nothing in common"):
        merged([_run(3, False).steps[0].acts, other])


def test_an_order_that_chance_makes_is_none():
    """Blocks that go one right after the other, as autocast's copies do."""
    kept = {
        "stages": [
            {"step": 0, "stage": "load", "loaded": 1,
             "acts": [["s"], ["a", 8, 0], ["a", 8, 0], ["d", 1], ["f", 1], ["d", 0], ["f", 0]]}
        ],
        "what": [["inputs", 0, "op", 0], ["logits", 0, "op", 1]], "lines": ["train.py:1"],
        "pools": 0, "loads": [["other", 5, 0]], "settings": {},
    }  # fmt: skip
    acts = taken(kept).steps[0].acts
    assert [(act.kind, act.block) for act in acts[3:]] == [("free", (0, 0)), ("free", (0, 1))]
    assert acts[2].what == "activations"
    with pytest.raises(_core.BadInput, match="pools of memory"):
        taken({**kept, "pools": 1})
    with pytest.raises(_core.BadInput, match="PYTORCH_ALLOC_CONF"):
        taken({**kept, "settings": {"expandable_segments": True}})


COMMAND = ["--", "python", "train.py", "--batch", "{batch}", "--seq={seq}"]


def test_sizes_are_taken_one_of_each_and_then_crossed():
    asked = parse(["-o", "x", "--vary", "batch=2,3,5,seq=128,192,256", *COMMAND])
    assert asked.points == [
        {"batch": 2, "seq": 128}, {"batch": 3, "seq": 192}, {"batch": 5, "seq": 256}
    ]  # fmt: skip
    assert asked.check == {"batch": 7, "seq": 320}
    assert [len(each) for each in rounds(asked)] == [3, 3, 3]
    assert at(asked.command, asked.points[0])[-1] == "--seq=128"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--vary", "batch=2,3,5", *COMMAND], "-o"),
        (["-o", "x", "--vary", "batch=2,3", *COMMAND], "3 sizes at least"),
        (["-o", "x", "--vary", "width=2,3,5", *COMMAND], "no {width}"),
        (["-o", "x", "--vary", "batch=2,3,x", *COMMAND], "whole numbers"),
        (["-o", "x", "--vary", "ba-tch=2,3,5", *COMMAND], "no name"),
        (["-o", "x", "--vary", "batch=2,3,5", "--vary", "batch=2,3,5", *COMMAND], "is there twice"),
        (["-o", "x", "--vary", "batch=2,3,5", "--vary", "seq=1,2,3,4", *COMMAND], "as many sizes"),
        (["-o", "x", "--vary", "batch=2,3,5", "--check", "seq=2", *COMMAND], "one size of each"),
        (["-o", "x", "--vary", "batch=2,3,5", "--check", "batch=3", *COMMAND], "another size"),
        (["-o", "x", "--vary", "batch=2,3,5"], "nothing after --"),
        (["-o", "x", "--faster", *COMMAND], "no flag --faster"),
        (["-o", "/not/there/x", "--vary", "batch=2,3,5", *COMMAND], "its folder is not there"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(arguments, says):
    run = subprocess.run(
        [sys.executable, "-m", "vramfit", "record", *arguments],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.startswith("vramfit: error: record: ")
    assert run.stderr.count("\n") == 1
    assert says in run.stderr
