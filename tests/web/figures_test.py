"""The page's figures are those of `vramfit --json`, byte for byte."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import built
import pytest
from page import ROOT, asked_of_page

sys.path.insert(0, str(ROOT / "tests/fuzz"))
sys.path.insert(0, str(ROOT / "web"))
from asked import question
from measured import by_name

_QUESTIONS = 200
_PARTS = 8  # so that several processes share them


def _by_name(arguments: list[str]) -> dict[str, Any]:
    """A config is what its file holds."""
    named = by_name(arguments)
    if "config" in named:
        path = Path(named["config"])
        named |= {"config": path.read_text(), "model": path.parent.name}
    return named


def _fit(arguments: list[str]) -> dict[str, Any]:
    run = subprocess.run(
        [built.program("fit"), *arguments, "--json"], capture_output=True, check=False, text=True
    )
    if run.returncode in (0, 1):
        return {"text": run.stdout}
    message = run.stderr.strip().removeprefix("vramfit: error: ")
    return {"error": message, "bad": run.returncode == 2}


@pytest.mark.parametrize("part", range(_PARTS))
def test_as_fit_says(page, part):
    answered = 0
    for seed in range(part, _QUESTIONS, _PARTS):
        arguments = question(Random(17_000 + seed)).arguments()
        expected = _fit(arguments)
        assert asked_of_page(page, _by_name(arguments)) == expected, arguments
        answered += "text" in expected
    assert answered > 0.8 * _QUESTIONS / _PARTS


def test_what_is_shown_first_is_the_same_but_for_what_takes_longer(page):
    flags = {"model": "llama2-7b", "train": True, "precision": "bf16", "gpu": "rtx4090"}
    soon = json.loads(page.evaluate("(flags) => vramfitPage.vramfit.estimate(flags)", flags))
    whole = json.loads(asked_of_page(page, flags)["text"])
    assert soon | {"verdict_changes_with": whole["verdict_changes_with"]} == whole


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"model": "no-such-model"},
        {"model": "llama2-7b", "batch": -1},
        {"model": "llama2-7b", "no_such_flag": 1},
        {"model": "llama2-7b", "config": []},
        {"model": "llama2-7b", "snapshot": "file"},
    ],
)
def test_a_question_that_is_none_gets_one_line(page, flags):
    refused = asked_of_page(page, flags)
    assert refused["bad"] and "\n" not in refused["error"] and refused["error"]
