"""Asks `build/fit` about a case: what PyTorch takes, and what the article says it takes."""

import json
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.cases import FIT_OPTIMIZERS, GENERATED, LOADED, PEAKS, Case
from vramfit_plots.files import BadInputError
from vramfit_plots.schemas import parse_json

_PER_MICRO_BATCH = ("forward", "backward")
_NO_OR_YES = (0, 1)  # exit codes of an answer


@dataclass(frozen=True)
class Prediction:
    """The same as a case's measurements. Bytes."""

    stages: Mapping[str, Mapping[str, int]]
    peak: Mapping[str, int]
    total: int  # what a card must have in all
    overhead: int  # of it, what is not the allocator's
    parameters: int
    max_batch: int | None  # where it was searched for
    article: int | None  # the article's total, where its calculator can be asked


def _quantized(quant: str, case: Case) -> list[str]:
    """By the names of measure_pytorch_more.py: int8, nf4, nf4-dq, fp4."""
    result = ["--quant", quant.removesuffix("-dq")]
    result += ["--double-quant"] if quant.endswith("-dq") else []
    return result + (["--again"] if case.again else [])


def _spread(setting: Mapping[str, Any]) -> list[str]:
    """By the names of measure_pytorch_multi_gpu.py: ddp, ddp-view, zero1, fsdp, fsdp-keep."""
    strategy, _, form = setting["strategy"].partition("-")
    result = ["--gpus", str(setting["gpus"]), "--strategy", strategy]
    result += {"view": ["--bucket-view"], "keep": ["--reshard-after-forward", "false"]}.get(
        form, []
    )
    return result + (["--mixed-precision", setting["mixed"]] if setting.get("mixed") else [])


def flags(case: Case) -> list[str]:
    """The case as data/reference/README.md says it is asked, without model and card."""
    setting = case.setting
    result = ["--runtime", "pytorch", "--precision", setting["dtype"], "--seq", str(case.seq)]
    result += ["--max-batch"] if case.batch is None else ["--batch", str(case.batch)]
    if case.training:
        result += ["--train", "--optimizer", FIT_OPTIMIZERS[setting["opt"]]]
        result += ["--accumulate", str(case.micro_batches)] if case.micro_batches > 1 else []
    else:
        result += ["--generate", str(case.new_tokens)]
        result += ["--padded" if case.padded else "--unpadded"]
    result += _quantized(setting["quant"], case) if setting.get("quant") else []
    result += ["--device-map", "cuda"] if setting.get("pretrained") else []
    if setting.get("amp"):
        result += ["--autocast", setting["amp"]]
    if setting.get("attn"):
        result += ["--attention", setting["attn"]]
    if setting.get("ckpt"):
        result += ["--checkpoint", "full"]
    result += _spread(setting) if case.gpus > 1 else []
    if lora := setting.get("lora"):
        result += ["--lora", str(lora["r"]), "--lora-targets", ",".join(lora["targets"])]
    return result


def article_flags(case: Case) -> list[str]:
    """The same for the article's calculator, which knows Adam and SGD."""
    setting = case.setting
    result = ["--runtime", "article", "--precision", setting["dtype"]]
    result += ["--seq", str(case.seq), "--batch", str(case.batch)]
    if case.training:
        optimizer = "sgd" if setting["opt"].startswith("sgd") else "adam"
        result += ["--train", "--optimizer", optimizer]
    return result


@contextmanager
def _config(case: Case) -> Iterator[Path]:
    """The case's architecture in a folder that is named after its model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.model / "config.json"
        path.parent.mkdir()
        path.write_text(json.dumps(case.setting["arch"]), encoding="utf-8")
        yield path


def ask(program: Path, typed: Sequence[str], what: str) -> dict[str, Any]:
    """The program's answer on one card. `what` names the question in errors."""
    try:
        run = subprocess.run(
            [program, "--json", *typed],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BadInputError(f"{program}: {error.strerror}; `make build` makes it") from None
    if run.returncode not in _NO_OR_YES:
        raise BadInputError(f"{what}: {run.stderr.strip() or f'exit {run.returncode}'}")
    answer = parse_json(run.stdout, f"{program}: {what}", "fit")
    if "cards" in answer:
        raise BadInputError(f"{program}: {what}: answers for every card, not for one")
    return answer


def _answer(program: Path, case: Case, card: str, typed: list[str]) -> dict[str, Any]:
    with _config(case) as config:
        return ask(program, ["--gpu", card, "--config", str(config), *typed], case.title)


def _levels(reading: Mapping[str, int]) -> dict[str, int]:
    return {
        "after": reading["after"],
        "peak": reading["peak"],
        "reserved": reading["peak_reserved"],
        "device_used": reading["device_used"],
    }


def _highest(readings: Collection[Mapping[str, int]]) -> dict[str, int]:
    return {level: max(reading[level] for reading in readings) for level in PEAKS}


def _training_stages(stages: list[Mapping[str, Any]], case: Case) -> dict[str, dict[str, int]]:
    """Of several micro-batches the first and the last are read; peaks between two readings are
    part of the later one."""
    last = {(stage["step"], stage["name"]): index for index, stage in enumerate(stages)}
    found, unread, seen = {}, [], set()
    for index, stage in enumerate(stages):
        step_and_name = (stage["step"], stage["name"])
        reading = _levels(stage)
        micro_batch = case.micro_batches if step_and_name in seen else 1
        if step_and_name in seen and last[step_and_name] != index:
            unread.append(reading)
            continue
        seen.add(step_and_name)
        numbered = case.micro_batches > 1 and stage["name"] in _PER_MICRO_BATCH
        name = f"step{stage['step']}.{stage['name']}{micro_batch if numbered else ''}"
        found[name] = {**reading, **_highest([reading, *unread])}
        unread = []
    return found


def _stages(answer: Mapping[str, Any], case: Case) -> dict[str, dict[str, int]]:
    """By the names of the case's own stages: a generation has one, read when all is over."""
    loaded, *run = answer["stages"]
    if case.training:
        return {LOADED: _levels(loaded), **_training_stages(run, case)}
    return {LOADED: _levels(loaded), GENERATED: _highest([_levels(stage) for stage in run])}


def _comparable(stages: Mapping[str, Mapping[str, int]], case: Case) -> list[Mapping[str, int]]:
    """Of the steps that were measured; `fit` goes on until steps repeat."""
    run = {name: reading for name, reading in stages.items() if name != LOADED}
    return [reading for name, reading in run.items() if not case.stages or name in case.stages]


def stages(program: Path, case: Case, card: str, *more: str) -> dict[str, dict[str, int]]:
    """What it says of each stage, by the case's own names, asked with `more` flags."""
    return _stages(_answer(program, case, card, [*flags(case), *more]), case)


def predict(program: Path, case: Case, card: str) -> Prediction:
    """On the card that it was measured on, by its name in data/gpus.json. Throws BadInputError
    where `fit` cannot answer."""
    answer = _answer(program, case, card, flags(case))
    if case.allocator_cap is not None:
        room = case.allocator_cap + answer["overhead"]
        answer = _answer(program, case, card, [*flags(case), "--vram", str(room)])
    asked = case.plain and case.batch is not None
    article = _answer(program, case, card, article_flags(case))["total"] if asked else None
    stages = _stages(answer, case) if len(answer["stages"]) > 1 else {}
    missing = {LOADED, *case.stages} - stages.keys()
    if missing:
        raise BadInputError(f"{program}: {case.title}: predicts no {min(missing)}")
    return Prediction(
        stages=stages,
        peak=_highest(_comparable(stages, case)),
        total=answer["total"],
        overhead=answer["overhead"],
        parameters=answer["model"]["parameters"],
        max_batch=answer.get("max_batch"),
        article=article,
    )
