"""What several of these tests want."""

from functools import partial

import pytest
from stood_in import forked, run_script


@pytest.fixture
def run(tmp_path):
    """run_script, in the test's own folder."""
    return partial(run_script, tmp_path)


@pytest.fixture
def run_forked(tmp_path):
    """The same where how Python and torch begin is not what is tested."""
    return partial(run_script, tmp_path, before=(forked(),))
