"""The report's chapter on PyTorch."""

from vramfit_plots.accuracy import figure, tables
from vramfit_plots.errors import AbsentError
from vramfit_plots.figures.picture import Picture
from vramfit_plots.inputs import Inputs
from vramfit_plots.tables.table import Table


def build(inputs: Inputs) -> list[Table]:
    return tables.build(inputs.accuracy) if inputs.accuracy else []


def draw(inputs: Inputs) -> Picture:
    if inputs.accuracy is None:
        raise AbsentError("predictions of PyTorch: --fit names the program")
    return figure.draw(inputs.accuracy)
