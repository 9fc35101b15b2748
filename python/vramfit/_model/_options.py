"""The command line of `vramfit model`: flags are fit's, as people spell them for fit. Flags of its
step are another command's too."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._dry_run._options import Parser, formatter, shared_flags, whole

_PROG = "vramfit model"
_EXAMPLE = "vramfit model Qwen/Qwen3-30B-A3B --train --batch 4 --seq 2048 --gpu h200"

# fit's flags that nothing here answers to.
_NOT_HERE = {
    "advise": "it is fit's: vramfit --advise",
    "beyond-positions": "a longer --seq is run as it is",
    "formulas": "they are fit's: vramfit --formulas",
    "gpus": "several GPUs want a launcher: vramfit run --gpus N -- torchrun train.py",
    "max-seq": "only --max-batch is searched for",
    "params": "a size alone is no config: vramfit --params",
    "runtime": "it is transformers' own code that runs",
    "strategy": "several GPUs want a launcher: vramfit run --gpus N -- torchrun train.py",
    "verify": "it is fit's: vramfit --verify",
}


@dataclass(frozen=True)
class Command:
    """One that runs a step."""

    prog: str
    example: str
    own: Callable[[], Parser]  # of flags that are none of the step's
    parser: Callable[[], Parser]  # of all
    not_here: Mapping[str, str]  # fit's flags that nothing answers to, and why


_OF_TRAINING = (
    "trainer", "optimizer", "autocast", "accumulate", "loss_only", "checkpoint", "lora",
    "lora_targets",
)  # fmt: skip
_OF_GENERATION = ("generate", "padded", "unpadded", "again", "cache_implementation")


def _parser() -> Parser:
    parser = Parser(
        prog=_PROG,
        usage=f"{_PROG} MODEL [FLAGS]",
        description="Runs transformers' own code of a causal language model, whichever it has, on "
        "a GPU that is not there, and says what it takes of its memory and whether it fits. "
        "Weights are never read.",
        epilog="transformers' and PEFT's names of flags are taken too, as by vramfit. Exit status: "
        "0 it fits, 1 it does not, 2 bad input, 3 the model's code itself failed.",
        allow_abbrev=False,
        formatter_class=formatter,
        parents=[shared_flags(_PROG)],
    )
    add_step_flags(parser)
    add = parser.add_argument_group("which no other command has").add_argument
    add("--max-batch", action="store_true", help="the largest batch that completes")
    add("--compile", action="store_true", help="by torch.compile")
    add("--trainer", choices=("none", "trainer", "trl"), help="with --train: a plain loop "
        "(default), transformers' Trainer, TRL's SFTTrainer")  # fmt: skip
    return parser


def add_step_flags(parser: Parser) -> None:
    add = parser.add_argument_group("which model, and what it does").add_argument
    add("model", metavar="MODEL", nargs="?", help="a Hugging Face id, a folder, a config.json, or "
        "a name of vramfit --list")  # fmt: skip
    add("--model", dest="model_flag", metavar="MODEL", help="the same")
    add("--config", metavar="PATH", help="the same, of a config.json")
    add("--train", action="store_true", help="training instead of generation")
    add("--precision", choices=("fp32", "fp16", "bf16"), help="(default: the config's, or bf16)")
    add("--batch", metavar="N", type=whole, help="sequences in a (micro-)batch (default 1)")
    add("--seq", metavar="N", type=whole, help="tokens in a sequence, or its prompt (default 2048)")
    add("--attention", metavar="NAME", help="sdpa, eager, …: attn_implementation")
    add("--quant", choices=("int8", "nf4", "fp4"), help="bitsandbytes'; in training with --lora")
    add("--double-quant", action="store_true", help="with --quant nf4 or fp4")
    add("--quant-compute", choices=("fp32", "fp16", "bf16"), help="with --quant nf4 or fp4")
    add("--device-map", choices=("cuda", "auto"), help="read by from_pretrained")
    add = parser.add_argument_group("with --train").add_argument
    add("--optimizer", metavar="NAME", help="as of vramfit --help (default: adamw-fused)")
    add("--autocast", choices=("bf16", "fp16"), help="whatever weights are in")
    add("--accumulate", metavar="N", type=whole, help="micro-batches in a step (default 1)")
    add("--loss-only", action="store_true", help="the loop keeps the loss alone")
    add("--checkpoint", choices=("none", "full", "reentrant"), help="activation checkpointing")
    add("--lora", metavar="RANK", type=whole, help="PEFT's adapters of this rank")
    add("--lora-targets", metavar="NAMES", help="q_proj,v_proj or all-linear (default: PEFT's)")
    add = parser.add_argument_group("without --train").add_argument
    add("--generate", metavar="N", type=whole, help="new tokens (default 1)")
    add("--padded", action="store_true", help="a prompt holds padding, as of a batch they do")
    add("--unpadded", action="store_true", help="prompts of a batch are of one length")
    add("--again", action="store_true", help="generate() was called before in the process")
    add("--cache-implementation", choices=("dynamic", "static"), help="of generate()")
    where = parser.add_argument_group("by which Python")
    where.add_argument("--python", metavar="FILE", help="that has PyTorch and transformers "
        "(otherwise vramfit's own, or the one on the PATH)")  # fmt: skip


def parse(
    arguments: list[str], command: Command | None = None
) -> tuple[argparse.Namespace, list[str]]:
    """Flags, and those that were passed over as no byte depends on them. Raises BadInput."""
    command = command or MODEL
    # fit has a --json of another kind, so that these are read before its spellings are.
    shared, others = command.own().parse_known_args(arguments)
    own, passed_over = _core.in_canonical_names(others)
    if "-h" in own or "--help" in own:
        command.parser().print_help()
        raise SystemExit(0)
    options, strangers = command.parser().parse_known_args(own, shared)
    if strangers:
        _refuse(strangers[0], command)
    _refuse_contradictions(options, command)
    return options, passed_over


def _refuse(stranger: str, command: Command) -> None:
    if not stranger.startswith("-"):
        raise bad_input(f"model: one model at a time, and '{stranger}' is a second")
    name = stranger[2:].partition("=")[0]
    raise bad_input(
        f"model: no --{name} here; {command.not_here.get(name, f'{command.prog} --help')}"
    )


def _refuse_contradictions(options: argparse.Namespace, command: Command) -> None:
    named = [options.model, options.model_flag, options.config]
    if len([name for name in named if name]) != 1:
        raise bad_input(f"model: one model, as in {command.example}")
    only_with(options, _OF_TRAINING, options.train, "--train")
    only_with(options, _OF_GENERATION, not options.train, "generation, without --train")
    only_with(options, ("lora_targets",), options.lora, "--lora")
    four_bits = options.quant in ("nf4", "fp4")
    only_with(options, ("double_quant", "quant_compute"), four_bits, "--quant nf4 or fp4")
    trainer = getattr(options, "trainer", None)
    only_with(options, ("loss_only",), trainer in (None, "none"), "--trainer none")
    for one, other, why in (
        ("max_batch", "batch", "one is searched for"),
        ("max_batch", "band", "a search is run once"),
        ("padded", "unpadded", "either prompts hold padding or not"),
    ):
        if getattr(options, one, None) and getattr(options, other, None):
            raise bad_input(f"model: {_flag(one)} and {_flag(other)} contradict each other: {why}")
    if options.train and options.quant and not options.lora:
        raise bad_input("model: --quant: quantised weights are trained with --lora RANK")
    if options.train and options.device_map == "auto":
        raise bad_input("model: --device-map: auto is for generation; cuda")


def only_with(
    options: argparse.Namespace, names: tuple[str, ...], condition: Any, what: str
) -> None:
    """Raises BadInput where one of them was given, and what it goes with was not."""
    for name in names:
        if getattr(options, name, None) and not condition:
            raise bad_input(f"model: {_flag(name)}: only with {what}")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


MODEL = Command(_PROG, _EXAMPLE, lambda: shared_flags(_PROG), _parser, _NOT_HERE)
