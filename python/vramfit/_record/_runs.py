"""The script run at one size, in silence."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import IO, Any

from vramfit._bad_input import bad_input
from vramfit._dry_run import _child, _process
from vramfit._record._steps import Taken, taken

Json = dict[str, Any]

_LONGEST = 200  # characters of what a script said last


def run(options: Namespace, facts: Json, command: list[str], name: str) -> tuple[Taken, Json]:
    """What it asked for, and the versions of what it ran with; `name` for people. Raises
    BadInput."""
    told = _process.settings(_settings(options), facts, acts=True)
    begun = time.monotonic()
    with _process.folder(told) as place, _output(place) as output:
        try:
            status, took = _process.watched(
                Path(place),
                command,
                uploads=False,
                stdout=output.fileno(),
                stderr=output.fileno(),
            )
        except _process.ScriptFailedError as error:
            raise bad_input(f"record: {_failure(error.args[0], output)}") from None
        _refuse(took, status, output)
        acts = Path(place, f"{took['process']}.acts")
        if not acts.exists():
            raise bad_input("record: the script records PyTorch's memory history itself")
        kept = json.loads(acts.read_text())
    print(
        f"recorded {name or 'it'}: {took['steps']} steps, {time.monotonic() - begun:.0f} s",
        file=sys.stderr,
    )
    return taken(kept), took["versions"]


def _settings(options: Namespace) -> Namespace:
    """As `vramfit run` has them."""
    return Namespace(
        strict=False,
        steps=options.steps,
        longest=False,
        uploads=False,
        random_weights=options.random_weights,
        rank=0,
        nodes=None,
        beside_real=False,
    )


def _refuse(took: Json, status: int, output: IO[str]) -> None:
    """What no tape can be made of."""
    if took["vllm"] is not None:
        raise bad_input("record: an engine fills its card, whatever it is; vramfit run tells")
    if took["out_of_memory"]:
        raise bad_input(
            "record: memory ran out while recording; smaller sizes, or --gpu with more memory"
        )
    ours = took["ended"] in ("steps", "steady") and took["in_kernel"]
    if status != 0 and not ours:
        raise bad_input(f"record: {_failure(status, output)}")
    if took["processes"] > 1:
        raise bad_input("record: several processes use the GPU; a tape is of one")


def _failure(status: int, output: IO[str]) -> str:
    if _child.interrupted:
        return "interrupted"
    output.seek(0)
    said = [line.strip() for line in output if line.strip()]
    last = "".join(filter(str.isprintable, said[-1]))[:_LONGEST] if said else f"status {status}"
    return f"the script fails: {last}"


def _output(folder: str) -> IO[str]:
    """Of whatever bytes a script prints."""
    return Path(folder, "output").open("w+", encoding="utf-8", errors="replace")
