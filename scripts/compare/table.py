"""The comparison as a text: each case, ours first, PyTorch's with ours over theirs."""

from collections.abc import Mapping
from typing import Any

from compare.cases import MODES

_GB = 1e9
_NAME, _FIGURE, _RATIO = 16, 12, 8
_COLUMNS = {
    "tokens_per_second": ("tokens/s", lambda value: f"{value:,.0f}"),
    "allocated": ("allocated", lambda value: f"{value / _GB:.1f}"),
    "reserved": ("reserved", lambda value: f"{value / _GB:.1f}"),
    "device_used": ("device used", lambda value: f"{value / _GB:.1f}"),
}
_LEGEND = (
    "Peaks in GB (1e9 bytes). In brackets: ours over PyTorch's. Above 1 is faster, below 1 less "
    "memory."
)


def ratio(ours: Mapping[str, Any], theirs: Mapping[str, Any], figure: str) -> float | None:
    """Ours over theirs, where both have the figure."""
    if not ours.get(figure) or not theirs.get(figure):
        return None
    return ours[figure] / theirs[figure]


def why_no_figures(result: Mapping[str, Any]) -> str:
    """In words; "" where the side has figures."""
    if "oom" in result:
        return f"out of memory: {result['oom']}" if result["oom"] else "out of memory"
    return f"failed: {result['error']}" if "error" in result else ""


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _line(name: str, result: Mapping[str, Any], ours: Mapping[str, Any] | None) -> str:
    line = f"  {name:<{_NAME}}"
    if why := why_no_figures(result):
        width = (_FIGURE + _RATIO) * len(_COLUMNS)
        return line + "  " + _shortened(why, width)
    for figure, (_, form) in _COLUMNS.items():
        value = result.get(figure)
        line += f"{'-' if value is None else form(value):>{_FIGURE}}"
        share = ratio(ours, result, figure) if ours is not None else None
        line += f"{'' if share is None else f' ({share:.2f})':<{_RATIO}}"
    return line.rstrip()


def case_text(entry: Mapping[str, Any]) -> str:
    """One case, as far as it has been run."""
    ours = entry["vramfit"]
    lines = [entry["title"], _line("vramfit", ours, None)]
    lines += [_line(MODES[mode], entry[mode], ours) for mode in MODES if mode in entry]
    return "\n".join(lines)


def _versions(context: Mapping[str, str]) -> str:
    return (
        f"{context['gpu']}, driver {context['driver']}, CUDA {context['cuda']}: "
        f"vramfit {context['commit']} beside PyTorch {context['torch']}, "
        f"transformers {context['transformers']}"
    )


def table_text(comparison: Mapping[str, Any]) -> str:
    heads = "".join(f"{head:>{_FIGURE}}{'':<{_RATIO}}" for head, _ in _COLUMNS.values())
    parts = [
        _versions(comparison["context"]),
        (" " * (_NAME + 2) + heads).rstrip(),
        *(case_text(entry) for entry in comparison["cases"]),
        _LEGEND,
    ]
    return "\n\n".join(parts)
