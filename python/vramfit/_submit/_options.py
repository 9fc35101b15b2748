"""The command line of `vramfit submit-case`: the step is `vramfit model`'s, on this
machine's GPU."""

from __future__ import annotations

from argparse import Namespace

from vramfit._case import check_sender
from vramfit._dry_run._options import Parser, formatter
from vramfit._model._options import Command, add_step_flags
from vramfit._model._options import parse as parse_of

_PROG = "vramfit submit-case"
_EXAMPLE = f"{_PROG} qwen3-0.6b --train --batch 2 --seq 512"

_THIS_GPU = "it is this machine's GPU that is measured; CUDA_VISIBLE_DEVICES chooses one"
_NOT_HERE = {
    "gpu": _THIS_GPU,
    "vram": _THIS_GPU,
    "gpus": "a case is of one GPU",
    "release": "it is the PyTorch that is there: --python FILE",
    "runtime": "it is transformers' own code that runs",
    # What fit has no question for, so that nothing could be held against it.
    "trainer": "a Trainer's run is a case by vramfit.watch, around it",
    "compile": "what torch.compile takes is not predicted without a run",
    "max-batch": "a case is of one batch: --batch N",
}


def _own() -> Parser:
    parser = Parser(prog=_PROG, add_help=False, allow_abbrev=False)
    add = parser.add_argument_group("the case").add_argument
    add("--sender", metavar="NAME", default="anonymous", help="a name of your choice, "
        "which is told (default anonymous)")  # fmt: skip
    add("--out", metavar="FILE", default="case.jsonl", help="to which the line is appended "
        "(default case.jsonl)")  # fmt: skip
    return parser


def _parser() -> Parser:
    parser = Parser(
        prog=_PROG,
        usage=f"{_PROG} MODEL [FLAGS]",
        description="Runs a step of a model with random weights on this machine's GPU, and writes "
        "what it took as a case of the league: a line of JSON with the question, the card, "
        "releases and bytes, and nothing private. Nothing is sent. The GPU should be used by "
        "nothing else. Weights are never read or downloaded.",
        epilog="transformers' and PEFT's names of flags are taken too, as by vramfit. Exit status: "
        "0 a case was written, 2 bad input, 3 the model's code itself failed.",
        allow_abbrev=False,
        formatter_class=formatter,
        parents=[_own()],
    )
    add_step_flags(parser)
    return parser


COMMAND = Command(_PROG, _EXAMPLE, _own, _parser, _NOT_HERE)


def parse(arguments: list[str]) -> tuple[Namespace, list[str]]:
    """Flags, and those that were passed over as no byte depends on them. Raises BadInput."""
    options, passed_over = parse_of(arguments, COMMAND)
    check_sender(options.sender)
    return options, passed_over
