"""Which kernels PyTorch 2.11 chooses on which card, and what it allocates for them meanwhile.

A rule has a line of Python, and for each compute capability a part of the names of the kernels that
are to be launched and the bytes that the op holds at its peak beside arguments and results. Sources
are PyTorch's files: from include/ on the wheel has them, the others are in aten/src/ATen. No figure
was read off the stand-in: what a source says is written out as it has it.
"""

from typing import NamedTuple

CARDS = {
    75: "t4",
    80: "a100-80gb",
    86: "rtx3090",
    89: "rtx4090",
    90: "h200",
    100: "b200",
    120: "rtx5090",
}
MULTIPROCESSORS = {75: 40, 80: 108, 86: 82, 89: 128, 90: 132, 100: 148, 120: 170}
# CUDA C++ Programming Guide, technical specifications per compute capability.
THREADS = {75: 1024, 80: 2048, 86: 1536, 89: 1536, 90: 2048, 100: 2048, 120: 1536}
NONE = ""  # no kernel of PyTorch's: a product of cuBLAS's, or an error


class On(NamedTuple):
    """What is to be seen on a card. `refused`: a part of the error's text."""

    kernel: str
    held: int | None  # bytes, before the allocator rounds; None: no source tells
    refused: str = ""


class Rule(NamedTuple):
    op: str
    script: str
    on: dict[int, On]
    source: str


def every(kernel: str, held: int | None) -> dict[int, On]:
    return dict.fromkeys(CARDS, On(kernel, held))


def divided_up(n: int, by: int) -> int:
    return -(-n // by)
