"""The league's rows that are played on the stand-in: one of them takes what it took."""

import json

import pytest
from league.asking import PLAYED
from league.play import played
from league.rows import published
from stood_in import EXACT, needs_torch

ROWS = {row.id: row for row in published() if row.played is not None}


def test_each_row_was_played():
    lines = [json.loads(line) for line in PLAYED.open(encoding="utf-8")]
    assert {line["id"] for line in lines} == ROWS.keys()
    ended = [line for line in lines if "outcome" not in line]
    assert len(ended) >= len(lines) - 1
    assert all(0 < line["allocated"] <= line["reserved"] for line in ended)


@needs_torch
@pytest.mark.parametrize("method", ["IA3", "LN_TUNING"])
def test_it_takes_what_it_took(method):
    kept = {line["id"]: line for line in map(json.loads, PLAYED.open(encoding="utf-8"))}
    row = next(
        row for row in ROWS.values() if (row.played.get("peft") or {}).get("peft_type") == method
    )
    assert_as_kept(row, kept)


@needs_torch
def test_four_bits_of_litgpt_take_what_they_took():
    kept = {line["id"]: line for line in map(json.loads, PLAYED.open(encoding="utf-8"))}
    row = next(row for row in ROWS.values() if "quant" in row.played)  # a small one
    assert_as_kept(row, kept)
    assert kept[row.id]["allocated"] == pytest.approx(row.measured, rel=0.01)


def assert_as_kept(row, kept):
    (line,) = played([row], EXACT)
    for level in ("allocated", "reserved"):
        assert line[level] == kept[row.id][level], row.id
