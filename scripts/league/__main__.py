"""make league: what others measured on their own cards and published, and what vramfit says of the
same question.

Writes league.md, docs/league.md's tables, league.png and .svg, which is plots/pictures/league.png
then, answers.jsonl and overheads.json, which are data/league/answers.jsonl and data/overheads.json
once they are committed, into --out. Fails
where an answer is further off than data/league/answers.jsonl says it was.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from programs import ROOT, Arguments, file_or_folder, program, read_json, writing
from vramfit_plots.catalogues import load_cards
from vramfit_plots.figures import style
from vramfit_plots.tables import Table, markdown_fragment, text_table

from league import contradictions, overheads, picture, ranges, table
from league.asking import ask
from league.rows import asked, every_row, words
from league.scores import Score, answers, kept, scores, worse


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(
        prog="make league",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out = ROOT / "build" / "league"
    parser.add_argument("--out", type=file_or_folder, default=out, help="a folder")
    return parser.parse_args(argv)


def _markdown(tables: Sequence[Table], contradicting: Sequence[str]) -> str:
    parts = [f"## {built.title}\n\n{markdown_fragment(built)}" for built in tables]
    odd = "\n".join(f"- {line}" for line in contradicting)
    return "\n".join([*parts, f"## Rows that contradict each other, or arithmetic\n\n{odd}\n"])


def _write(
    out: Path, found: Sequence[Score], told: str, drawn: picture.Picture, overhead: str
) -> None:
    with writing(), style.styled():
        out.mkdir(parents=True, exist_ok=True)
        drawn.write(out)
        (out / "league.md").write_text(told, encoding="utf-8")
        lines = "".join(json.dumps(line) + "\n" for line in answers(found))
        (out / "answers.jsonl").write_text(lines, encoding="utf-8")
        (out / "overheads.json").write_text(overhead, encoding="utf-8")


@program("league")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    rows = every_row()
    said, seconds = ask(asked(rows))
    found = scores(asked(rows), said)
    cards = load_cards(ROOT / "data" / "gpus.json")
    catalogue = read_json(ROOT / "data" / "gpus.json")["cards"]
    titles = {name: cards[name].title for name in cards}
    explained = words()
    tables = [
        table.by_source(found, titles),
        table.by_figure(found),
        table.causes(found, explained),
        table.unasked(rows, explained),
        overheads.drivers(cards),
        ranges.table(cards, catalogue),
        overheads.beside_allocator(overheads.cases()),
    ]
    contradicting = contradictions.every(rows, found, cards)
    with style.styled():
        drawn = picture.draw(found, titles)
    overhead = ranges.spelt(ranges.document(catalogue, cards))
    _write(given.out, found, _markdown(tables, contradicting), drawn, overhead)
    print("\n".join(map(text_table, tables)))
    print("Rows that contradict each other, or arithmetic\n")
    print("\n".join(f"  {line}" for line in contradicting))
    print(f"\n{len(rows)} rows, {len(found)} asked, in {seconds:.1f} s")
    further_off = worse(kept(), found)
    if further_off:
        print("Further off than it was:\n" + "\n".join(further_off), file=sys.stderr)
    return 1 if further_off else 0


if __name__ == "__main__":
    sys.exit(main())
