"""`fit --runtime pytorch` against every measured case of data/reference."""

import pytest
from built import fit
from vramfit_plots.accuracy.bounds import BOUNDS
from vramfit_plots.accuracy.comparison import Comparison, compare
from vramfit_plots.files import data_dir


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(fit(), data_dir())


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.figure}: {bound.text}")
def test_predictions_are_as_good_as_they_have_been(comparison, bound):
    figures = comparison.figures[comparison.figures["kind"] == bound.figure]
    worst = figures.loc[figures["error"].abs().idxmax()]
    assert bound.kept(figures["error"]), (
        f"{bound.value(figures['error']):+.2%}; worst: {comparison.cases[worst.case].title}, "
        f"{worst.stage}: predicted {worst.predicted:,}, measured {worst.measured:,}"
    )


def test_models_have_the_parameters_that_were_counted(comparison):
    for case, prediction in zip(comparison.cases, comparison.predictions, strict=True):
        assert prediction.parameters == case.parameters, case.title
