"""The version stands in CMakeLists.txt; what repeats it agrees."""

import re

import pytest
from built import ROOT

VERSION = re.search(r"project\(vramfit VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def test_it_is_a_semantic_version():
    assert re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", VERSION)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("pyproject.toml", r'^version = "(.*)"$'),
        ("CITATION.cff", r"^version: (.*)$"),
        ("CHANGELOG.md", r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$"),
    ],
)
def test_it_is_repeated_in(file, line):
    assert re.search(line, (ROOT / file).read_text(), re.MULTILINE)[1] == VERSION
