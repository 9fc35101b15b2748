"""Row names as `bench` writes them: "Training/llama2-7b/fp16/adamw/batch:4/seq:512"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vramfit_plots.errors import BadInputError
from vramfit_plots.units import times

_NUMBER = re.compile("[0-9]{1,12}")


@dataclass(frozen=True)
class RowName:
    family: str
    axes: Mapping[str, str]  # those that the name has, in its order: "model", "batch"

    def text(self, axis: str) -> str:
        if axis not in self.axes:
            raise BadInputError(f"row '{self.family}/{'/'.join(self.axes.values())}': no {axis}")
        return self.axes[axis]

    @property
    def size(self) -> str:
        """Batch and length, times each other."""
        return times(self.text("batch"), self.text("seq"))

    def number(self, axis: str) -> int:
        text = self.text(axis)
        if not _NUMBER.fullmatch(text):
            raise BadInputError(f"row '{self.family}/…': {axis}: is '{text}'; expected is a number")
        return int(text)


def family(name: str) -> str:
    return name.partition("/")[0]


def parse(name: str, axes: Sequence[str]) -> RowName:
    """`axes` is bench's list. "batch:4" names its axis; values without a key belong to the axes
    without one, in their order."""
    parts = name.split("/")[1:]
    alone = [axis for axis in axes if not axis.endswith(":")]
    values = dict(zip(alone, (part for part in parts if ":" not in part), strict=False))
    keyed = dict(part.split(":", 1) for part in parts if ":" in part)
    return RowName(family(name), {**values, **keyed})
