"""What is kept of a process, from torch's import on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._acts import Acts
from vramfit.standin._books import Books, Card
from vramfit.standin._compiling import Compiling
from vramfit.standin._components import holders
from vramfit.standin._history import History, Peak
from vramfit.standin._lines import innermost, stack
from vramfit.standin._origins import Origins
from vramfit.standin._outliers import AS_MANY_OUTLIERS
from vramfit.standin._session import checkpoints
from vramfit.standin._steps import Steps
from vramfit.standin._trace import trace
from vramfit.standin._uncaught import is_any
from vramfit.standin._unmapped import Unmapped
from vramfit.standin._values import assumptions, host
from vramfit.standin._vllm import Vllm

# Whose versions the answer names, where the script has them.
_LIBRARIES = (
    "torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "liger_kernel",
    "datasets", "lightning", "deepspeed", "triton", "vllm",
)  # fmt: skip

# Steps that get the longest batch: in the second activations meet the optimizer's states.
_WITH_LONGEST = 2


class Watched:
    """Its stages, and where its memory ran out."""

    def __init__(
        self,
        card: Card,
        settings: dict[str, Any],
        name_ops: Callable[[Origins], None],
        enough: Callable[[str], None],
        write: Callable[[], None] = lambda: None,
    ) -> None:
        """`settings`: `steps`, None where nobody said how many; `records`, whether PyTorch's memory
        history is kept; `longest`; `acts`, whether all is kept that is asked of the allocator;
        `all_stages`, whether who held what is kept of each stage, or else of the highest of each
        name. `name_ops` has ops run in their names from then on. `enough` is told how the run comes
        to its end, should it. `write` writes down what it took so far, where somebody reads it."""
        self._card, self._name_ops = card, name_ops
        self._records = settings["records"]
        self._out_of_memory: list[dict[str, Any]] = []
        self._keeps_all_stages = settings["all_stages"]
        self._of_stages: dict[Any, tuple[int, str, list[Peak]]] = {}
        unmapped = Unmapped()
        self._acts = Acts(self._read_on, self._loads) if settings["acts"] else None
        self._history = History(
            unmapped,
            whole=self._records,
            acts=self._acts,
            ended=self._stage_ended,
        )
        self._steps = Steps(Books(card, unmapped), self._history, settings["steps"], enough)
        self._compiling = Compiling(self._steps.compile_begins, self._steps.compile_ends)
        self._vllm = Vllm(self._steps, write)
        self._longest = None
        if settings["longest"]:
            from vramfit.standin._longest import Longest

            self._longest = Longest(lambda: self._steps.finished < _WITH_LONGEST)
        # It asks for CUDA, which comes with the script's first use of it.
        torch.cuda._lazy_call(self._attend)

    def _attend(self) -> None:
        torch._C._cuda_attach_out_of_memory_observer(self._ran_out)
        self._history.begin()
        if self._history.is_recording:
            self._name_ops(self._history.origins)

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

    @property
    def ran_out(self) -> bool:
        """Memory could not be had, and nothing came after."""
        return self._steps.ran_out

    def took(self, ended: str) -> dict[str, Any]:
        """What it took so far; `ended` says how."""
        steps = self._steps
        steps.close()
        report = self._card.report()
        in_last = ended in ("script", "open") and steps.stage == "optimizer"
        assumed = assumptions()
        return {
            **report,
            "host": {**report["host"], **host()},
            "checkpoints": checkpoints(),
            "process": os.getpid(),
            "uses_gpu": torch.cuda.is_initialized(),
            "stages": steps.rows,
            "holders": self._holders(len(report["devices"])),
            "holders_of_stages": self._holders_of_stages(),
            "steps": steps.finished + in_last,
            "compile": self._compiling.told(),
            "vllm": self._vllm.told(),
            "ended": ended,
            "batches": steps.batches,
            "longest": list(self._longest.notes) if self._longest else None,
            "out_of_memory": self._out_of_memory,
            "ran_out": _raised_for_memory(if_nothing=self.ran_out),
            "kernels": self._card.kernels(),
            "assumptions": assumed,
            "int8_outliers": any(told["what"] == AS_MANY_OUTLIERS for told in assumed),
            "versions": {
                name: sys.modules[name].__version__
                for name in _LIBRARIES
                if hasattr(sys.modules.get(name), "__version__")
            },
        }

    def _holders(self, gpus: int) -> list[list[dict[str, Any]]] | None:
        """Of each GPU who held what when most was allocated; None: nobody knows."""
        if not self._history.is_recording:
            return None
        return [holders(self._history.at_peak(gpu)) for gpu in range(gpus)]

    def _stage_ended(self, step: int, stage: str, peaks: list[Peak]) -> None:
        key = (step, stage) if self._keeps_all_stages else stage
        kept = self._of_stages.get(key)
        if kept is None or _most(peaks) > _most(kept[2]):
            self._of_stages[key] = step, stage, peaks

    def _holders_of_stages(self) -> list[dict[str, Any]]:
        return [
            {"step": step, "stage": stage, "gpus": [holders(peak.blocks) for peak in peaks]}
            for step, stage, peaks in self._of_stages.values()
        ]

    def _loads(self) -> list[list[Any]]:
        loads: list[list[Any]] = self._card.report()["devices"][0]["loads"]
        return loads

    def write_acts(self, file: Path) -> None:
        """All that was asked of the allocator, where that is kept."""
        if self._acts is not None and self._history.is_recording:
            self._acts.write(file)

    def _read_on(self) -> None:
        self._history.read_on()

    def write_records(self, snapshot: Path, trace_file: Path) -> None:
        """PyTorch's memory snapshot, and the same as a Chrome trace."""
        if not self._records or not torch.cuda.is_initialized():
            return
        torch.cuda.memory._dump_snapshot(str(snapshot))
        history = torch.cuda.memory._snapshot()
        trace_file.write_text(trace(history, self._steps.turns, self._card.report()["devices"]))


def _most(peaks: list[Peak]) -> int:
    """Bytes, of whichever GPU held most."""
    return max((peak.bytes for peak in peaks), default=0)


def _raised_for_memory(*, if_nothing: bool) -> bool:
    """Whether the exception that ends the interpreter, which nobody caught, is of memory;
    `if_nothing` where there is none: it was caught, and the script chose to end."""
    error = getattr(sys, "last_value", None)
    return if_nothing if error is None else is_any(error, torch.cuda.OutOfMemoryError)


def _line_of_script() -> str:
    """The innermost line that runs in the script itself: "train.py:41"."""
    # By no name: a frame that refers to itself would keep alive what the script lets go of.
    _, line = innermost(stack(sys._current_frames().get(threading.main_thread().ident or 0)))
    return f"{Path(line[0]).name}:{line[1]}" if line else ""
