"""A process under `vramfit run`: watched from torch's import on, it writes down what it took."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from vramfit.standin._door import StandInError
from vramfit.standin._session import Watcher, door, remove_shells, start

# Whose versions the answer names, where the script has them.
_LIBRARIES = (
    "torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "liger_kernel",
    "datasets", "lightning", "deepspeed", "triton",
)  # fmt: skip

#: What processes leave in the run's folder: one of these a process, by its number.
RESULT, SNAPSHOT, TRACE, REFUSED = "{}.json", "{}.pickle", "{}.trace", "{}.refused"
#: And that their Python has no torch.
MISSING = "no-torch"


def begin(settings: str) -> None:
    """Starts the stand-in as the settings' file says."""
    file = Path(settings)
    told = json.loads(file.read_text())
    try:
        start(json.dumps(told["facts"]), _Import(told, file.parent))
    except StandInError as error:
        _refuse(file.parent, str(error))


class _Import(Watcher):
    """Of torch: what keeps it from being loaded is written down."""

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        self._settings, self._folder = settings, folder

    def missing(self) -> None:
        (self._folder / MISSING).write_text(sys.executable)

    def refused(self, error: StandInError) -> NoReturn:
        _refuse(self._folder, str(error))

    def loaded(self) -> None:
        import torch

        if torch.version.cuda is None:
            _refuse(
                self._folder,
                f"the torch of {sys.executable}, {torch.__version__}, is not built for CUDA: one "
                "that is will do without its nvidia-* packages, pip install --no-deps torch",
            )
        _Watched(self._settings, self._folder)


def _refuse(folder: Path, line: str) -> NoReturn:
    """Ends the process: no script goes on without what it came for."""
    (folder / REFUSED.format(os.getpid())).write_text(line)
    _leave(2)


def _leave(status: int) -> NoReturn:
    """Ends the process at once, with all that it has printed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    ctypes.CDLL(None).fflush(None)
    multiprocessing = sys.modules.get("multiprocessing")
    for worker in multiprocessing.active_children() if multiprocessing else ():
        worker.terminate()
    remove_shells()
    os._exit(status)


class _Watched:
    """The process from torch's import on."""

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        from vramfit.standin._books import Books
        from vramfit.standin._steps import Steps

        self._settings, self._folder, self._process = settings, folder, os.getpid()
        self._ended = "script"
        self._out_of_memory: list[dict[str, Any]] = []
        self._steps = Steps(Books(door()), settings["steps"], self._end)
        # Both ask for CUDA, which comes with the script's first use of it.
        import torch

        torch.cuda._lazy_call(self._attend)
        atexit.register(self._write)

    def _attend(self) -> None:
        import torch

        torch._C._cuda_attach_out_of_memory_observer(self._ran_out)
        if self._settings["records"]:
            torch.cuda.memory._record_memory_history(stacks="python")

    def _ran_out(self, device: int, requested: int, _: int, free: int) -> None:
        self._out_of_memory.append(
            {
                "step": self._steps.step,
                "stage": self._steps.stage,
                "device": device,
                "requested": requested,
                "free": free,
                "line": _line_of_script(),
            }
        )
        self._steps.run_out()

    def _end(self, how: str) -> None:
        """Enough was seen. A process forked from this one goes on."""
        if os.getpid() == self._process:
            self._ended = how
            self._write()
            _leave(0)

    def _write(self) -> None:
        import torch

        from vramfit.standin import _values

        if os.getpid() != self._process:
            return
        steps = self._steps
        steps.close()
        result = {
            **door().report(),
            "process": self._process,
            "uses_gpu": torch.cuda.is_initialized(),
            "stages": steps.rows,
            "steps": steps.finished + (self._ended == "script" and steps.stage == "optimizer"),
            "ended": self._ended,
            "batches": steps.batches,
            "out_of_memory": self._out_of_memory,
            "raised": _what_ended_it(),
            "assumptions": _values.assumptions(),
            "versions": {
                name: sys.modules[name].__version__
                for name in _LIBRARIES
                if hasattr(sys.modules.get(name), "__version__")
            },
        }
        if self._settings["records"] and torch.cuda.is_initialized():
            self._write_records()
        place = self._folder / RESULT.format(self._process)
        place.with_suffix(".part").write_text(json.dumps(result))
        place.with_suffix(".part").rename(place)

    def _write_records(self) -> None:
        import torch

        from vramfit.standin._trace import trace

        torch.cuda.memory._dump_snapshot(str(self._folder / SNAPSHOT.format(self._process)))
        written = trace(
            torch.cuda.memory._snapshot(), self._steps.turns, door().report()["devices"]
        )
        (self._folder / TRACE.format(self._process)).write_text(written)


def _what_ended_it() -> str:
    """How the interpreter ends, of an exception that nobody caught: "memory", "other"; or ""."""
    import torch

    error = getattr(sys, "last_value", None)
    if error is None:
        return ""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, torch.cuda.OutOfMemoryError):
            return "memory"
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return "other"


def _line_of_script() -> str:
    """The innermost line that runs in the script itself: "train.py:41"."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = file.startswith("<") or file.startswith((sys.base_prefix, sys.prefix))
        if (
            not inside
            and "-packages" not in file
            and not file.startswith(str(Path(__file__).parent))
        ):
            return f"{Path(file).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
