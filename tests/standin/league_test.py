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


# Of each script that plays rows a small one, and another kind of adapter.
IA3, LN_TUNING = (
    next(row for row in ROWS.values() if (row.played.get("peft") or {}).get("peft_type") == method)
    for method in ("IA3", "LN_TUNING")
)
LITGPT = next(row for row in ROWS.values() if "quant" in row.played)


@pytest.fixture(scope="module")
def lines():
    return {line["id"]: line for line in played([IA3, LN_TUNING, LITGPT], EXACT)}


@needs_torch
@pytest.mark.parametrize("row", [IA3, LN_TUNING, LITGPT], ids=lambda row: row.id)
def test_it_takes_what_it_took(lines, row):
    kept = {line["id"]: line for line in map(json.loads, PLAYED.open(encoding="utf-8"))}
    for level in ("allocated", "reserved"):
        assert lines[row.id][level] == kept[row.id][level], row.id


@needs_torch
def test_four_bits_of_litgpt_take_what_was_measured(lines):
    assert lines[LITGPT.id]["allocated"] == pytest.approx(LITGPT.measured, rel=0.01)
