"""data/league/: every row has its question or the word for why there is none."""

import json
from collections import Counter

import jsonschema
import pytest
from league.figures import FIGURES
from league.rows import EXACT, FOLDER, cases, published, words
from programs import ROOT
from vramfit_plots.catalogues import load_cards

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "league.schema.json").read_text())
LINES, CASES = (
    [json.loads(line) for line in (FOLDER / name).open(encoding="utf-8")]
    for name in ("published.jsonl", "cases.jsonl")
)


def closed(part: str) -> jsonschema.Draft202012Validator:
    """That objects to keys that nothing describes."""
    return jsonschema.Draft202012Validator(
        {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{part}", "unevaluatedProperties": False}
    )


def test_every_row_is_as_its_schema_says():
    validator = closed("row")
    assert [
        f"{line['id']}: {error.message}" for line in LINES for error in validator.iter_errors(line)
    ] == []


@pytest.mark.parametrize(
    "spoil",
    [
        {"unasked": "code"},  # beside a question
        {"measured": 1.5},
        {"kind": "guess"},
        {"host": "x"},
        {"id": "no number"},
    ],
)
def test_the_schema_objects(spoil):
    asked = next(line for line in LINES if "question" in line)
    assert list(closed("row").iter_errors(asked | spoil))


def test_every_case_is_as_its_schema_says():
    validator = closed("case")
    assert CASES
    assert [
        f"{case['id']}: {error.message}" for case in CASES for error in validator.iter_errors(case)
    ] == []


@pytest.mark.parametrize(
    "spoil",
    [
        {"outcome": "OOM"},  # beside what it took
        {"from": "a b"},
        {"host": "x"},
        {"question": {"model": "gpt2-124m"}},  # of no card
        {"question": {"gpu": "t4", "Model": "gpt2-124m"}},
        {"gpu": {"name": "x", "total": 1, "capability": "9.0", "uuid": "x"}},
    ],
)
def test_a_cases_schema_objects(spoil):
    assert list(closed("case").iter_errors(CASES[0] | spoil))


def test_each_is_there_once():
    names = Counter(line["id"] for line in LINES + CASES)
    assert [name for name, count in names.items() if count > 1] == []


def test_a_case_is_a_row_for_each_figure():
    rows = cases()
    assert [row.figure for row in rows[:2]] == ["allocated", "reserved"]
    assert all(row.bound == EXACT for row in rows)


def test_a_case_without_room_is_a_verdict(tmp_path):
    without = {key: value for key, value in CASES[0].items() if key != "measured"}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({**without, "outcome": "OOM"}) + "\n")
    (row,) = cases(file)
    assert (row.figure, row.measured, row.outcome) == ("verdict", None, "OOM")


def test_words_are_those_that_are_used():
    told = words()
    rows = published()
    assert {row.unasked for row in rows if row.unasked} == told["unasked"].keys()
    assert {row.cause for row in rows if row.cause} == told["causes"].keys()


def test_figures_and_cards_are_known():
    cards = load_cards(ROOT / "data" / "gpus.json")
    rows = published()
    assert {row.figure for row in rows if row.question} <= FIGURES.keys()
    assert {row.card for row in rows if row.card} <= set(cards)
    assert all(row.question["gpu"] == row.card for row in rows if row.question)
