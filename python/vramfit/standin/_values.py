"""Values of small tensors: what a script reads back and branches on is what it would be.

Kernels do nothing on the stand-in. So each op whose tensors are all small is repeated on the host,
with the values that are known of its inputs, and what an op was not repeated for is unknown. An
unknown that is read gives a default, is from then on assumed, and is named in the answer.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import torch

from vramfit.standin._door import ANY_KIND, KNOWN, UNKNOWN, Door
from vramfit.standin._drawn import DRAWN, seed_generators
from vramfit.standin._guesses import GUESSES
from vramfit.standin._host import LARGE, Hollows
from vramfit.standin._linalg import LINALG
from vramfit.standin._on_host import OnHost
from vramfit.standin._ops import Op, Run, results, tensors_in
from vramfit.standin._origins import Origins
from vramfit.standin._outliers import Outliers
from vramfit.standin._sized import SIZED, NonZero
from vramfit.standin._twins import KINDS, Twins, is_small, is_weight
from vramfit.standin._watch import Watching, as_it_is, watch_everywhere

aten = torch.ops.aten

# They say how a tensor is kept, not what is in it.
_KEPT = {"set_", "resize_", "record_stream", "_pin_memory", "_assert_async", "_assert_scalar"}
_FRESH = {
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
}
_CHEAP = 64 << 10  # bytes of tensors whose products cost nothing
# So many reads of assumed values on one line, or in a row, and the script waits for what will never
# come.
_SPINNING = 200_000
_SPINNING_IN_A_ROW = 10_000


class SpinsOnUnknownError(RuntimeError):
    """The script waits for a value that nobody computes."""


class Values(Watching):
    """Repeats on the host what it can."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self.door = door
        self.twins = Twins(door)
        self.hollows = Hollows(door)
        self.reads: Counter[str] = Counter()
        self._ops: dict[int, Op] = {}  # by their functions' ids
        self._op_before: Op | None = None
        self._op: Op | None = None
        self._last_read = self._reads_in_a_row = 0
        ways = SIZED | GUESSES | LINALG | DRAWN
        self._own_ways: dict[str, Run] = {
            **dict.fromkeys(_KEPT, as_it_is),
            **dict.fromkeys(_FRESH, self.not_repeated),
            **{name: partial(way, self) for name, way in ways.items()},
            "bitsandbytes::int8_vectorwise_quant": partial(Outliers().quantized, self),
            "set_": self.hollows.adopted,
            "_pin_memory": self.hollows.pinned,
            "_to_copy": self._copied,
            "copy_": self._copied,
            "_local_scalar_dense": self._read_number,
            "equal": self._compared,
        }
        self._random = torch.Generator()
        self._random.manual_seed(0)

    def way(self, func: Any) -> Run:
        op = self._ops.get(id(func)) or self._met(func)
        self._op_before, self._op = self._op, op
        return op.way

    def _met(self, func: Any) -> Op:
        op = self._ops[id(func)] = Op(func)
        op.way = self._way_of(op)
        return op

    def _way_of(self, op: Op) -> Run:
        if not op.has_schema or op.is_view or op.library == "c10d":
            return as_it_is
        if op.library not in ("aten", "prims"):
            return self._own_ways.get(f"{op.library}::{op.name}", self.not_repeated)
        return self._own_ways.get(op.name, self.repeated)

    def unseen(self, result: torch.Tensor) -> None:
        self.twins.forget(result)

    def backward_unseen(self) -> None:
        self.door.forget_floats()

    # Ways to run an op.

    def not_repeated(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        self._forget(results(result), self._ops[id(func)].written(args, kwargs))
        return result

    def _forget(self, outputs: list[torch.Tensor], written: list[torch.Tensor]) -> None:
        for tensor in outputs + _without(written, outputs) if written else outputs:
            if tensor.is_cuda:
                self.twins.forget(tensor)

    def repeated(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """On the host too, where all tensors are small, and not all that it gives hangs on
        floating-point numbers that nobody knows."""
        op = self._ops[id(func)]
        on_gpu, bytes_ = [], 0
        for tensor in tensors_in((*args, *kwargs.values()) if kwargs else args):
            if tensor.is_cuda:
                if not is_small(tensor) or is_weight(tensor):
                    return self.not_repeated(func, args, kwargs)
                on_gpu.append(tensor)
                bytes_ += tensor.nbytes
        if not on_gpu and not _makes_on_gpu(kwargs):
            return self.hollows.on_host(func, args, kwargs, random=op.is_random)
        if bytes_ > _CHEAP and op.is_dear:
            return self.not_repeated(func, args, kwargs)
        result = func(*args, **kwargs)
        outputs = results(result)
        written = op.written(args, kwargs)
        read = _without(on_gpu, written) if op.overwrites else on_gpu
        if not op.shapes_alone and _are_floats(outputs, written) and self._is_unknown(read):
            self._forget(outputs, written)
        else:
            self._repeat(op, args, kwargs, outputs, written)
        return result

    def _is_unknown(self, tensors: list[torch.Tensor]) -> bool:
        """Whether there are floating-point numbers that nobody knows."""
        for tensor in tensors:
            if KINDS[tensor.dtype].is_float and self.twins.knowledge(tensor) == UNKNOWN:
                return True
        return False

    def _repeat(
        self,
        op: Op,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: list[torch.Tensor],
        written: list[torch.Tensor],
    ) -> None:
        if not all(is_small(output) for output in outputs if output.is_cuda):
            return self._forget(outputs, written)
        on_host = OnHost(op, written, self.twins, self._random)
        try:
            host = results(on_host.run(op.func, args, kwargs))
        except Exception as error:
            if _has_no_kernel(error):
                op.way = self.not_repeated
            return self._forget(outputs, written)
        for output, value in zip(outputs, host, strict=False):
            if not any(output is tensor for tensor in written):
                self._give(output, value, on_host.level)
        for tensor in written:
            if tensor.is_cuda:
                self.twins.note(tensor, on_host.level)
        return None

    def _give(self, output: torch.Tensor, value: torch.Tensor, level: int) -> None:
        """An op's output, the value that the host computed for it."""
        if not output.is_cuda:
            if output is not value:
                output.copy_(value)
        elif output.shape == value.shape:
            self.twins.write(output, value, level)
        else:
            self.twins.forget(output)

    def _copied(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Between host and GPU. Within either it is an op like others."""
        makes = func is aten._to_copy.default
        source = args[0 if makes else 1]
        to_gpu = _goes_to_gpu(source, kwargs) if makes else args[0].is_cuda
        fills = not isinstance(source, torch.Tensor)  # a number, as copy_() takes one, too
        if not fills and source.layout is not torch.strided:
            return self.not_repeated(func, args, kwargs)
        if fills or source.is_cuda == to_gpu:
            return self.repeated(func, args, kwargs)
        if source.is_cuda:
            self.hollows.copied()
        if not is_small(source):
            result = self.hollows.moved(func, args, kwargs)
            if to_gpu:
                self.twins.forget(result)
            return result
        if source.is_cuda and self.hollows.is_saving:
            copied = self._as_bytes if source.nbytes < LARGE else self.hollows.moved
            return copied(func, args, kwargs)
        result = func(*args, **kwargs)
        target = result if makes else args[0]
        if target.dtype is torch.uint8 and to_gpu:
            return result  # a storage's bytes, whose numbers are of any kind: they were copied
        if not to_gpu:
            if is_small(source):
                target.copy_(self.read(source))
        elif is_small(target) and is_small(source):
            self.twins.write(target, source)
        else:
            self.twins.forget(target)
        return result

    def _as_bytes(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a file gets of a GPU's small tensor: nothing is assumed for it."""
        source = args[0 if func is aten._to_copy.default else 1]
        known = self.door.known(source.data_ptr(), source.nbytes, ANY_KIND) != UNKNOWN
        return (as_it_is if known else self.hollows.moved)(func, args, kwargs)

    def _read_number(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args[0].is_cuda:
            return func(*args, **kwargs)
        func(*args, **kwargs)
        return func(self.read(args[0]))

    def _compared(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first, second = args
        if not first.is_cuda or not (is_small(first) and is_small(second)):
            return func(*args, **kwargs)
        func(*args, **kwargs)
        return torch.equal(self.read(first), self.read(second))

    # What handlers of single ops need.

    def read(self, tensor: torch.Tensor) -> torch.Tensor:
        """The values that the script reads; where they are assumed, that is counted."""
        values, level = self.twins.values(tensor)
        if level != KNOWN:
            place = _place()
            self.reads[place] += 1
            same = self._op is self._op_before and tensor.data_ptr() == self._last_read
            self._reads_in_a_row = self._reads_in_a_row + 1 if same else 0
            self._last_read = tensor.data_ptr()
            if self.reads[place] > _SPINNING or self._reads_in_a_row > _SPINNING_IN_A_ROW:
                raise SpinsOnUnknownError(
                    f"{place} has read {self.reads[place]:,} values that only a GPU computes: it"
                    " waits for what will never come"
                )
        return values


def _are_floats(outputs: list[torch.Tensor], written: list[torch.Tensor]) -> bool:
    """Whether all that an op gives are floating-point numbers of a GPU's."""
    for tensor in outputs + written if written else outputs:
        if not (tensor.is_cuda and KINDS[tensor.dtype].is_float):
            return False
    return True


def _has_no_kernel(error: Exception) -> bool:
    """Whether the host never runs the op: otherwise it is these numbers that it refused."""
    return isinstance(error, NotImplementedError) or any(
        words in str(error) for words in ("not implemented for", "not supported on CPU")
    )


def _without(tensors: list[torch.Tensor], others: list[torch.Tensor]) -> list[torch.Tensor]:
    if not tensors or not others:
        return tensors
    ids = {id(other) for other in others}
    return [tensor for tensor in tensors if id(tensor) not in ids]


def _makes_on_gpu(kwargs: dict[str, Any]) -> bool:
    device = kwargs.get("device")
    return device is not None and torch.device(device).type == "cuda"


def _goes_to_gpu(source: torch.Tensor, kwargs: dict[str, Any]) -> bool:
    return _makes_on_gpu(kwargs) if kwargs.get("device") is not None else source.is_cuda


def _place() -> str:
    """The line of the script, or of a library, that reads: the nearest outside of torch."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("torch.", "vramfit.")) and name != "torch":
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_values: Values | None = None


def keep_values(door: Door) -> Values:
    """From now on, in every thread of the process."""
    global _values  # noqa: PLW0603  one a process
    _values = Values(door)
    watch_everywhere(_values)
    if hasattr(torch.library, "get_kernel"):  # of PyTorch 2.9 on
        NonZero(_values)
    seed_generators()
    return _values


def name_ops(origins: Origins) -> None:
    """From now on what ops allocate is theirs by name."""
    if _values is not None:
        _values.names = origins


def hollows() -> Hollows:
    """There are some from keep_values() on."""
    assert _values is not None
    return _values.hollows


def host() -> dict[str, int]:
    """Bytes of the host's memory at most: what this process wrote, `resident`, and what it only
    reserved where a real run writes, `hollow`."""
    status = Path("/proc/self/status").read_text().splitlines()
    most = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
    return {"resident": int(most) << 10, "hollow": _values.hollows.peak if _values else 0}


def assume(what: str) -> None:
    """What is taken for granted otherwise than by a read; assumptions() has it from then on."""
    if _values is not None:
        _values.reads[what] += 1


def assumptions() -> list[dict[str, Any]]:
    """What was read without being known: where, and how often; the most frequent first."""
    if _values is None:
        return []
    return [{"what": place, "times": times} for place, times in _values.reads.most_common()]
