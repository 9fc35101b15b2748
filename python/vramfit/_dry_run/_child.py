"""The user's command as a child that is watched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from vramfit._bad_input import bad_input

# A dry run tells nobody: its losses are none. Pushes to the Hub and TensorBoard's files, which no
# variable turns off, are standin/_quiet.py's.
_QUIET = {
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_MODE": "disabled",
    "DISABLE_MLFLOW_INTEGRATION": "TRUE",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "NEPTUNE_MODE": "debug",
    "SWANLAB_MODE": "disabled",
    "VLLM_NO_USAGE_STATS": "1",
    "WANDB_MODE": "disabled",
}

_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_WITHOUT_US = {
    "E": "ignores PYTHONPATH, by which vramfit reaches it",
    "I": "ignores PYTHONPATH, by which vramfit reaches it",
    "S": "leaves out sitecustomize, by which vramfit reaches it",
}
_WITH_VALUE = "WX"


def check(command: list[str]) -> None:
    """Raises BadInput where the command cannot be what is wanted."""
    program = command[0]
    if shutil.which(program) is None:
        like = f"python {program}" if program.endswith(".py") else "python, or a launcher"
        raise bad_input(f"run: no program '{program}'; {like}, goes behind the --")
    if _PYTHON.fullmatch(Path(program).name) is not None:
        _check_python(command[1:])


def check_visible(gpus: int) -> None:
    """Raises BadInput where the environment hides all of so many GPUs."""
    variable = os.environ.get("CUDA_VISIBLE_DEVICES")
    if variable is None:
        return
    first = variable.split(",")[0].strip()
    if not first.isdecimal() or int(first) >= gpus:
        raise bad_input(
            f"run: CUDA_VISIBLE_DEVICES={variable} hides all GPUs of --gpus {gpus}: unset it, or "
            "ask for more"
        )


def _check_python(arguments: list[str]) -> None:
    values = iter(arguments)
    for argument in values:
        if argument.startswith("--"):
            if argument == "--check-hash-based-pycs":
                next(values, None)
        elif not re.fullmatch(r"-[A-Za-z?].*", argument):
            if argument != "-" and not Path(argument).exists():
                raise bad_input(f"run: no script '{argument}'")
            return
        elif _ends_options(argument[1:], values):
            return


def _ends_options(letters: str, values: Iterator[str]) -> bool:
    """Of Python's options in one argument, -uW; what is behind -c and -m is the script's."""
    for at, letter in enumerate(letters, start=1):
        if letter in "cm":
            return True
        if letter in _WITH_VALUE:
            if at == len(letters):
                next(values, None)
            return False
        if letter in _WITHOUT_US:
            raise bad_input(f"run: python -{letter} {_WITHOUT_US[letter]}: leave it out")
    return False


def compiled_apart() -> dict[str, str]:
    """What Inductor chose where nothing can be timed is not for runs on a GPU to find."""
    caches = Path("~/.cache").expanduser()
    usual = {
        "TORCHINDUCTOR_CACHE_DIR": Path(tempfile.gettempdir(), f"torchinductor_{os.getuid()}"),
        "VLLM_CACHE_ROOT": Path(os.environ.get("XDG_CACHE_HOME") or caches, "vllm"),
    }
    return {name: f"{os.environ.get(name) or place}_vramfit" for name, place in usual.items()}


interrupted = 0  # the signal that is to end the command, whatever it runs at the time


def _note(number: int) -> None:
    global interrupted  # noqa: PLW0603  signals are the process's
    interrupted = number


def _pass_on(child: subprocess.Popen[bytes], number: int) -> None:
    _note(number)
    child.send_signal(number)


def run_watched(
    command: list[str],
    settings: Path,
    uploads: bool,
    *,
    real: bool = False,
    stdout: int | None = None,
    stderr: int | None = None,
    more: Mapping[str, str] | None = None,
) -> int:
    """Runs it to its end; returns its status, negative where a signal ended it. `stdout`, `stderr`:
    where what it prints goes, if elsewhere. `real`: on the GPU that is there. `more` variables of
    its environment."""
    hook = Path(__file__).parents[1] / "standin" / "hook"
    behind = os.environ.get("PYTHONPATH")
    environment = {
        "PYTHONHASHSEED": "0",  # transformers goes over sets, and what it makes first lies first
        **os.environ,
        **({} if uploads else _QUIET),
        **({} if real else compiled_apart()),
        "PYTHONPATH": os.pathsep.join([str(hook), *([behind] if behind else [])]),
        "VRAMFIT_RUN": str(settings),
        **(more or {}),
    }
    try:
        child = subprocess.Popen(command, env=environment, stdout=stdout, stderr=stderr)
    except OSError as error:
        raise bad_input(f"run: '{command[0]}' cannot be started: {error.strerror}") from None
    for number in (signal.SIGTERM, signal.SIGHUP):  # what the script leaves is removed all the same
        signal.signal(number, lambda received, _: _pass_on(child, received))
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            _note(signal.SIGINT)  # it has the same one, and ends as it will
