"""Which figure of an answer is the same thing as what was measured. Bytes.

Metrics of one name differ: max_memory_allocated is a peak of tensors, max_memory_reserved of what
the allocator took, nvidia-smi's what the card lost, and vLLM's and llama.cpp's logs have parts."""

from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]  # as fit --json has it


def _ended(answer: Answer) -> int:
    """What is allocated when the run has ended, its last token's cache included."""
    return answer["stages"][-1]["after"]


def _of_first_card(part: str) -> Callable[[Answer], int]:
    return lambda answer: answer["devices"][0]["parts"][part]


def _of_engine(part: str) -> Callable[[Answer], int]:
    return lambda answer: answer["serving"][part]


FIGURES: dict[str, Callable[[Answer], int]] = {
    "allocated": lambda answer: answer["levels"]["allocated"],
    "reserved": lambda answer: answer["levels"]["reserved"],
    "device_used": lambda answer: answer["levels"]["device_used"],
    "ended": _ended,
    "verdict": lambda answer: answer["total"],
    "vllm weights": _of_engine("weights"),
    "vllm activations": _of_engine("activations"),
    "vllm outside": _of_engine("outside_torch"),
    "vllm cache": _of_engine("available"),
    "llama.cpp model": _of_first_card("model"),
    "llama.cpp context": _of_first_card("context"),
    "llama.cpp compute": _of_first_card("compute"),
}
