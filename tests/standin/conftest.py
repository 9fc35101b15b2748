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


@pytest.fixture
def as_rank(monkeypatch):
    """The environment that torchrun gives a rank."""

    def be(rank: int, ranks: int = 4) -> None:
        for name, value in {
            "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks,
            "MASTER_ADDR": "localhost", "MASTER_PORT": 29500,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, str(value))

    return be
