"""What an answer says beside its figures: lines under its title, and notes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

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
    lines += [f"assumed: {told['what']} ({told['times']} times)" for told in answer["assumptions"]]
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
    if answer["gpus"] > 1:
        lines.append(f"of {answer['gpus']} GPUs, the one that was used most is told")
    locked = answer["host"]["peak_locked"]
    if locked:
        lines.append(f"in the host's memory {locked / 1e9:.2f} GB were page-locked at most")
    return lines


def _caught(errors: list[Json]) -> list[str]:
    if not errors:
        return []
    first = errors[0]
    where = f"in {first['phase']} of step {first['step']}" if first["step"] else "while loading"
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
