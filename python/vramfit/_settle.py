"""What of objects' settings stays beside the flags that are given by name, which go before them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from vramfit import _core
from vramfit._reading import Reading

#: What all flags together say, by fit's own names, where objects' are these.
Together = Callable[[Mapping[str, Any]], dict[str, str]]

#: Of bitsandbytes' 4 bits: to name one leaves the other as an object has it.
_FOUR_BITS = {"load_in_4bit", "bnb_4bit_quant_type"}
_IN_FOUR_BITS = ("nf4", "fp4")
#: Where an object's are not meant they are left, and refused where they are.
_OF_SEVERAL_GPUS = {"gpus", "strategy"}
#: Left where the runtime has no such setting: how a script computes, and the type that a model
#: is loaded in, where weights are stored in types of the runtime's own.
_OF_A_SCRIPT = {"autocast", "fused-lm-head", "loss-only", "precision"}


def _drop(reading: Reading, own: Collection[str]) -> None:
    for name in [name for name in reading.flags if _core.own_flag(name) in own]:
        del reading.flags[name]


def _named(names: Collection[str], given: Mapping[str, str]) -> set[str]:
    """Own flags that are spoken of by name, and what these make void."""
    named = {_core.own_flag(name) for name in names}
    if "fsdp" in names:  # whose word says so
        named.add("reshard-after-forward")
    if "checkpoint" in names:
        named.add("gradient-checkpointing-kwargs")
    return named | {name.removeprefix("max-") for name in given if name.startswith("max-")}


def _drop_quantization(reading: Reading, names: Collection[str], given: Mapping[str, str]) -> None:
    """Where the format is given by name, or is said not to be one."""
    formats = {name for name in names if _core.own_flag(name) == "quant"}
    own = {name for name in reading.flags if _core.own_flag(name) == "quant"}
    if "quant" not in given:  # switches that are off
        gone = formats | ({"bnb_4bit_quant_type"} if "load_in_4bit" in formats else set())
    elif given["quant"] in _IN_FOUR_BITS and formats - {"load_in_8bit"} <= _FOUR_BITS:
        gone = formats | {"load_in_8bit"}
    else:
        gone = own
    for name in own & gone:
        del reading.flags[name]


def settle(reading: Reading, names: Collection[str], together: Together) -> None:
    """Drops of what objects say what the flags of these `names` replace, or make void."""
    names = {name.replace("-", "_") for name in names}
    given = together({})
    named = _named(names, given)
    if "quant" in named:
        _drop_quantization(reading, names, given)
    _drop(reading, named - {"quant"})
    if "fsdp" in reading.flags:
        reading.flags.pop("use_fsdp", None)
    all_flags = together(reading.flags)
    astray = _core.astray(all_flags)
    gone = {name for name, why in astray.items() if why == "needs"} - _OF_SEVERAL_GPUS
    if "train" in named and "train" not in all_flags:
        if "lora" in reading.flags:
            reading.name("lora", reading.flags["lora"], "of training")
        gone |= {name for name, why in astray.items() if why == "task"} | _OF_SEVERAL_GPUS
        gone.add("gradient-checkpointing-kwargs")
    foreign = _OF_A_SCRIPT & {name for name, why in astray.items() if why == "runtime"}
    if "autocast" in foreign:
        for name in {"autocast", "bf16", "fp16"} & reading.flags.keys():
            reading.name(name, reading.flags[name], "the runtime has no autocast")
    gone |= foreign
    if "fused_lm_head" in reading.flags and all_flags.get("strategy", "none") != "none":
        reading.name("fused_lm_head", True, "predicted of one GPU; with whole logits of several")
        gone.add("fused-lm-head")
    fsdp = all_flags.get("strategy", "").startswith("fsdp")
    if not foreign and fsdp and "autocast" in reading.flags:
        reading.flags[reading.flags.pop("autocast")] = True  # Accelerate's, now as a Trainer's is
    _drop(reading, gone)
