import pytest
import synthetic
from vramfit_plots.files import data_dir
from vramfit_plots.inputs import Inputs, load_inputs


def _inputs(folder, content) -> Inputs:
    return load_inputs(synthetic.write(folder / "bench.json", content), data_dir())


@pytest.fixture(scope="session")
def inputs(tmp_path_factory) -> Inputs:
    """The default sweep, predicted."""
    return _inputs(tmp_path_factory.mktemp("predicted"), synthetic.document())


@pytest.fixture(scope="session")
def measured(tmp_path_factory) -> Inputs:
    """The same on a GPU: each measured figure 1 MB above its prediction."""
    return _inputs(tmp_path_factory.mktemp("measured"), synthetic.document(measured=True))


@pytest.fixture(scope="session")
def poor(tmp_path_factory) -> Inputs:
    """A run of one row that no table asks for."""
    content = synthetic.document()
    row = {
        "family": "Training",
        "model": "gpt2-1.5b",
        "precision": "bf16",
        "optimizer": "sgd",
        "batch": "1",
        "seq": "64",
    }
    content["benchmarks"] = [synthetic.benchmark(row, measured=False)]
    return _inputs(tmp_path_factory.mktemp("poor"), content)
