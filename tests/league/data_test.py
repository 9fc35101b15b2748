"""data/league/: every row has its question or the word for why there is none."""

import json
from collections import Counter

import jsonschema
import pytest
from league.figures import FIGURES
from league.rows import FOLDER, published, words
from programs import ROOT
from vramfit_plots.catalogues import load_cards

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "league.schema.json").read_text())
LINES = [json.loads(line) for line in (FOLDER / "published.jsonl").open(encoding="utf-8")]


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


def test_each_is_there_once():
    assert [
        name for name, count in Counter(line["id"] for line in LINES).items() if count > 1
    ] == []


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
