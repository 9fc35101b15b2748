"""python -m vramfit_plots: writes the report of a benchmark run."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from vramfit_plots.errors import BadInputError
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import load_inputs
from vramfit_plots.report import write_report
from vramfit_plots.run import newest_comparison, newest_run

_EXIT_BAD_INPUT = 2


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vramfit_plots", description=__doc__)
    parser.add_argument(
        "--run",
        type=Path,
        default=Path("build/report/bench.json"),
        help="what build/bench wrote with --benchmark_out_format=json (%(default)s)",
    )
    parser.add_argument(
        "--measured",
        type=Path,
        help="a measured run to set beside it (default: the newest of data/runs, if there is one)",
    )
    parser.add_argument(
        "--fit", type=Path, help="the program whose predictions of PyTorch are held against it"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/report"), help="a folder (%(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, default=data_dir(), help="the project's data folder (%(default)s)"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    try:
        measured = arguments.measured or newest_run(arguments.data / "runs")
        comparison = newest_comparison(arguments.data / "runs")
        inputs = load_inputs(
            arguments.run, arguments.data, measured, comparison=comparison, fit=arguments.fit
        )
        page = write_report(inputs, arguments.out)
    except BadInputError as error:
        print(f"vramfit_plots: error: {error}", file=sys.stderr)
        return _EXIT_BAD_INPUT
    print(f"The report lies in {arguments.out}: open {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
