"""What an answer says beside its figures: lines under its title, and notes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_WORTH_TELLING = 10_000_000  # bytes
_SHOWN = 3  # places

# Libraries whose versions stand in the title.
_NAMED = ("torch", "transformers", "trl", "peft", "accelerate")


def about(answer: Json) -> list[str]:
    """What ran, and where it ended."""
    names = [f"{name} {answer['versions'][name]}" for name in _NAMED if name in answer["versions"]]
    return [", ".join(names), _ended(answer)]


def _ended(answer: Json) -> str:
    steps = f"{answer['steps']} optimizer step" + ("s" if answer["steps"] != 1 else "")
    return {
        "script": f"to the script's end, after {steps}" if answer["steps"] else "to its end",
        "steps": f"ended after {steps}, as asked",
        "steady": f"ended after {steps}, from which on nothing grows",
        "failed": f"the script ended with status {answer['exit_status']}, after {steps}",
    }[answer["ended"]]


def notes(answer: Json, facts: Json) -> list[str]:
    """What was assumed, what was not seen, what nobody knew: a line each."""
    lines = list(facts.get("notes", ()))
    lines += _caught(answer["out_of_memory_caught"])
    lines += _lengths(answer["batches"])
    lines += _assumed(answer["assumptions"])
    for call in answer["unknown_calls"]:
        lines.append(
            f"{call['name']} of {call['library']} is not known, and was called {call['calls']} "
            "times: it did nothing"
        )
    if answer["doubtful_events"]:
        lines.append(
            f"{answer['doubtful_events']} times the script asked whether the GPU was done, and it "
            "was: --late-events tells how much it takes where it is not"
        )
    if answer["processes"] > 1:
        lines.append(f"of {answer['processes']} processes, the one that used its GPU most is told")
    if len(answer["gpus"]) > 1:
        lines.append(f"of {len(answer['gpus'])} GPUs, the one that was used most is told")
    locked = answer["host"]["page_locked"]
    if locked >= _WORTH_TELLING:
        lines.append(f"in the host's memory {locked / 1e9:.2f} GB were page-locked at most")
    return lines


def _assumed(assumptions: list[Json]) -> list[str]:
    """Values that were read."""
    if not assumptions:
        return []
    times = sum(told["times"] for told in assumptions)
    shown = ", ".join("/".join(told["what"].split("/")[-2:]) for told in assumptions[:_SHOWN])
    more = f" and {len(assumptions) - _SHOWN} more (--json)" if len(assumptions) > _SHOWN else ""
    return [f"values that only a GPU computes were read {times} times, and assumed: {shown}{more}"]


def _caught(errors: list[Json]) -> list[str]:
    if not errors:
        return []
    first = errors[0]
    where = f"in {first['stage']} of step {first['step']}" if first["step"] else "while loading"
    times = "once" if len(errors) == 1 else f"{len(errors)} times"
    return [
        f"the script ran out of memory {times} and caught it, first {where}, asking for "
        f"{first['requested'] / 1e9:.2f} GB; what it went on with is what is told"
    ]


def _lengths(batches: list[list[int]]) -> list[str]:
    lengths = sorted({batch[1] for batch in batches})
    if len(lengths) < 2:
        return []
    return [
        f"batches of {lengths[0]} to {lengths[-1]} tokens a row were seen; longer ones were not, "
        "and would take more"
    ]
