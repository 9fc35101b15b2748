"""The command: a question, its step on this machine's GPU, and the line that tells of both."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

from vramfit import _core
from vramfit._answer import Answer
from vramfit._bad_input import bad_input
from vramfit._case import append, case_of, question_of, whereabouts
from vramfit._model._python import SCRIPT, python_with_pytorch
from vramfit._questions import asked_with
from vramfit._step.asked import Asked, told, write
from vramfit._submit import _words
from vramfit._submit._options import parse

_WRITTEN, _BAD_INPUT, _FAILED = 0, 2, 3
_ANY_CARD = {"gpu": "h200"}  # defaults and refusals are the same on all


def submit_case(arguments: list[str]) -> int:
    """The command `vramfit submit-case`; returns its exit status."""
    try:
        options, passed_over = parse(arguments)
        return _run(options, passed_over)
    except _core.BadInput as error:
        print(f"vramfit: error: {error}", file=sys.stderr)
        return _BAD_INPUT


def _require_writable(file: Path) -> None:
    """Before the step is run, which would be lost."""
    is_new = not file.exists()
    try:
        file.open("a").close()
    except OSError as error:
        raise bad_input(f"submit-case: '{file}' cannot be written: {error.strerror}") from None
    if is_new:
        file.unlink()


def _run(options: Namespace, passed_over: list[str]) -> int:
    _require_writable(Path(options.out))
    called = options.model or options.model_flag or str(Path(options.config))
    name, text = _core.config_text(called)
    config = json.loads(text)
    flags = _flags(options, {"model": name} if name in _core.models() else {"config": config})
    answer = asked_with({**flags, **_ANY_CARD}, [], ())
    flags |= _settled(answer)
    facts, status = _measured(options, flags, config)
    if "refused" in facts:
        raise bad_input(f"submit-case: {facts['refused']}")
    if "beside" not in facts:
        print(f"vramfit: the step itself failed: status {status}", file=sys.stderr)
        return _FAILED
    question = question_of(flags, answer, whereabouts(facts["gpu"], facts["versions"]))
    taken = {key: facts[key] for key in ("gpu", "versions", "measured", "beside")}
    case = case_of(question, **taken, sender=options.sender)
    append(case, options.out)
    print(_words.text(case, asked_with(question, [], ()), options.out, passed_over), end="")
    return _WRITTEN


def _flags(options: Namespace, model: dict[str, Any]) -> dict[str, Any]:
    """fit's, as keywords."""
    names = {field.name for field in fields(Asked)} - {"config", "folder", "measured"}
    names |= {"padded", "unpadded"}
    return {
        **model,
        **{name: value for name, value in vars(options).items() if name in names and value},
    }


def _settled(answer: Answer) -> dict[str, Any]:
    """What nobody said and fit assumed, so that the step is no other."""
    asked = answer.to_dict()["asked"]
    names = ("precision", "batch", "seq", "optimizer")
    return {name: asked[name] for name in names if asked.get(name) is not None}


def _measured(
    options: Namespace, flags: dict[str, Any], config: dict[str, Any]
) -> tuple[dict[str, Any], int]:
    """What the step's process told, and its exit status."""
    given = {name: value for name, value in flags.items() if name not in ("model", "config")}
    if given.pop("unpadded", False):
        given["padded"] = False
    with tempfile.TemporaryDirectory(prefix="vramfit-case-") as folder:
        asked = Asked(config, folder, measured=True, **given)
        command = [python_with_pytorch(options.python), str(SCRIPT), str(write(asked))]
        try:
            status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        except OSError:
            raise bad_input(f"submit-case: no program '{command[0]}'") from None
        return told(asked), status
