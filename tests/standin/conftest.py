"""What several of these tests want."""

from functools import partial

import pytest
from stood_in import run_script


@pytest.fixture
def run(tmp_path):
    """run_script, in the test's own folder."""
    return partial(run_script, tmp_path)
