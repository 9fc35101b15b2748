"""What the command prints: what it took beside what was predicted, and the line itself."""

from __future__ import annotations

import json
from typing import Any

from vramfit._answer import Answer


def text(case: dict[str, Any], answer: Answer, file: str, passed_over: list[str]) -> str:
    gpu, versions, beside = case["gpu"], case["versions"], case["beside"]
    lines = [
        f"{gpu['name']}, {gpu['total']:,} bytes, torch {versions['torch']}, "
        f"transformers {versions['transformers']}",
        *_levels(case, answer),
        f"the card lost {beside[0]:,} bytes beside PyTorch's allocator before, {beside[1]:,} after",
    ]
    others = _of_others(beside[0], answer)
    if others:
        lines.append(
            f"{others:,} bytes more than context and driver are known to take: does anything else "
            "use this GPU? Then it is no case"
        )
    if passed_over:
        flags = ", ".join(f"--{flag}" for flag in passed_over)
        lines.append(f"passed over, as memory does not depend on it: {flags}")
    lines += [
        "",
        json.dumps(case),
        "",
        f"That line, and nothing else, was appended to {file}. Nothing was sent: CONTRIBUTING.md, "
        '"A case of the league", says how to.',
    ]
    return "\n".join(lines) + "\n"


def _levels(case: dict[str, Any], answer: Answer) -> list[str]:
    if "measured" not in case:
        return [f"it ran out of memory; predicted: {answer.verdict}"]
    row = "{:<18}{:>20}{:>20}{:>12}".format
    lines = [row("bytes, at most", "predicted", "took", "off by")]
    for level in ("allocated", "reserved"):
        said, took = getattr(answer.levels, level), case["measured"][level]
        lines.append(row(level, f"{said:,}", f"{took:,}", f"{100 * (said / took - 1):+.2f} %"))
    return lines


def _of_others(before: int, answer: Answer) -> int:
    """Bytes beyond all that is assumed to be lost beside the allocator."""
    found = answer.to_dict()
    known: int = found["overhead"] + found["uncertainty"]["overhead_more"]
    return max(0, before - known)
