"""Random questions that `fit` should answer."""

import json
from dataclasses import dataclass
from functools import cache
from random import Random

from campaign import ROOT

MODELS = sorted(path.parent.name for path in (ROOT / "data/models").glob("*/config.json"))
CARDS = [card["name"] for card in json.loads((ROOT / "data/gpus.json").read_text())["cards"]]
OURS = {"llama", "mistral", "qwen2", "gpt2", "qwen3"}  # families that vramfit's own step runs
SEARCHES = {"--max-batch": "batch", "--max-seq": "seq"}


@dataclass
class Question:
    """`flags` without the searched size and the search."""

    flags: list[str]
    sizes: dict[str, int]  # batch and seq
    search: str = ""  # of SEARCHES
    beyond: bool = False  # a search for the longest sequence passes the model's own positions

    def arguments(self, **sizes: int) -> list[str]:
        """Of the search, where there is one; with `sizes`, of that point in place of it."""
        given = {**self.sizes, **sizes}
        searched = SEARCHES.get(self.search) if not sizes else None
        fixed = [part for key in given if key != searched for part in (f"--{key}", str(given[key]))]
        return [
            *self.flags,
            *fixed,
            *([self.search] if searched else []),
            *(["--beyond-positions"] if searched and self.beyond else []),
        ]


@cache
def config(model: str) -> dict:
    return json.loads((ROOT / "data/models" / model / "config.json").read_text())


def _log_uniform(random: Random, low: int, high: int) -> int:
    return round(low * (high / low) ** random.random())


def _positions(model: str) -> int:
    """The longest sequence that a model with learned positions has; others are not held to it."""
    return config(model).get("n_positions", 1 << 17)


def _which(random: Random, runtime: str) -> tuple[list[str], int]:
    """The model's flags, and the longest sequence to ask about."""
    if random.random() < 0.1:
        size = f"{_log_uniform(random, 50, 70_000)}M"
        return ["--params", size], 1 << 16
    models = [m for m in MODELS if runtime != "vramfit" or config(m)["model_type"] in OURS]
    model = random.choice(models)
    if random.random() < 0.1:
        return ["--config", str(ROOT / "data/models" / model / "config.json")], _positions(model)
    return ["--model", model], _positions(model)


def _quantized(random: Random) -> list[str]:
    """bitsandbytes' formats."""
    flags = ["--quant", random.choice(["int8", "nf4", "fp4"])]
    more = random.choice([[], ["--double-quant"], ["--quant-compute", "fp32"]])
    return flags if "int8" in flags else flags + more


def _several_gpus(random: Random, beside: list[str]) -> list[str]:
    """With what `beside` has already. FSDP2 goes with torch.optim's AdamW and SGD, and shards
    adapters where it is called by hand; quantised weights stay on one GPU."""
    if "--quant" in beside:
        return []
    flags = ["--gpus", str(_log_uniform(random, 2, 64))]
    optimizer = beside[beside.index("--optimizer") + 1]
    raises = {"8bit", "32bit", "hf", "adafactor"} & set(optimizer.split("-"))
    if not raises and "reentrant" not in beside and random.random() < 0.6:
        by_accelerate = ["fsdp-accelerate"] if "--lora" not in beside else []
        flags += ["--strategy", random.choice(["fsdp", *by_accelerate])]
        flags += random.choice([[], ["--reshard-after-forward", "false"]])
        mixed = random.random() < 0.5 and "--autocast" not in beside
        return flags + (["--mixed-precision", "bf16"] if mixed else [])
    flags += random.choice([[], ["--strategy", "ddp"], ["--strategy", "zero1"]])
    return flags + random.choice([[], ["--bucket-view"], ["--bucket-cap-mb", "1"]])


def _training(random: Random, runtime: str) -> list[str]:
    optimizers = {
        "pytorch": [
            *("adamw", "adamw-fused", "adamw-loop", "sgd", "sgd-momentum"),
            *("adamw-8bit", "paged-adamw-8bit", "paged-adamw-32bit", "adafactor", "adafactor-hf"),
        ],
        "vramfit": ["sgd", "sgd-master", "sgd-momentum", "adamw", "adamw-master", "adamw-same"],
        "article": ["adam", "sgd"],
    }
    flags = ["--train", "--optimizer", random.choice(optimizers[runtime])]
    if runtime == "pytorch" and random.random() < 0.2:
        flags += ["--loss-only"]
    if runtime != "article" and random.random() < 0.2:
        flags += ["--accumulate", str(_log_uniform(random, 2, 64))]
    if runtime == "pytorch" and random.random() < 0.3:
        flags += ["--checkpoint", random.choice(["full", "full", "reentrant"])]
    if runtime == "pytorch" and random.random() < 0.3:
        flags += ["--lora", str(_log_uniform(random, 1, 256))]
        flags += random.choice([[], ["--lora-targets", "all-linear"]])
        flags += random.choice([[], _quantized(random)])
    if runtime == "article" and random.random() < 0.3:
        flags += ["--gpus", str(random.choice([2, 4, 8]))]
        flags += ["--strategy", random.choice(["data-parallel", "pipeline", "fsdp"])]
    return flags


def _precision(random: Random, runtime: str, training: bool) -> list[str]:
    known = ["fp32", "fp16", "bf16"]
    if runtime == "article" and not training:
        known += ["int8", "int4"]
    precision = random.choice(known)
    flags = ["--precision", precision]
    if runtime == "pytorch" and training and random.random() < 0.5:
        types = ["bf16", "fp16"] if precision == "fp32" else ["bf16"]
        flags += ["--autocast", random.choice(types)]
    return flags


def _generation(random: Random) -> list[str]:
    """How prompts are, and how the model is stored, read and cached, in PyTorch."""
    flags = random.choices([[], ["--padded"], ["--unpadded"]], [4, 3, 1])[0]
    if random.random() < 0.3:
        flags += _quantized(random)
    flags += random.choices([[], ["--device-map", "cuda"], ["--device-map", "auto"]], [8, 1, 1])[0]
    if "cuda" not in flags and random.random() < 0.2:
        flags += ["--gpus", str(random.randint(2, 8))]
    flags += random.choices([[], ["--cache-implementation", "static"], ["--again"]], [8, 1, 1])[0]
    return flags


def _card(random: Random) -> list[str]:
    size = f"{_log_uniform(random, 4, 400)}{random.choice(['GB', 'GiB'])}"
    flags = random.choice([["--gpu", random.choice(CARDS)], ["--vram", size]])
    if random.random() < 0.1:
        flags = ["--gpu", random.choice(CARDS), "--vram", size]
    if random.random() < 0.2:
        flags += ["--headroom", f"{_log_uniform(random, 1, 4000)}MB"]
    return flags


def question(random: Random) -> Question:
    runtime = random.choices(["pytorch", "vramfit", "article"], [6, 3, 1])[0]
    training = random.random() < 0.5
    which, longest = _which(random, runtime)
    named = runtime != "pytorch" or random.random() < 0.3
    flags = [*which, *(["--runtime", runtime] if named else [])]
    flags += _precision(random, runtime, training)
    if training:
        flags += _training(random, runtime)
        if runtime == "pytorch" and random.random() < 0.3:
            flags += _several_gpus(random, flags)
    elif runtime != "article" and random.random() < 0.4:
        flags += ["--generate", str(_log_uniform(random, 1, 256))]
    sizes = {
        "batch": _log_uniform(random, 1, 64),
        "seq": _log_uniform(random, 1, min(longest, 1 << 14)),
    }
    if "--generate" in flags:  # the prompt's tokens and the new ones share the positions
        sizes["seq"] = max(1, min(sizes["seq"], longest - int(flags[-1])))
    if runtime == "pytorch" and not training:
        flags += _generation(random)
    if runtime != "article" and random.random() < 0.2:
        flags += ["--attention", "eager" if runtime == "pytorch" else "cublas"]
    flags += _card(random)
    search = random.choices(["", *SEARCHES], [6, 2, 2])[0]
    beyond = search == "--max-seq" and random.random() < 0.5
    return Question(flags, sizes, search, beyond)
