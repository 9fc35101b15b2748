"""python -m vramfit_plots.accuracy_report: predictions of PyTorch held against measurements."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots.accuracy import run
from vramfit_plots.accuracy.cases import recorded
from vramfit_plots.accuracy.comparison import compare
from vramfit_plots.command_line import Arguments, program, say
from vramfit_plots.figures import style
from vramfit_plots.files import data_dir, writing
from vramfit_plots.tables import text_table, write_fragments
from vramfit_plots.topics import accuracy


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    what = __doc__.split(": ", 1)[1]
    parser = Arguments(prog="python -m vramfit_plots.accuracy_report", description=what)
    parser.path("--fit", Path("build/fit"), "")
    parser.path("--out", Path("build/accuracy"), "a folder")
    measured = "a file of measured cases, or a folder of such files (default: reference in --data)"
    parser.path("--reference", None, measured)
    parser.path("--data", data_dir(), "the project's data folder")
    return parser.parse_args(argv)


@program("accuracy")
def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    reference, out = arguments.reference, arguments.out
    comparison = compare(arguments.fit, arguments.data, reference)
    built, several = accuracy.tables(comparison), None
    if reference is None and recorded(arguments.data / "reference", several_gpus=True).cases:
        several = compare(arguments.fit, arguments.data, several_gpus=True)
        built.append(accuracy.of_several_gpus(several))
    command = "make accuracy" + (f" REFERENCE={reference}" if reference else "")
    kept = run.document(comparison, command, several)
    with writing(), style.styled():
        picture = accuracy.picture(comparison)
        write_fragments(built, out)
        run.write(kept, out / "run.json")
        picture.write(out)
    # What is said in all stands last, where a terminal shows it.
    say("\n".join(text_table(table) for table in reversed(built)))
    say(f"Predicted without a GPU; measured with {comparison.environment}.\n")
    say(f"Tables and picture lie in {out}: {out / picture.key}.png")
    say(f"As a run for build/compare it is {out / 'run.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
