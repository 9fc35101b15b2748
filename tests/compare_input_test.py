"""`build/compare`: what it refuses, in one line."""

import json
import random

import pytest
from compared import compare, report

BAD = {
    "nothing": "",
    "text": "hello",
    "array": "[]",
    "empty": "{}",
    "foreign": '{"context": {}, "benchmarks": []}',
    "schema": '{"context": {"schema_version": "9"}, "benchmarks": []}',
    "rows": '{"context": {"schema_version": "1"}, "benchmarks": [7]}',
    "nameless": '{"context": {"schema_version": "1"}, "benchmarks": [{}]}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_what_is_no_report_is_bad_input(old, tmp_path, content):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    for pair in ((old, bad), (bad, old)):
        outcome = compare(*pair)
        assert outcome.returncode == 2
        assert outcome.stdout == ""
        assert outcome.stderr.count("\n") == 1
        assert outcome.stderr.startswith("compare: error: ")
        assert len(outcome.stderr) <= 220


@pytest.mark.parametrize(
    "arguments",
    [(), ("one.json",), ("a", "b", "c"), ("--against", "newest", "a", "b"), ("--format", "xml")],
)
def test_a_wrong_command_line_is_bad_input(old, arguments):
    outcome = compare(
        *arguments, *(() if len(arguments) != 2 or arguments[0][0] != "-" else (old, old))
    )
    assert outcome.returncode == 2
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("counter", "value", "wanted"),
    [
        ("mem_allocated", "1000", "a number above 0"),
        ("mem_allocated", None, "a number above 0"),
        ("mem_reserved", 0, "a number above 0"),
        ("pred_step1_forward_peak", -1, "a number above 0"),
        ("mem_activations", -1, "a number, 0 at least"),
        ("mem_max_batch", [4], "a number, 0 at least"),
        ("tokens_per_second", "fast", "a number, 0 at least"),
        ("mem_unattributed", None, "a number"),
    ],
)
def test_what_is_no_figure_is_bad_input(old, tmp_path, counter, value, wanted):
    bad = report(tmp_path / "bad.json", {"Training/x": {"mem_allocated": 1000} | {counter: value}})
    for pair in ((old, bad), (bad, old), (bad, bad)):
        outcome = compare(*pair)
        assert outcome.returncode == 2
        assert outcome.stdout == ""
        said = f"compare: error: {bad}: Training/x: {counter}: is {json.dumps(value)}; {wanted}\n"
        assert outcome.stderr == said


def test_a_run_whose_first_tensor_finds_no_room_has_taken_nothing(tmp_path):
    row = {"mem_allocated": 0, "mem_reserved": 0, "oom": 1}
    same = report(tmp_path / "oom.json", {"OomCliff/x": row})
    assert compare(same, same).stderr == ""


def test_a_row_without_counters_is_bad_input(old, tmp_path):
    bare = report(tmp_path / "bare.json", {"Training/x": {"label": "measured"}})
    for pair in ((old, bare), (bare, old), (bare, bare)):
        outcome = compare(*pair)
        assert outcome.returncode == 2
        assert outcome.stderr.startswith(f"compare: error: {bare}: Training/x: has no counters; ")


@pytest.mark.parametrize("option", ["--slower", "--against", "--format", "--allow"])
def test_an_option_that_is_given_as_nothing_is_bad_input(old, option):
    outcome = compare(option, "", old, old)
    assert outcome.returncode == 2
    assert outcome.stderr == f"compare: error: {option.removeprefix('--')}: is empty\n"


def test_damaged_reports_end_in_a_verdict_or_a_line(old, tmp_path):
    whole = bytearray(old.read_bytes())
    damaged = tmp_path / "damaged.json"
    random.seed(13)
    for _ in range(150):
        bytes_ = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            bytes_[random.randrange(len(bytes_))] = random.randrange(256)
        damaged.write_bytes(
            bytes_[: random.randint(1, len(bytes_))] if random.random() < 0.3 else bytes_
        )
        outcome = compare(old, damaged)
        assert outcome.returncode in (0, 1, 2), damaged.read_bytes()
        assert (outcome.returncode == 2) == bool(outcome.stderr)
