"""The table of docs/breadth.md: a row a type."""

from collections.abc import Iterable, Sequence

from vramfit_plots.tables import Table

from breadth.lines import PARTS, Line, failures


def _parts(line: Line) -> Iterable[str]:
    for part in PARTS:
        if line[part]["runs"]:
            yield "yes" if line["precision"] == "bf16" else f"in {line['precision']}"
        else:
            yield "no" if line[part]["on_cpu"] is not None else "not here"


def why(line: Line) -> str:
    """What stopped it, once where both parts say the same."""
    told: list[str] = []
    for part in failures(line):
        found = line[part]
        error = found["error"].replace("StandInError: transformers refuses: ", "")
        where = "; on a CPU too" if found["on_cpu"] is not None else "; on a CPU it runs"
        if error + where not in told:
            told.append(error + where)
    return "\n".join(told)


def _assumed(line: Line) -> str:
    """What generate() itself reads, whether all sequences ended, is left out: every type has it."""
    told = {each for part in PARTS for each in line[part].get("assumed", ())}
    names = {each.rpartition("/")[2] for each in told if "generation/" not in each}
    return "\n".join(sorted(names))


def build(lines: Sequence[Line]) -> Table:
    return Table(
        key="breadth",
        title="Types of causal language models, trained and generated from on the stand-in",
        headings=["type", "training", "generation", "where it stops", "values assumed at"],
        rows=[[line["type"], *_parts(line), why(line), _assumed(line)] for line in lines],
        note=f"{summary(lines)}.",
        command="make breadth",
        text_columns=frozenset(range(1, 5)),
    )


def summary(lines: Sequence[Line]) -> str:
    """How many run."""
    count = len(lines)
    trained, generated = (sum(line[part]["runs"] for line in lines) for part in PARTS)
    both = sum(not failures(line) for line in lines)
    return f"{both} of {count} types run: {trained} train, {generated} generate"
