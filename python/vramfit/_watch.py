"""A real step of PyTorch, held against the prediction as it runs."""

from __future__ import annotations

import tempfile
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from vramfit._answer import Answer
from vramfit._bad_input import bad_input
from vramfit._case import append, case_of, question_of, whereabouts
from vramfit._core import BadInput
from vramfit._questions import estimate, flags_of
from vramfit._step.card import card_of, lost_beside_allocator, versions_of
from vramfit._verify import Verification, verify


class watch:  # noqa: N801 - used as a function
    """A context manager around the loading and two or three steps of a run on the GPU.

        with vramfit.watch(model, train=True, batch=4, seq=512) as watched:
            step(); step()
        print(watched)

    `model`: a transformers model, or None where `model=` or `config=` is among the keywords, which
    are those of `estimate`. Records what PyTorch's allocator does, and says at the end what it took
    beside what was predicted, and where the two part. Needs CUDA. Raises BadInput.
    """

    answer: Answer  #: the prediction
    verification: Verification | None = None  #: where they part; None: it cannot be said
    allocated: int = 0  #: what was, at most, in bytes
    reserved: int = 0

    def __init__(self, model: Any = None, *, max_entries: int = 1_000_000, **flags: Any) -> None:
        if model is not None:
            flags["model"] = model
        self._flags = flags
        self._max_entries = max_entries
        self.answer = estimate(**flags)
        self._torch: Any = None
        self._lacking = "nothing was recorded yet"  # why there is no verification
        self._ended = ""  # how: "well" or "OOM"; else there is nothing to tell
        self._beside: list[int] = []  # what the card lost beside the allocator, before and after

    def __enter__(self) -> watch:
        try:
            import torch
        except ImportError:
            raise bad_input("watch: needs torch, which is not installed") from None
        if not torch.cuda.is_available():
            raise bad_input("watch: needs a GPU that PyTorch sees")
        self._torch = torch
        torch.cuda.synchronize()
        self._beside = [lost_beside_allocator(torch)]
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.memory._record_memory_history(max_entries=self._max_entries, clear_history=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        cuda = self._torch.cuda
        if kind is None:
            cuda.synchronize()
            self._ended = "well"
        elif issubclass(kind, self._torch.OutOfMemoryError):
            self._ended = "OOM"
        self._beside.append(lost_beside_allocator(self._torch))
        self.allocated = cuda.max_memory_allocated()
        self.reserved = cuda.max_memory_reserved()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot.pickle"
            cuda.memory._dump_snapshot(str(path))
            cuda.memory._record_memory_history(enabled=None)
            if kind is not None and not issubclass(kind, self._torch.OutOfMemoryError):
                self._lacking = f"the run ended in {kind.__name__}"
                return
            try:
                self.verification = verify(path.read_bytes(), **self._flags)
            except BadInput as refused:
                self._lacking = str(refused)

    def case(self, sender: str = "anonymous") -> dict[str, Any]:
        """The run as a case of the league, with nothing private in it: what was asked, the card,
        releases, and what it took. Raises BadInput where no case can be made of it."""
        if not self._ended:
            raise bad_input(f"case: {self._lacking}")
        flags, not_honoured = flags_of(dict(self._flags))
        if not_honoured:
            raise bad_input(f"case: {not_honoured[0]}")
        gpu, versions = card_of(self._torch), versions_of(self._torch)
        question = question_of(flags, self.answer, whereabouts(gpu, versions))
        measured = {"allocated": self.allocated, "reserved": self.reserved}
        return case_of(
            question,
            gpu=gpu,
            versions=versions,
            measured=measured if self._ended == "well" else None,
            beside=self._beside,
            sender=sender,
        )

    def write_case(self, path: str | PathLike[str], sender: str = "anonymous") -> None:
        """Appends the case to a file, a line of JSON."""
        append(self.case(sender), path)

    @property
    def agrees(self) -> bool:
        """Whether every allocation was as predicted."""
        return self.verification is not None and self.verification.agree

    def __str__(self) -> str:
        levels = self.answer.levels
        lines = [
            f"allocated at most: predicted {levels.allocated:,}, was {self.allocated:,} bytes",
            f"reserved at most:  predicted {levels.reserved or 0:,}, was {self.reserved:,} bytes",
        ]
        more = str(self.verification or f"not compared: {self._lacking}")
        return "\n".join([*lines, more])
