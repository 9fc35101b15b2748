"""The command: facts, the script, the answer."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._dry_run import _advice_text, _beside, _child, _process, _result, _serving, _words
from vramfit._dry_run._advise import advise
from vramfit._dry_run._options import parse
from vramfit._dry_run._trials import Trials, judged

FITS, DOES_NOT_FIT, BAD_INPUT, FAILED = 0, 1, 2, 3


def run(arguments: list[str]) -> int:
    """The command `vramfit run`; returns its exit status."""
    try:
        options, command = parse(arguments)
        return _run(options, command)
    except _core.BadInput as error:
        print(f"vramfit: error: {error}", file=sys.stderr)
        return BAD_INPUT


def _facts(flags: dict[str, str], beside_real: bool) -> _result.Json:
    try:
        facts: _result.Json = json.loads(_core.card_facts(json.dumps(flags)))
    except _core.BadInput as error:
        if beside_real and "this machine has none" in str(error):
            raise bad_input(
                "run: --beside-real wants a GPU in this machine: none answers"
            ) from None
        raise
    return facts


def _run(options: Namespace, command: list[str]) -> int:
    try:
        return tell(taken(options, command), options)
    except _process.ScriptFailedError as error:
        return script_failed(error.args[0])


def taken(options: Namespace, command: list[str]) -> _result.Json:
    """What the command takes, as `--json` has it, but for its verdict. Raises BadInput, and
    _process.ScriptFailedError where it failed before there was anything to tell."""
    named = {name: getattr(options, name) for name in ("gpu", "vram", "headroom")}
    flags = {name: value for name, value in named.items() if value is not None}
    facts = {**_facts(flags, options.beside_real), "devices": options.gpus}
    _child.check(command)
    _child.check_visible(options.gpus)
    for file in (options.json, options.snapshot, options.trace):
        _check_writable(file)
    answer = _one_run(options, command, facts)
    if options.band and answer["ended"] != "failed":
        _result.widen(answer, _one_run(options, command, facts, late=True))
    if options.beside_real and answer["ended"] != "failed":
        real = _one_run(options, command, facts, real=True, steps=answer["steps"] or None)
        answer["real"] = _beside.beside(answer, real)
    if options.advise and answer["ended"] != "failed":
        trials = Trials(options, command, facts)
        ran_out = answer["ended"] == "memory"
        as_it_is = trials.on_a_card_with_room if ran_out else lambda: judged(answer)
        answer["advice"] = advise(as_it_is, trials)
    answer["about"] = _words.about(answer)
    answer["notes"] = _words.notes(answer, facts)
    return answer


def _one_run(
    options: Namespace,
    command: list[str],
    facts: _result.Json,
    *,
    late: bool = False,
    real: bool = False,
    steps: int | None = None,
) -> _result.Json:
    """`late`: the GPU is behind, and done with nothing before the script waits for it. `real`: the
    one that is there, for so many `steps`."""
    is_first = not late and not real
    records = is_first and (options.snapshot is not None or options.trace is not None)
    told = _process.settings(options, {**facts, "late_events": late}, records=records, real=real)
    if steps is not None:
        told["steps"] = steps
    with _process.folder(told) as place:
        folder = Path(place)
        output = sys.stderr.fileno() if options.json == "-" else None
        status, took = _process.watched(folder, command, options.uploads, stdout=output, real=real)
        for file, kind in ((options.snapshot, "pickle"), (options.trace, "trace")):
            if records and file is not None:
                shutil.copyfile(folder / f"{took['process']}.{kind}", file)
    return _result.answer(facts, shlex.join(command), status, took)


def tell(answer: _result.Json, options: Namespace) -> int:
    """Judges it, and writes it down; returns the exit status."""
    file = options.json
    written = json.dumps(answer)
    verdict = json.loads(_core.dry_run_verdict(written))
    failed = answer["ended"] == "failed"
    if failed:
        verdict.update(fits=None, verdict=None)
    if file is not None:
        text = json.dumps({**answer, **verdict}, indent=2) + "\n"
        if file == "-":
            print(text, end="")
        else:
            Path(file).write_text(text)
    if failed:
        return script_failed(answer["exit_status"])
    if file != "-":
        print("\n" + _core.dry_run_text(written, options.top), end="")
        if answer["vllm"] is not None:
            print("\n" + _serving.text(answer["vllm"]), end="")
        if answer["real"] is not None:
            print("\n" + _beside.text(answer["real"]), end="")
        if answer["advice"] is not None:
            print("\n" + _advice_text.text(answer["advice"], verdict["verdict"]), end="")
        elif verdict["verdict"] != "FITS" and answer["vllm"] is None:
            print("\nWhat would make it fit: vramfit run --advise")
    return FITS if verdict["fits"] else DOES_NOT_FIT


def script_failed(status: int) -> int:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    print(f"vramfit: the script itself failed: it ended with {how}", file=sys.stderr)
    return FAILED


def _check_writable(file: str | None) -> None:
    if file not in (None, "-") and not Path(file).absolute().parent.is_dir():
        raise bad_input(f"run: '{file}' cannot be written: its folder is not there")
