"""A weight format of the own step is a row: whoever reads, writes or counts it asks that row, and
no one asks for a format by name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("model", "kernels", "runtimes/vramfit", "bench/devices", "bench/rows", "bench/command")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
NAMED = {
    "model/format.h",  # its row
    "model/transformer/model_precision.cpp",  # what a model's linears can be stored in
    "runtimes/vramfit/adjustments.cpp",  # what is advised where memory is short
}


def files_naming(word: re.Pattern[str]) -> set[str]:
    every = (path for room in ROOMS for path in (ROOT / room).rglob("*"))
    return {
        str(path.relative_to(ROOT))
        for path in every
        if path.suffix in SUFFIXES and word.search(re.sub(r"//.*", "", path.read_text()))
    }


@pytest.mark.parametrize("name", ["nf4", "int4"])
def test_formats_of_few_bits_are_named_where_they_are_a_row_alone(name):
    """Their types and functions too: no Nf4Stages, no nf4_value."""
    assert files_naming(re.compile(rf"(?<!u){name}", re.IGNORECASE)) == NAMED
