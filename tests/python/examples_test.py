"""What the documentation prints is what Python prints."""

import doctest

import vramfit
from installed import ROOT


def test_examples_of_the_page():
    ended = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert ended.attempted >= 8
    assert ended.failed == 0


def test_examples_of_the_package():
    ended = doctest.testmod(vramfit)
    assert ended.attempted >= 3
    assert ended.failed == 0
