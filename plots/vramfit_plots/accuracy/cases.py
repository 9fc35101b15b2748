"""What PyTorch was measured to take: the cases of data/reference that `fit` can be asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.accuracy.environment import Environment
from vramfit_plots.accuracy.names import of_companions, of_more, row_name, row_names
from vramfit_plots.files import BadInputError
from vramfit_plots.schemas import read_jsonl
from vramfit_plots.units import MIB, times

# A reading's keys, by the names that `fit --json` has for the same.
LEVELS = {
    "after": "alloc",
    "peak": "peak",
    "reserved": "peak_reserved",
    "device_used": "device_used",
}
PEAKS = ("peak", "reserved", "device_used")
_COUNTERS = {"peak": "allocated", "reserved": "reserved", "device_used": "device_used"}
_OF_A_STAGE = ("after", "peak", "device_used")
# The optimizers of measure_pytorch.py as `fit --runtime pytorch` and bench spell them.
FIT_OPTIMIZERS = {
    "adamw": "adamw",
    "adamw_fused": "adamw-fused",
    "adamw_loop": "adamw-loop",
    "sgd": "sgd",
    "sgdm": "sgd-momentum",
    "adamw8bit": "adamw-8bit",
    "paged_adamw8bit": "paged-adamw-8bit",
    "adafactor": "adafactor",
}
# Of these, those whose states no formula knows.
_SMALL_STATES = {"adamw8bit", "paged_adamw8bit", "adafactor"}
LOADED = "loaded"
GENERATED = "generate"
# measure_pytorch.py draws tokens from 0 to 999, and tells generate() that 0 is padding;
# measure_pytorch_more.py leaves 0 out of prompts.
_TOKENS = 1000
# Families, as configs name them, that `fit` knows; any other is asked of `vramfit run` alone.
_FAMILIES = {
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neox",
    "granite",
    "llama",
    "mistral",
    "olmo2",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
}


@dataclass(frozen=True)
class Case:
    """One question to `fit`, and what was measured. Bytes."""

    source: str  # the file that holds it
    setting: Mapping[str, Any]  # as measure_pytorch.py was given it
    batch: int | None  # None: the largest was searched for
    seq: int
    stages: Mapping[str, Mapping[str, int]]  # readings by stage, with the levels' names
    peak: Mapping[str, int]  # the highest of each level over all stages
    parameters: int | None  # of the model, adapters apart; None where nobody counted
    max_batch: int | None = None
    trainable: int | None = None  # parameters
    tokens_per_second: float | None = None  # where it was timed
    gpus: int = 1  # readings are of the first
    again: bool = False  # a point of a generation after others in its process

    @property
    def name(self) -> str:
        """That of its row in a run, whichever file holds it."""
        return row_name(self.setting, self.batch, self.seq, more=of_more(self.source))

    @property
    def model(self) -> str:
        return self.setting["model"]

    @property
    def training(self) -> bool:
        return self.setting["mode"] != "infer"

    @property
    def beyond_allocated(self) -> float:
        """What the card lost beyond what was allocated, as a share of the latter, at the peaks."""
        return self.peak["device_used"] / self.peak["peak"] - 1

    @property
    def new_tokens(self) -> int:
        return self.setting.get("new_tokens", 1)

    @property
    def padded(self) -> bool:
        """Whether a prompt is likely to hold padding, which makes transformers build a mask."""
        if self.training or self.batch is None or of_more(self.source):
            return False
        return 1 - (1 - 1 / _TOKENS) ** (self.batch * self.seq) > 0.5

    @property
    def plain(self) -> bool:
        """Without what the article's calculator has no argument for."""
        return not {"lora", "ckpt", "amp", "quant"} & self.setting.keys() and self.usual_states

    @property
    def usual_states(self) -> bool:
        """Whether its optimizer keeps what formulas say it does."""
        return self.setting.get("opt") not in _SMALL_STATES

    @property
    def packed(self) -> bool:
        """Whether two weights lie in a byte, which PyTorch counts as one parameter."""
        return self.setting.get("quant", "int8") != "int8"

    @property
    def micro_batches(self) -> int:
        return self.setting.get("accum", 1)

    @property
    def allocator_cap(self) -> int | None:
        """What the allocator may hold; context and libraries come on top."""
        mib = self.setting.get("cap_mib")
        return None if mib is None else mib * MIB

    @property
    def title(self) -> str:
        """What was run, in a line."""
        case = self.setting
        size = f"s {self.seq}" if self.batch is None else times(self.batch, self.seq)
        words = [case["model"], case["dtype"], *([case["opt"]] if self.training else []), size]
        extras = []
        if not self.training and self.new_tokens > 1:
            extras.append(f"{self.new_tokens} new")
        extras += [f"autocast {case['amp']}"] if case.get("amp") else []
        extras += [case["attn"]] if case.get("attn") else []
        extras += [f"{self.micro_batches} micro-batches"] if self.micro_batches > 1 else []
        extras += ["from_pretrained"] if case.get("pretrained") else []
        extras += [case["quant"]] if case.get("quant") else []
        extras += ["checkpointing"] if case.get("ckpt") else []
        extras += [f"LoRA {case['lora']['r']}"] if case.get("lora") else []
        extras += [f"within {case['cap_mib']} MiB"] if case.get("cap_mib") else []
        extras += [f"{case['strategy']} on {self.gpus} GPUs"] if self.gpus > 1 else []
        extras += [f"mixed precision {case['mixed']}"] if case.get("mixed") else []
        return ", ".join([" ".join(map(str, words)), *extras])


def counters(
    stages: Mapping[str, Mapping[str, int]], peak: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Without prefix. The peak while loading is that of drawing random weights; a generation is
    read once, when it is over."""
    for level, name in _COUNTERS.items():
        if level in peak:
            yield name, peak[level]
    for stage, reading in stages.items():
        if stage == LOADED:
            yield "step1_loaded_after", reading["after"]
        elif stage != GENERATED:
            name = stage.replace(".", "_")
            known = [level for level in _OF_A_STAGE if level in reading]
            yield from ((f"{name}_{level}", reading[level]) for level in known)


@dataclass(frozen=True)
class Failure:
    """A case that did not run to its end."""

    source: str
    setting: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def names(self) -> list[str]:
        return row_names(self.setting, more=of_more(self.source))

    @property
    def out_of_memory(self) -> bool:
        return "oom" in self.result

    @property
    def why(self) -> str:
        return str(self.result.get("oom") or self.result.get("error") or "not done in time")


@dataclass(frozen=True)
class Recorded:
    """What one or several files hold of cases that state an architecture."""

    path: Path
    cases: list[Case]
    failures: list[Failure]
    environments: Mapping[str, Environment]  # by file

    @property
    def askable(self) -> list[Case]:
        """Those that `fit` can be asked."""
        return [case for case in self.cases if can_be_asked(case.setting)]

    @property
    def environment(self) -> str:
        """What they were measured with, in words."""
        return "; ".join(dict.fromkeys(env.words for env in self.environments.values()))


def completed(line: Mapping[str, Any]) -> bool:
    """Whether the line is of a case, and one that ran to its end."""
    return isinstance(line.get("case"), dict) and "params" in line["result"]


def _of_trainer(line: Mapping[str, Any]) -> bool:
    """What a trainer makes of a step is nothing that `fit` can be asked; `vramfit run` is."""
    return isinstance(line.get("case"), dict) and "trainer" in line["case"]


def _levels(reading: Mapping[str, int]) -> dict[str, int]:
    """Those that were read: of one file's cases not all were at every stage."""
    return {level: reading[key] for level, key in LEVELS.items() if key in reading}


def _highest(readings: list[dict[str, int]]) -> dict[str, int]:
    return {level: max(reading[level] for reading in readings) for level in readings[0]}


def _cases(source: str, setting: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Case]:
    # Where loading and adapting are read apart, `fit` says what was taken after both.
    loaded = _levels(result.get("adapted") or result["load"])
    # Where loading and adapting are read apart, parameters were counted in between.
    adapters_count = "trainable" in result and "lora" in setting and not result.get("adapted")
    parameters = result["params"]
    if adapters_count:
        parameters -= result["trainable"]
    if setting["mode"] == "infer":
        for index, point in enumerate(result["points"]):
            reading = _levels(point)
            stages = {LOADED: loaded, GENERATED: reading}
            batch, seq = point["b"], point["s"]
            yield Case(source, setting, batch, seq, stages, reading, parameters, again=index > 0)
    elif setting["mode"] == "train":
        stages = {name: _levels(reading) for name, reading in result["stages"].items()}
        beyond = {level: result[level] for level in PEAKS if level in result}
        peak = {**beyond, **_highest(list(stages.values()))}
        batch, seq = setting["b"], setting["s"]
        yield Case(
            source,
            setting,
            batch,
            seq,
            {LOADED: loaded, **stages},
            peak,
            parameters,
            trainable=result.get("trainable"),
            tokens_per_second=result.get("tokens_per_s"),
            gpus=setting.get("gpus", 1),
        )
    else:
        largest = result["max_batch"]
        yield Case(source, setting, None, setting["s"], {}, {}, parameters, largest)


def can_be_asked(case: Mapping[str, Any]) -> bool:
    """Whether `fit` has rules for it: a compiler plans memory itself."""
    return case["arch"]["model_type"] in _FAMILIES and not case.get("compile")


def of_several_gpus(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of measure_pytorch_multi_gpu.py in the form that the other scripts write."""
    case, stages = dict(line["case"]), line["result"].get("stages", {})
    precision, rank = case.pop("precision"), case.pop("lora", 0)
    more = {"mixed": "bf16"} if precision == "mixed" else {}
    dtype = "fp32" if more else precision
    if rank:  # without targets on every projection
        more["lora"] = {"r": rank, "targets": case.pop("targets", "all")}
    steps = {name: reading for name, reading in stages.items() if name.startswith("step")}
    read = {"params": None, "load": stages["load"], "stages": steps} if stages else {}
    return {
        "case": {**case, "mode": "train", "dtype": dtype, **more},
        "result": {**read, **line["result"], **({"stages": steps} if steps else {})},
    }


def recorded(path: Path, *, several_gpus: bool = False, of_one_rank: bool = False) -> Recorded:
    """Every case of a file, or of each file of a folder: those of one GPU, or of several, or what
    one rank of several took alone, without NCCL's share, which `fit` tells."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    cases: list[Case] = []
    failures: list[Failure] = []
    environments: dict[str, Environment] = {}
    for file in files:
        if of_companions(file.stem):
            continue
        for line in read_jsonl(file, "reference"):
            if "env" in line:
                if of_one_rank != ("process_group" in line["env"]):
                    break
                environments[file.stem] = Environment(file, line["env"])
                continue
            if _of_trainer(line):
                continue
            sharded = isinstance(line.get("case"), dict) and "gpus" in line["case"]
            if sharded != several_gpus:
                continue
            of_one = of_several_gpus(line) if sharded else line
            if completed(of_one) and "arch" in of_one["case"]:
                cases += _cases(file.stem, of_one["case"], of_one["result"])
            elif isinstance(of_one.get("case"), dict) and "arch" in of_one["case"]:
                failures.append(Failure(file.stem, of_one["case"], of_one["result"]))
    return Recorded(path, cases, failures, environments)


def load_cases(path: Path, *, several_gpus: bool = False) -> Recorded:
    """The same, and there is something to ask `fit`."""
    found = recorded(path, several_gpus=several_gpus)
    if not any(case.peak for case in found.askable):
        files = f"{path}: *.jsonl hold" if path.is_dir() else f"{path}: holds"
        raise BadInputError(f"{files} no case that fit can be asked")
    for source in dict.fromkeys(case.source for case in found.cases):
        if source not in found.environments:
            raise BadInputError(
                f"{path}: {source}.jsonl: no line 'env' says what it was measured with"
            )
    return found
