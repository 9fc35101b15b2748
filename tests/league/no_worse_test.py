"""No commit makes an answer worse: what data/league/answers.jsonl says now beside what it said in
the commit that a change starts from, of rows whose question is the same."""

import json
import os
import subprocess

import pytest
from programs import ROOT

_ANSWERS = "data/league/answers.jsonl"
_ROWS = ("data/league/published.jsonl", "data/league/cases.jsonl")


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def at(commit: str, file: str) -> list[dict]:
    """The file's lines in a commit; none where either is not there, as in a source archive."""
    shown = subprocess.run(
        ["git", "show", f"{commit}:{file}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return lines(shown.stdout) if shown.returncode == 0 else []


def asked(rows: list[dict]) -> dict[str, str]:
    """By row, what stands for it."""
    return {
        row["id"]: json.dumps([row.get("question"), row.get("played")], sort_keys=True)
        for row in rows
    }


def made_worse(
    before: list[dict], now: list[dict], asked_before: dict[str, str], asked_now: dict[str, str]
) -> list[str]:
    was = {line["key"]: line["miss"] for line in before}
    return [
        f"{line['key']}: off by {line['miss']:,} bytes, was {was[line['key']]:,}"
        for line in now
        if line["miss"] > was.get(line["key"], line["miss"])
        and asked_before.get(line["key"].split()[0]) == asked_now.get(line["key"].split()[0])
    ]


def test_no_answer_is_worse_than_where_the_change_began():
    base = os.environ.get("GITHUB_BASE_REF")
    commit = f"origin/{base}" if base else "HEAD^"
    before = at(commit, _ANSWERS)
    if not before:
        pytest.skip(f"there is no {commit} with {_ANSWERS}")
    now = lines((ROOT / _ANSWERS).read_text())
    rows_before = [row for file in _ROWS for row in at(commit, file)]
    rows_now = [row for file in _ROWS for row in lines((ROOT / file).read_text())]
    assert made_worse(before, now, asked(rows_before), asked(rows_now)) == []


def test_what_got_worse_is_named_but_not_what_is_asked_otherwise():
    near, far = {"key": "a/1 allocated", "miss": 1}, {"key": "a/1 allocated", "miss": 2000}
    same, other = {"a/1": "x"}, {"a/1": "y"}
    assert made_worse([near], [far], same, same) == ["a/1 allocated: off by 2,000 bytes, was 1"]
    assert made_worse([near], [far], same, other) == []
    assert made_worse([far], [near], same, same) == made_worse([], [far], {}, same) == []
