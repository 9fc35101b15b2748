"""Torch and transformers, imported already, which takes ten times as long as most scripts of these
tests do: processes are forked from this one, and each then is what ./forked was called as, with a
card of its own.

Not imported are transformers' Trainer and PEFT, which ask for the card as they come, by
bitsandbytes; but what takes most of their time, Inductor and datasets.
"""

import atexit
import gc
import json
import os
import runpy
import select
import socket
import sys
import tempfile
import threading
from importlib import import_module
from os import _exit  # scripts may replace it
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

import accelerate  # noqa: F401
import datasets  # noqa: F401
import torch
from transformers import AutoModelForCausalLM, LlamaForCausalLM  # noqa: F401
from vramfit.standin._session import door

# Asked for a GPU, as Inductor asks as it comes, PyTorch's C++ would refuse CUDA to what is forked.
with patch("torch.cuda.is_available", lambda: True):
    import_module("torch._inductor.compile_fx")

# The package above them is not there, which `from vramfit.standin import` asks for.
_run, _session = (import_module(f"vramfit.standin.{name}") for name in ("_run", "_session"))


def serve(place: str) -> None:
    """Answers at a socket until standard input ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        gc.freeze()  # no collection of a forked process looks at what all of them have
        print("ready", flush=True)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                asked, streams = _received(connection)
                child = os.fork()
                if child == 0:
                    listener.close()
                    connection.close()
                    _be(streams, **asked)
                for stream in streams:
                    os.close(stream)
                _, status = os.waitpid(child, 0)
                connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _received(connection: socket.socket) -> tuple[dict, list[int]]:
    head, streams, _, _ = socket.recv_fds(connection, 8, 3)
    left = int.from_bytes(head, "big")
    told = b""
    while len(told) < left:
        told += connection.recv(left - len(told))
    return json.loads(told), streams


def _be(
    streams: list[int], arguments: list[str], environment: dict[str, str], folder: str
) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.update(environment)
    torch.cuda._is_in_bad_fork = lambda: False  # no driver is there that forks would confuse
    if "VRAMFIT_RUN" in environment:
        _watch(Path(environment["VRAMFIT_RUN"]))
    else:
        _play(environment["FACTS"])
    status = 0
    try:
        _run_as_python(*arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        status, sys.last_value = 1, error
        sys.excepthook(type(error), error, error.__traceback__)
    # What Python does at its end but for taking all modules apart, which takes a second.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    _exit(status)


def _run_as_python(script: str, *arguments: str) -> None:
    sys.argv = [script, *arguments]
    if script == "-c":
        exec(arguments[0], vars(sys.modules["__main__"]))
    else:
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")


def _play(facts: str) -> None:
    """As stood_in.play() has it of a Python of its own."""
    door().start(facts)
    _session._shells, _session._owner = Path(tempfile.mkdtemp()), os.getpid()
    _session._files.__init__(_session._shells)


def _watch(settings: Path) -> None:
    """As hook/sitecustomize.py does, but for what is there already."""
    told = json.loads(settings.read_text())
    settings.with_name("python").touch()
    door().start(json.dumps(told["facts"]))
    _session._folder = settings.parent
    _session._files.__init__(settings.parent)
    ranks = _run.Ranks(told["rank"], told["nodes"])
    _run._process = _run._Process(told, settings.parent, ranks)
    _run._process.loaded()
