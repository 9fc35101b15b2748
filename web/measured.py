"""Runs of data/reference/ as the page needs them: what `fit` is asked about each, what it took."""

import json
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.cases import Case, load_cases
from vramfit_plots.accuracy.fit import flags
from vramfit_plots.cards import load_cards

_ROOT = Path(__file__).resolve().parent.parent


def _by_name(typed: list[str]) -> dict[str, Any]:
    """["--train", "--batch", "4"] as {"train": True, "batch": "4"}."""
    named: dict[str, Any] = {}
    for word in typed:
        if word.startswith("--"):
            name = word.removeprefix("--")
            named[name] = True
        else:
            named[name] = word
    return named


def _case(case: Case, gpu: str, configs: list[dict[str, Any]]) -> dict[str, Any]:
    architecture = case.setting["arch"]
    if architecture not in configs:
        configs.append(architecture)
    steps = [int(stage[4:].partition(".")[0]) for stage in case.stages if stage.startswith("step")]
    return {
        "title": case.title,
        "model": case.model,
        "family": architecture["model_type"],
        "parameters": case.parameters,
        "config": configs.index(architecture),
        "gpu": gpu,
        "steps": max(steps, default=0),
        "flags": _by_name(flags(case)),
        **case.peak,
    }


def table() -> dict[str, Any]:
    """Cases of one size that ran with all of the card's memory."""
    reference = _ROOT / "data/reference"
    configs: list[dict[str, Any]] = []
    cases = []
    cards = load_cards(_ROOT / "data/gpus.json")
    for several in (False, True):
        recorded = load_cases(reference, several_gpus=several)
        for case in recorded.askable:
            if not case.peak or case.batch is None or case.allocator_cap is not None:
                continue
            gpu = recorded.environments[case.source].card(cards)
            cases.append(_case(case, gpu, configs))
    cases = list({case["title"]: case for case in cases}.values())  # some were measured twice
    parameters = {case["model"]: case["parameters"] for case in cases if case["parameters"]}
    for case in cases:  # those of several GPUs were not counted
        case["parameters"] = case["parameters"] or parameters.get(case["model"], 1)
    return {"configs": configs, "cases": cases}


if __name__ == "__main__":
    print(json.dumps(table(), separators=(",", ":")))
