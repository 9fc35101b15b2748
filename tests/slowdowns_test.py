"""data/slowdowns.json, recomputed from what was measured: no figure of it is by hand."""

import json
from functools import cache

import pytest
from built import ROOT
from vramfit_plots.accuracy.cases import of_several_gpus
from vramfit_plots.accuracy.names import of_more, row_names

DATA = ROOT / "data"
SLOWDOWNS = json.loads((DATA / "slowdowns.json").read_text())
COMPARISONS = SLOWDOWNS["comparisons"]


@cache
def cases(file: str) -> dict[str, dict]:
    """What a file of data/reference has of each case, by its name; of an inference, of its point.
    Of a case that was run again, the first that was timed."""
    found: dict[str, dict] = {}
    for written in map(json.loads, (DATA / file).read_text().splitlines()):
        if "case" not in written:
            continue
        line = of_several_gpus(written) if "gpus" in written["case"] else written
        result = line["result"]
        results = result.get("points", [result])
        names = row_names(line["case"], more=of_more(file.removesuffix(".jsonl")))
        for name, each in zip(names, results, strict=True):
            if any(key in each for key in ("tokens_per_s", "decode_tok_s")):
                found.setdefault(name, each)
    return found


@cache
def rows(file: str) -> dict[str, dict]:
    """The rows of a file of data/runs, by name; of one beside PyTorch, PyTorch's eager side."""
    run = json.loads((DATA / file).read_text())
    if "cases" in run:
        return {case["row"]: {"eager": case["eager"]["tokens_per_second"]} for case in run["cases"]}
    return {row["name"]: row for row in run["benchmarks"]}


def measured(comparison: dict, speed: dict) -> float:
    """Each GPU's, of several."""
    file, row = speed.get("file", comparison["file"]), speed["row"]
    key = "tokens_per_s" if "file" in speed else comparison["figure"]
    found = (cases if file.endswith(".jsonl") else rows)(file)[row][key]
    return found / int(keys_of(row).get("gpus", "1"))


def title(comparison: dict) -> str:
    return f"{comparison['runtime']} {comparison['mode']} {comparison['kind']} {comparison['run']}"


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_speeds_are_what_was_measured(comparison):
    for setting, speed in comparison["speeds"].items():
        assert speed["tokens_per_second"] == round(measured(comparison, speed), 1), setting


def gpu_of(file: str) -> str:
    if file.startswith("runs/"):
        context = json.loads((DATA / file).read_text())["context"]
        return context.get("gpu") or context["gpu_name"]
    env = json.loads((DATA / file).read_text().splitlines()[0])["env"]
    return env.get("gpu") or env["smi"].partition(",")[0]


@pytest.mark.parametrize("file", sorted({comparison["file"] for comparison in COMPARISONS}))
def test_all_is_of_one_gpu(file):
    assert gpu_of(file) == SLOWDOWNS["gpu"]


PLACES = ("mode", "model", "precision", "optimizer", "strategy")


def keys_of(row: str) -> dict[str, str]:
    """What a row's name says was run: the keys it spells, and those that go by their place."""
    parts = row.removeprefix("PyTorch/").split("/")
    placed = zip(PLACES, [part for part in parts if ":" not in part], strict=False)
    return dict(placed) | dict(part.split(":", 1) for part in parts if ":" in part)


# The keys by which runs of a kind of setting may differ.
CHANGED = {
    ("pytorch", "checkpointing"): {"checkpoint"},
    # Without adapters it was timed in more micro-batches.
    ("pytorch", "lora"): {"lora", "accumulate"},
    ("pytorch", "base"): {"quant"},
    ("pytorch", "weights"): {"quant"},
    ("pytorch", "micro-batch"): {"batch", "accumulate"},
    # A row beside PyTorch names vramfit's optimizer: masters stand for fp32 under autocast.
    ("pytorch", "precision"): {"optimizer"},
    ("vramfit", "checkpointing"): {"checkpoint", "every"},
    ("vramfit", "optimizer"): {"optimizer"},
    ("vramfit", "attention"): {"attn"},
    ("vramfit", "lora"): {"lora"},
    ("vramfit", "base"): {"precision"},
    ("vramfit", "precision"): {"precision"},
    ("vramfit", "micro-batch"): {"batch", "accumulate"},
    ("pytorch", "gpus"): {"strategy", "gpus"},
    ("vramfit", "gpus"): {"strategy", "gpus"},
}


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_runs_differ_by_the_setting_alone(comparison):
    rows = [speed["row"] for speed in comparison["speeds"].values()]
    assert len(set(rows)) == len(rows), "the same row twice"
    first, *others = map(keys_of, rows)
    for other in others:
        differ = {key for key, _ in first.items() ^ other.items()}
        assert differ <= CHANGED[comparison["runtime"], comparison["kind"]], differ


# PyTorch's precisions, by the optimizer of the row beside it.
OPTIMIZERS = {"fp32 under autocast": "adamw-master", "bf16": "adamw-same"}


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_a_setting_is_what_its_row_says(comparison):
    changed = CHANGED[comparison["runtime"], comparison["kind"]]
    for setting, speed in comparison["speeds"].items():
        keys = keys_of(speed["row"])
        if comparison["kind"] == "checkpointing":
            every = f" every {keys['every']}" if "every" in keys else ""
            assert keys.get("checkpoint", "none") + every == setting
        elif comparison["kind"] == "gpus":
            alone = keys.get("gpus", "1") == "1"
            assert setting == ("1" if alone else f"{keys['strategy']} {keys['gpus']}")
        elif comparison["kind"] == "lora":
            assert keys.get("lora", "none") == setting
        elif comparison["kind"] == "attention":
            assert keys.get("attn", "flash") == setting
        elif changed in ({"optimizer"}, {"precision"}, {"quant"}):
            by_optimizer = comparison["kind"] == "precision" and changed == {"optimizer"}
            said = OPTIMIZERS[setting] if by_optimizer else setting
            assert keys.get(*changed, "none") == said


@pytest.mark.parametrize("comparison", COMPARISONS, ids=title)
def test_the_words_name_the_model_and_its_sizes(comparison):
    words = comparison["run"]
    row = next(iter(comparison["speeds"].values()))["row"]
    parts = row.split("/")
    keys = dict(part.split(":", 1) for part in parts if ":" in part)
    assert any(part in words for part in parts if "llama" in part or "gpt2" in part)
    assert keys["seq"] in words
    assert keys["batch"] in words
