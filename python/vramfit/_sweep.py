"""Many questions at once."""

from __future__ import annotations

import itertools
import json
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from vramfit import _core
from vramfit._bad_input import bad_input
from vramfit._keywords import OBJECTS, is_adapted, sizes, written
from vramfit._questions import flags_of

if TYPE_CHECKING:
    import pandas as pd

#: Points of one task: enough that handing it over costs nothing beside it.
_POINTS = 256
#: Rows of one table, of which each takes some 250 bytes.
_MOST = 10_000_000
#: Tasks that wait for each worker: a sweep of a million is not laid out at once.
_AHEAD = 4


def rows(flags: str, points: str) -> list[tuple[str, bool, list[int], str]]:
    """One task of a sweep, as a process of an executor runs it."""
    return _core.rows(flags, points)


def _is_axis(name: str, value: Any) -> bool:
    if name in OBJECTS:  # some of which can be iterated over: a PretrainedConfig has its keys
        return isinstance(value, (list, tuple, range))
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, os.PathLike))


def _listed(name: str, value: Iterable[Any]) -> list[Any]:
    """An axis's values, where they are no more than a table can have."""
    try:
        too_many = operator.length_hint(value) > _MOST
    except OverflowError:  # range(10**30)
        too_many = True
    values = [] if too_many else list(itertools.islice(value, _MOST + 1))
    if too_many or len(values) > _MOST:
        raise bad_input(f"{name}: more than {_MOST:,} values; sweep in parts")
    return values


def _chunks(points: Iterable[str]) -> Iterator[str]:
    """Lists of points as JSON."""
    rest = iter(points)
    while chunk := list(itertools.islice(rest, _POINTS)):
        yield "[" + ", ".join(chunk) + "]"


#: Counts and cards, of which what else objects say is the same whatever they are, as of sizes.
_PLAIN_AXES = {"accumulate", "generate", "gpu", "vram", "headroom"}


class _Points:
    """All combinations as JSON, the last axis fastest. Where one of them decides what objects mean,
    as the runtime does, or is of objects, each has all flags; otherwise all share `flags`."""

    def __init__(self, fixed: dict[str, Any], axes: dict[str, list[Any]]) -> None:
        self._fixed = fixed
        self._axes = axes
        of_objects = any(is_adapted(name, value) for name, value in fixed.items()) or any(
            is_adapted(name, value) for name, values in axes.items() for value in values
        )
        plain = _PLAIN_AXES | sizes()
        decide = [
            name
            for name, values in axes.items()
            if _core.own_flag(name) not in plain or any(value is None for value in values)
        ]
        self._deciding = tuple(decide) if of_objects else ()
        self._others = tuple(name for name in axes if name not in self._deciding)
        self.not_honoured: list[str] = []
        self.flags = "{}" if self._deciding else self._settled(())

    def _settled(self, chosen: tuple[Any, ...]) -> str:
        """All flags, where the deciding axes are at these values."""
        given = {**self._fixed, **dict(zip(self._deciding, chosen, strict=True))}
        flags, not_honoured = flags_of(given, self._others)
        self.not_honoured += [line for line in not_honoured if line not in self.not_honoured]
        return written(flags)

    def __iter__(self) -> Iterator[str]:
        texts = {
            name: [written({name: value})[1:-1] for value in self._axes[name]]
            for name in self._others
        }
        if not self._deciding:
            return ("{" + ", ".join(point) + "}" for point in itertools.product(*texts.values()))
        return self._whole(texts)

    def _whole(self, texts: dict[str, list[str]]) -> Iterator[str]:
        """A point that cannot be is why, as text."""
        settled: dict[tuple[int, ...], str] = {}
        for point in itertools.product(*(range(len(values)) for values in self._axes.values())):
            at = dict(zip(self._axes, point, strict=True))
            key = tuple(at[name] for name in self._deciding)
            if key not in settled:
                try:
                    chosen = (self._axes[name][at[name]] for name in self._deciding)
                    settled[key] = self._settled(tuple(chosen))
                except _core.BadInput as error:
                    settled[key] = json.dumps(str(error))
            if settled[key].startswith('"'):
                yield settled[key]
                continue
            parts = (settled[key][1:-1], *(texts[name][at[name]] for name in self._others))
            yield "{" + ", ".join(part for part in parts if part) + "}"


def _progress(total: int, shown: bool) -> Callable[[int], None]:
    """A bar on stderr: tqdm's where it is there, otherwise a line that counts."""
    if not shown or total <= _POINTS:
        return lambda done: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        done_so_far = 0

        def count(done: int) -> None:
            nonlocal done_so_far
            done_so_far += done
            end = "\n" if done_so_far == total else ""
            print(f"\rsweep: {done_so_far:,} of {total:,}", end=end, file=sys.stderr, flush=True)

        return count
    bar = tqdm(total=total, unit="runs", desc="sweep")

    def update(done: int) -> None:
        bar.update(done)
        if bar.n >= total:
            bar.close()

    return update


def _results(
    executor: Executor, flags: str, chunks: Iterator[str], workers: int
) -> Iterator[list[tuple[str, bool, list[int], str]]]:
    """In the order of the chunks, of which few are under way at a time."""
    waiting: list[Any] = []
    for chunk in chunks:
        waiting.append(executor.submit(rows, flags, chunk))
        if len(waiting) >= workers * _AHEAD:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def sweep(*, executor: Executor | None = None, progress: bool = True, **axes: Any) -> pd.DataFrame:
    """The table of all combinations: a row for each, in the order of the keywords, the last one
    fastest.

    Keywords are those of `estimate`; one that is a list, a range or another iterable is an axis and
    a column. Other columns: `verdict`, `fits`, `total` and `margin`, the levels, `overhead` and the
    components at the peak, all in bytes, and `error`: why a combination cannot be run; its figures
    are missing then. Names of LoRA's targets are one text, "q_proj,v_proj", so that a list of such
    is an axis. `.attrs["not_honoured"]` names what was given and does not count.

    Runs on all cores, or on `executor`, anything of the form of concurrent.futures.Executor: a
    process pool, Dask's `client.get_executor()`, Ray's. Needs pandas (`vramfit[sweep]`). Raises
    BadInput where a value can be no flag's; what else is wrong with one is in `error`.
    """
    try:
        import pandas as pd
    except ImportError:
        raise bad_input("sweep: needs pandas; pip install 'vramfit[sweep]'") from None
    lists = {name: _listed(name, value) for name, value in axes.items() if _is_axis(name, value)}
    total = math.prod(map(len, lists.values()))
    if total > _MOST:
        raise bad_input(f"sweep: {total:,} combinations; at most {_MOST:,}: in parts")
    points = _Points({name: axes[name] for name in axes if name not in lists}, lists)
    verdicts: list[str] = []
    fits: list[bool | None] = []
    errors: list[str] = []
    figures: list[list[int | None]] = [[] for _ in _core.columns]
    missing: list[int | None] = [None] * len(figures)
    tell = _progress(total, progress)
    workers = os.cpu_count() or 1
    own = ThreadPoolExecutor(workers) if executor is None else None
    try:
        for result in _results(own or executor, points.flags, _chunks(points), workers):  # type: ignore[arg-type]
            for verdict, fit, sizes, error in result:
                verdicts.append(verdict)
                fits.append(fit if verdict else None)
                errors.append(error)
                for column, size in zip(figures, sizes or missing, strict=True):
                    column.append(size)
            tell(len(result))
    finally:
        if own is not None:
            own.shutdown(cancel_futures=True)
    frame = pd.DataFrame(index=range(total))
    repeats = total
    for name, values in lists.items():
        repeats //= max(len(values), 1)
        positions = frame.index // repeats % len(values) if total else []
        frame[name] = pd.Series(values).take(positions).set_axis(frame.index)
    frame["verdict"] = verdicts
    frame["fits"] = fits
    for name, column in zip(_core.columns, figures, strict=True):
        frame[name] = pd.array(column, dtype="Int64")
    frame["error"] = errors
    frame.attrs["not_honoured"] = points.not_honoured
    return frame
