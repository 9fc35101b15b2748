"""pytest's plugin: marked tests run on a GPU that is not there."""

import json
from xml.etree import ElementTree

import pytest
from stood_in import needs_torch
from with_pytest import pytest_packages, run_pytest

pytestmark = needs_torch

TESTS = """
import os

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def of_module():
    yield
    with open("order", "a") as file:
        file.write("module over\\n")


@pytest.fixture(scope="class")
def of_class():
    yield
    with open("order", "a") as file:
        file.write("class over\\n")


def train(width, steps):
    model = torch.nn.Linear(width, width).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        model(torch.randn(64, width, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return steps


class TestUnmarked:
    def test_it_sees_no_gpu(self, of_class):
        assert not torch.cuda.is_available()


@pytest.mark.vram(gpu="rtx4090", max="2GB")
@pytest.mark.parametrize("width", [100, 10_000], ids=["small", "large"])
def test_max(width):
    print("of the test")
    assert train(width, 5) == 5  # it is not ended where nothing grows any more


@pytest.mark.vram(vram="3GB", steps=2)
def test_steps():
    train(100, 10**9)


@pytest.mark.vram(vram="3GB")
def test_runs_out():
    train(20_000, 1)


@pytest.mark.vram(gpu="rtx4090")
def test_asserts():
    assert train(100, 1) == 2


@pytest.mark.vram(gpu="rtx4090")
def test_nothing_on_the_gpu():
    pass


@pytest.mark.vram(gpu="rtx4090")
@pytest.mark.skipif("torch.cuda.is_available()", reason="it is there")
def test_skipped():
    pass


@pytest.mark.vram(gpu="rtx4090")
def test_dies():
    train(100, 1)
    os._exit(7)
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked")
    (folder / "test_it.py").write_text(TESTS)
    packages = pytest_packages(folder / "packages")
    ran = run_pytest(folder, packages, "--junitxml=it.xml", "--vram-json=took", "test_it.py")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    ran.folder = folder
    ran.cases = {
        case.get("name"): case for case in ElementTree.parse(folder / "it.xml").iter("testcase")
    }
    return ran


def told(session, name):
    """What became of a test, and its words."""
    ends = ("failure", "skipped", "error")
    child = next((child for child in session.cases[name] if child.tag in ends), None)
    return ("passed", "") if child is None else (child.tag, child.text or "")


def test_what_fits_passes(session):
    assert told(session, "test_max[small]") == ("passed", "")
    assert told(session, "test_steps") == ("passed", "")
    assert told(session, "test_it_sees_no_gpu") == ("passed", "")


def test_more_than_max_fails_with_what_held_it(session):
    how, words = told(session, "test_max[large]")
    assert how == "failure"
    first = words.splitlines()[0]
    assert first == "takes 3.48 GB of the GPU's memory, 1.48 GB more than max, 2.00 GB"
    assert "  optimizer state      0.800        4   test_it.py:27\n" in words


def test_running_out_fails_at_its_line(session):
    how, words = told(session, "test_runs_out")
    assert how == "failure"
    assert "test_it.py:51:" in words
    assert "test_it.py:26:" in words
    assert "OutOfMemoryError: CUDA out of memory" in words


def test_other_ends_are_the_test_s_own(session):
    how, words = told(session, "test_asserts")
    assert (how, "assert 1 == 2" in words) == ("failure", True)
    assert told(session, "test_skipped")[0] == "skipped"
    how, words = told(session, "test_nothing_on_the_gpu")
    assert (how, "put nothing on a GPU" in words) == ("failure", True)
    how, words = told(session, "test_dies")
    assert (how, "status 7" in words) == ("failure", True)


def test_what_each_took_is_told_and_kept(session):
    assert "test_it.py::test_steps: 1.4" in session.stdout
    files = sorted(file.name for file in (session.folder / "took").iterdir())
    assert files[:2] == ["test_it.py.test_asserts.json", "test_it.py.test_max[large].json"]
    kept = json.loads((session.folder / "took" / files[1]).read_text())
    assert (kept["run_schema"], kept["steps"], kept["verdict"]) == (1, 5, "FITS")


def test_fixtures_of_others_end_where_they_would(session):
    assert (session.folder / "order").read_text().split("\n")[0] == "class over"
