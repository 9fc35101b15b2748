"""A comparison for people: on a terminal, or as Markdown in a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vramfit._compare._answers import Json

_LINES = 10  # of a stage
_SMALL = 512  # bytes: the smallest block of PyTorch's allocator
_WIDE = 100  # letters


def table(told: Json) -> str:
    """As a terminal shows it."""
    return "\n".join(_table_lines(told)) + "\n"


def _table_lines(told: Json) -> Iterator[str]:
    for row in told["rows"]:
        yield f"{row['name']}: {_outcome(row)}"
        for fact, (old, new) in row["facts"].items():
            yield f"  {fact}: {old or 'none'} → {new or 'none'}"
        moved = [level for level in row["levels"] if level["old"] != level["new"]]
        if moved:
            yield f"  {'':<24}{'old, GB':>12}{'new, GB':>12}"
        for level in moved:
            yield (
                f"  {level['name']:<24}{_gb(level['old']):>12}{_gb(level['new']):>12}"
                f"{_signed(level):>20} B  {level['outcome']}"
            )
        for stage, lines in _stages(row):
            yield f"  {stage}"
            for line in lines:
                yield f"    {_signed(line):>18} B  {_what(line)}"
                if line["text"]:
                    yield f"{'':26}{_cut(line['text'], _WIDE - 26)}"
        yield ""
    yield _sum(told)


def markdown(told: Json) -> str:
    """Tables of GitHub's."""
    return "\n".join(_markdown_lines(told)).replace("\n\n\n", "\n\n") + "\n"


def _markdown_lines(told: Json) -> Iterator[str]:
    yield f"### GPU memory: {_sum(told)}"
    for row in told["rows"]:
        yield f"\n**{_cell(row['name'])}**: {_outcome(row)}"
        if row["facts"]:
            yield ""
        for fact, (old, new) in row["facts"].items():
            yield f"- {fact}: {_cell(old) or 'none'} → {_cell(new) or 'none'}"
        if row["levels"]:
            yield "\n| | old, GB | new, GB | bytes | |\n|---|---:|---:|---:|---|"
        for level in row["levels"]:
            yield (
                f"| {level['name']} | {_gb(level['old'])} | {_gb(level['new'])} | {_signed(level)} "
                f"| {level['outcome']} |"
            )
        for stage, lines in _stages(row):
            yield f"\n{stage}\n"
            if lines:
                yield "| bytes | | code |\n|---:|---|---|"
            for line in lines:
                text = f"`{_cell(line['text']).replace('`', chr(39))}`" if line["text"] else ""
                yield f"| {_signed(line)} | {_cell(_what(line))} | {text} |"


def _stages(row: Json) -> Iterator[tuple[str, list[Json]]]:
    """Each stage that moved in words, and the lines of it that none before it had as well."""
    shown: set[tuple[str, ...]] = set()
    for stage in row["moved"]:
        step = f" of step {stage['step'][1]}" if stage["step"][1] else ""
        old, new = stage["peak"]
        head = f"at the peak of {stage['stage']}{step}, {_number(new - old)} B:"
        if stage["lines"] is None:
            yield f"{head} which lines, this PyTorch does not tell", []
            continue
        rest = new - old - sum(line["new"] - line["old"] for line in stage["lines"])
        lines = [line for line in stage["lines"] if _identity(line) not in shown]
        shown |= {_identity(line) for line in lines}
        small = [line for line in lines if abs(line["new"] - line["old"]) <= _SMALL]
        lines = [line for line in lines if line not in small]
        if stage["lines"] and not lines and not small:
            head += " the same lines"
        elif len(lines) > _LINES:
            head += f" the {_LINES} lines of {len(lines)} that moved most"
        others = [_folded(small)] if small else []
        yield head, [*lines[:_LINES], *others, *([_unsplit(rest)] if rest else [])]


def _folded(lines: list[Json]) -> Json:
    """Lines of so little that they are noise to a reader, as one."""
    told = f"{len(lines)} line{'s' * (len(lines) > 1)} of at most {_SMALL} B each"
    return {
        **_BARE,
        "component": told,
        **{key: sum(line[key] for line in lines) for key in ("old", "new")},
    }


#: A line that is none of the code's.
_BARE = {"text": "", "in_backward": False, "line": "", "script": ""}


def _unsplit(rest: int) -> Json:
    """A line of what no tensor asked for: blocks that are larger than what lies in them."""
    return {**_BARE, "component": "rounding", "old": max(-rest, 0), "new": max(rest, 0)}


def _identity(line: Json) -> tuple[str, ...]:
    keys = ("component", "in_backward", "line", "script", "old", "new")
    return tuple(str(line[key]) for key in keys)


def _what(line: Json) -> str:
    component: str = line["component"].replace("_", " ")
    if component == "rounding":
        return "rounding, in blocks that the allocator does not split"
    if " at most " in component:
        return component
    where = "no line of Python"
    if line["line"]:
        where = "/".join(line["line"].split("/")[-2:])
        script = Path(line["script"]).name
        if line["script"] == line["line"]:
            where = script
        elif script:
            where += f" from {script}"
    gone = ", gone" if line["new"] == 0 else ", new" if line["old"] == 0 else ""
    return f"{component}, {'backward of ' * line['in_backward']}{where}{gone}"


def _outcome(row: Json) -> str:
    return f"{row['outcome']}: {row['why']}" if row["why"] else str(row["outcome"])


def _sum(told: Json) -> str:
    counts: dict[str, int] = {}
    for row in told["rows"]:
        counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{'passes' if told['passes'] else 'fails'} ({counted})"


def _signed(pair: Json) -> str:
    return _number(pair["new"] - pair["old"])


def _number(difference: int) -> str:
    return f"{difference:+,}".replace("-", "\N{MINUS SIGN}") if difference else "0"


def _gb(size: int) -> str:
    return f"{size / 1e9:.3f}"


def _cut(text: str, wide: int) -> str:
    return text if len(text) <= wide else text[: wide - 1] + "…"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


FORMATS: Iterable[str] = ("table", "markdown", "json")
