"""Measured runs as the page needs them, what `fit` is asked about each and what it took: PyTorch's
of data/reference/, and vramfit's own of the newest run in data/runs/ on a card that it knows."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.cases import Case, load_cases
from vramfit_plots.accuracy.fit import flags
from vramfit_plots.catalogues import Card, load_cards
from vramfit_plots.rows import RowName
from vramfit_plots.run import load_run, newest_run
from vramfit_plots.units import times

_ROOT = Path(__file__).resolve().parent.parent

#: Families of bench's rows that are a run of one size each.
_OF_ONE_SIZE = ("Training", "MultiGpu", "Inference", "KvCache")
#: Axes that fit's flags call otherwise.
_FLAGS = {"attn": "attention", "targets": "lora-targets", "every": "checkpoint-every"}
#: Axes that a title names beside their value, and how.
_TITLED = {
    "attn": "{} attention",
    "accumulate": "{} micro-batches",
    "lora": "LoRA {}",
    "targets": "on {}",
    "checkpoint": "{} checkpointing",
    "every": "of one block in {}",
    "generate": "{} new",
    "cache": "{} cache",
    "block": "blocks of {}",
    "lengths": "lengths {}",
}


def by_name(typed: list[str]) -> dict[str, Any]:
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
        "config": configs.index(architecture),
        "gpu": gpu,
        "steps": max(steps, default=0),
        "flags": {"runtime": "pytorch", **by_name(flags(case))},
        **case.peak,
    }


def _of_pytorch(cards: Mapping[str, Card], configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cases of one size that ran with all of the card's memory."""
    cases = []
    for several in (False, True):
        recorded = load_cases(_ROOT / "data/reference", several_gpus=several)
        for case in recorded.askable:
            if not case.peak or case.batch is None or case.allocator_cap is not None:
                continue
            gpu = recorded.environments[case.source].card(cards)
            cases.append(_case(case, gpu, configs))
    return cases


def _title(name: RowName) -> str:
    axes = name.axes
    words = [axes["model"], axes["precision"], axes.get("optimizer", "")]
    words.append(times(name.number("batch"), name.number("seq")))
    extras = [form.format(axes[axis]) for axis, form in _TITLED.items() if axis in axes]
    if axes.get("gpus", "1") != "1":
        extras.append(f"{axes['strategy']} on {axes['gpus']} GPUs")
    return ", ".join([" ".join(filter(None, words)), *extras])


def _row(name: RowName, counters: Mapping[str, float], gpu: str) -> dict[str, Any]:
    asked: dict[str, Any] = {_FLAGS.get(axis, axis): value for axis, value in name.axes.items()}
    model = asked.pop("model")
    if "optimizer" in asked:
        asked["train"] = True
    if asked.get("gpus") == "1":  # one GPU shares with none
        del asked["gpus"], asked["strategy"]
    return {
        "title": _title(name),
        "model": model,
        "gpu": gpu,
        "steps": 0,
        "flags": {"runtime": "vramfit", **asked},
        "peak": counters["mem_allocated"],
        "reserved": counters["mem_reserved"],
        "device_used": counters["mem_device_used"],
    }


def _own(cards: Mapping[str, Card], runs: Path) -> Iterator[dict[str, Any]]:
    """Rows that went to their end, of bench's newest run on a listed card."""
    names = {title: card.name for card in cards.values() for title in card.titles}
    path = newest_run(runs, gpus=names.keys())
    if path is None:
        return
    run = load_run(path)
    for text, counters in run.rows.iterrows():
        name = run.parse(str(text))
        if name.family in _OF_ONE_SIZE and counters["oom"] == 0:
            yield _row(name, counters, names[run.fact("gpu")])


def table(runs: Path = _ROOT / "data/runs") -> dict[str, Any]:
    cards = load_cards(_ROOT / "data/gpus.json")
    configs: list[dict[str, Any]] = []
    cases = [*_of_pytorch(cards, configs), *_own(cards, runs)]
    once = {(case["flags"]["runtime"], case["title"]): case for case in cases}  # some ran twice
    return {"configs": configs, "cases": list(once.values())}
