"""The command: a model's config, the step that is asked for, and `vramfit run`'s answer to it."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._dry_run._command import BAD_INPUT, script_failed, taken, tell
from vramfit._dry_run._process import ScriptFailedError
from vramfit._model import _words
from vramfit._model._options import parse
from vramfit._model._python import SCRIPT, python_with_pytorch
from vramfit._step.asked import Asked, told, write


def model(arguments: list[str]) -> int:
    """The command `vramfit model`; returns its exit status."""
    try:
        options, passed_over = parse(arguments)
        return _run(options, passed_over, shlex.join(["vramfit", "model", *arguments]))
    except _core.BadInput as error:
        print(f"vramfit: error: {str(error).removeprefix('run: ')}", file=sys.stderr)
        return BAD_INPUT
    except ScriptFailedError as error:
        return script_failed(error.args[0])


def _run(options: Namespace, passed_over: list[str], typed: str) -> int:
    called = options.model or options.model_flag or str(Path(options.config))
    name, config = _core.config_text(called)
    with tempfile.TemporaryDirectory(prefix="vramfit-model-") as folder:
        asked = _asked(options, _read(name, config), folder)
        _refuse_twice(name, asked)
        command = [python_with_pytorch(options.python), str(SCRIPT), str(write(asked))]
        run = {
            "gpus": 1, "nodes": None, "rank": 0, "longest": False, "beside_real": False,
            "advise": False, "uploads": False, "random_weights": True,
        }  # fmt: skip
        answer = taken(Namespace(**{**vars(options), **run}), command)
        facts = told(asked)
    answer["command"] = typed
    answer["about"] = [*_words.about(name, asked, facts), *answer["about"]]
    answer["notes"] += _words.notes(asked, facts, passed_over)
    answer["max_batch"] = facts.get("max_batch")
    return tell(answer, options)


def _read(name: str, text: str) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except ValueError:
        config = None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise bad_input(f"model: {name}: no config.json of Hugging Face's, which has a model_type")
    if not isinstance(config.get("quantization_config"), (dict, type(None))):
        raise bad_input(f"model: {name}: its quantization_config is none: no keys and values")
    return config


def _refuse_twice(name: str, asked: Asked) -> None:
    stored = asked.config.get("quantization_config")
    if asked.quant and stored:
        raise bad_input(
            f"model: --quant: the files of {name} are quantised already, by "
            f"{stored.get('quant_method')}; without it they are read as they are stored"
        )


def _asked(options: Namespace, config: dict[str, Any], folder: str) -> Asked:
    names = {field.name for field in fields(Asked)}
    given = {name: value for name, value in vars(options).items() if name in names and value}
    if options.padded or options.unpadded:
        given["padded"] = options.padded
    return Asked(config, folder, **given)
