"""Signs behind figures that are not quite what their column says, and what the signs say."""

from vramfit_plots.cells import Cell
from vramfit_plots.sources import Source
from vramfit_plots.units import MISSING

_SIGNS = "†‡§¶"  # then doubled, tripled …, as printers do


class Footnotes:
    """Of one table: the same remark has the same sign."""

    def __init__(self) -> None:
        self._signs: dict[str, str] = {}

    def signed(self, figure: str, remark: str) -> str:
        times, which = divmod(len(self._signs), len(_SIGNS))
        sign = self._signs.setdefault(remark, _SIGNS[which] * (times + 1))
        return f"{figure}\N{NARROW NO-BREAK SPACE}{sign}"

    def of(self, cell: Cell, source: Source) -> str:
        """The source's figure with what is said below it, or that there is none."""
        note, text = cell.notes.get(source.key), cell.text(source)
        if note and cell.has(source):
            text = self.signed(text, note)
        return _with_below(text, cell, source)

    def best(self, cell: Cell, source: Source) -> str:
        """The source's figure, or the next best with a remark that says whose it is."""
        other = cell.best(source)
        if other is None:
            return self.signed(MISSING, cell.missing) if cell.missing else MISSING
        if other is source:
            return self.of(cell, source)
        note = cell.notes.get(other.key)
        remark = f"{other.heading}, {note}" if note else other.heading
        return _with_below(self.signed(cell.text(other), remark), cell, other)

    @property
    def text(self) -> str:
        """A sentence for each sign."""
        return " ".join(f"{sign} {remark}." for remark, sign in self._signs.items())


def _with_below(text: str, cell: Cell, source: Source) -> str:
    said = cell.below.get(source.key)
    return f"{text}\n{said}" if said else text
