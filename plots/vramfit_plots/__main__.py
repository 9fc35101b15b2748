"""python -m vramfit_plots: writes the report of a benchmark run."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots.command_line import Arguments, program, say
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import load_inputs
from vramfit_plots.report import write_report
from vramfit_plots.run import newest_comparison, newest_run
from vramfit_plots.sources import BY_KEY, COUNTED, MEASURED


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(prog="python -m vramfit_plots", description=__doc__)
    made = "what build/bench wrote with --benchmark_out_format=json"
    parser.path("--run", Path("build/report/bench.json"), made)
    beside = "a measured run to set beside it (default: the newest of data/runs, if there is one)"
    parser.path("--measured", None, beside)
    parser.path("--fit", None, "the program whose predictions of PyTorch are held against it")
    parser.add_argument(
        "--source",
        choices=[source.key for source in COUNTED],
        default=MEASURED.key,
        help="whose figures stand in the article's own tables (%(default)s)",
    )
    parser.path("--out", Path("build/report"), "a folder")
    parser.path("--data", data_dir(), "the project's data folder")
    return parser.parse_args(argv)


@program("vramfit_plots")
def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    measured = arguments.measured or newest_run(arguments.data / "runs")
    comparison = newest_comparison(arguments.data / "runs")
    inputs = load_inputs(
        arguments.run,
        arguments.data,
        measured,
        comparison=comparison,
        fit=arguments.fit,
        kept=arguments.data / "runs",
        source=BY_KEY[arguments.source],
    )
    page = write_report(inputs, arguments.out)
    say(f"The report lies in {arguments.out}: open {page}")
    if inputs.history:
        say(f"The kept runs over time: {page.with_name('history.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
