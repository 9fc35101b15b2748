"""What an answer says beside its figures: lines under its title, and notes."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_WORTH_TELLING = 10_000_000  # bytes
_SHOWN = 3  # places

_AS_ZERO = "no rule tells what these work in, so a real run may take more"

# By how kernels' names begin: of what no source tells a size, so that it was measured.
_MEASURED = (
    ("cudnn attention", "cuDNN's attention", "its workspace is"),
    ("nccl", "NCCL", "what its channels take of the card is"),
)

# Libraries whose versions stand in the title.
_NAMED = ("torch", "transformers", "trl", "peft", "accelerate", "vllm")


def about(answer: Json) -> list[str]:
    """What ran, and where it ended."""
    names = [f"{name} {answer['versions'][name]}" for name in _NAMED if name in answer["versions"]]
    return [", ".join(names), _ended(answer)]


def _ended(answer: Json) -> str:
    steps = _count(answer["steps"], "optimizer step")
    after = f" after {steps}" if answer["steps"] else ""
    return {
        "script": f"ran to the script's end{',' * bool(after)}{after}",
        "open": f"so far{',' * bool(after)}{after}",
        "steps": f"ended{after}, as asked",
        "steady": f"ended{after}, from which on nothing grew",
        "memory": f"ran out of memory{after}",
        "refused": "vLLM refused to start",
        "failed": f"failed{after}",
    }[answer["ended"]]


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("s" if count != 1 else "")


def notes(answer: Json, facts: Json) -> list[str]:
    """What was assumed, what was not seen, what nobody knew: a line each."""
    return [
        *facts.get("notes", ()),
        *_caught(answer["out_of_memory_caught"]),
        *_lengths(answer),
        *_assumed(answer["assumptions"]),
        *_compiled(answer["compile"]),
        *_unknown(answer["unknown_calls"]),
        *_of_another_card(answer["kernels"], facts),
        *_convolutions(answer["kernels"]),
        *_late(answer),
        *_on_wsl(),
        *_others(answer),
        *_on_host(**answer["host"]),
        *_saved(**answer["checkpoints"]),
    ]


def _caught(errors: list[Json]) -> Iterator[str]:
    if not errors:
        return
    first = errors[0]
    where = f"in {first['stage']} of step {first['step']}" if first["step"] else "while loading"
    times = "once" if len(errors) == 1 else f"{len(errors)} times"
    yield (
        f"the script ran out of memory {times} and caught it, first {where}, asking for "
        f"{first['requested'] / 1e9:.2f} GB; what it went on with is what is told"
    )


def _lengths(answer: Json) -> Iterator[str]:
    lengths = sorted({batch[1] for batch in answer["batches"]})
    if answer["longest"]:
        yield from answer["longest"]
    elif answer["longest"] is not None:
        yield "--longest: no DataLoader gave batches; they came in the script's own order"
    elif len(lengths) > 1:
        yield (
            f"batches had {lengths[0]} to {lengths[-1]} tokens a row; longer ones, should there be "
            "any, take more: --longest has the longest come first"
        )


def _assumed(assumptions: list[Json]) -> Iterator[str]:
    """Values that were read, by lines; what else was taken for granted says so itself."""
    lines = [told for told in assumptions if _is_line(told["what"])]
    if lines:
        times = _count(sum(told["times"] for told in lines), "time")
        shown = ", ".join("/".join(told["what"].split("/")[-2:]) for told in lines[:_SHOWN])
        more = f" and {len(lines) - _SHOWN} more (--json)" if len(lines) > _SHOWN else ""
        yield f"values that only a GPU computes were read {times}, and assumed: {shown}{more}"
    for told in assumptions:
        if not _is_line(told["what"]):
            yield f"{told['what']} ({_count(told['times'], 'time')})"


def _compiled(told: Json | None) -> Iterator[str]:
    if told is None:
        return
    line = f"torch.compile ran {_count(told['compiles'], 'time')}, {told['seconds']:.0f} s of CPU"
    if told["untimed"]:
        kernels = _count(told["untimed"], "kernel")
        line += f"; of {kernels} that a GPU would time it took the first choice"
    yield line


def _is_line(what: str) -> bool:
    return what.rpartition(":")[2].isdecimal()


def _unknown(calls: list[Json]) -> Iterator[str]:
    """What of NVIDIA's libraries did nothing, or not what it does."""
    by_kind: dict[str, list[str]] = {}
    for call in calls:
        named = f"{call['name']} ({_count(call['calls'], 'time')})"
        if call["name"] == "cuGetExportTable":
            yield (
                f"{call['by'] or 'a library'} has a CUDA runtime of its own inside, which found no "
                "GPU: what it takes is not in these figures"
            )
        elif call["as_zero"]:
            by_kind.setdefault(_AS_ZERO, []).append(named)
        else:
            by = f", called by {Path(call['by']).name}" if call["by"] else ""
            kind = f"not known of {call['library']}{by}, and without effect"
            by_kind.setdefault(kind, []).append(named)
    for kind, named_calls in by_kind.items():
        yield f"{kind}: {', '.join(named_calls)}"


def _of_another_card(kernels: Json, facts: Json) -> Iterator[str]:
    """What this run used of NVIDIA's libraries, and what was measured of them elsewhere alone.
    Context and libraries have a line of their own: `overhead_source`."""
    card = facts["assumed_from"]
    if not card:
        return
    for family, what, whose in _MEASURED:
        times = sum(count for name, count in kernels.items() if name.startswith(family))
        if times:
            yield (
                f"{what} ran {_count(times, 'time')}: {whose} as read off an {card}, since no "
                f"source tells it of the {facts['title']}"
            )


def _convolutions(kernels: Json) -> Iterator[str]:
    times = kernels.get("cudnn convolution", 0)
    if times:
        yield (
            f"cuDNN's convolutions ran {_count(times, 'time')}: what they work in is taken to be "
            "copies of their tensors, channels last, as cuDNN 9.19 mostly chooses"
        )


def _late(answer: Json) -> Iterator[str]:
    late = answer["levels_of_late_gpu"]
    if late:
        here, there = answer["levels"]["reserved"], late["reserved"]
        lies = "and the true figure lies between" if here != there else "which makes no difference"
        yield (
            f"with a GPU that is done at once {here / 1e9:.3f} GB are reserved, with one that is "
            f"always behind {there / 1e9:.3f} GB, {lies}"
        )
    elif answer["doubtful_events"]:
        yield (
            f"{_count(answer['doubtful_events'], 'time')} memory could be given again only if the "
            "GPU was done with it, which was taken for granted: --band runs with a GPU that is "
            "always behind, too"
        )


def _on_wsl() -> Iterator[str]:
    """Windows' driver beneath, by the name that its Linux kernel has."""
    if "microsoft" in platform.release().lower():
        yield (
            "this is WSL2: Windows holds part of a card, and may move to the host's memory what "
            "does not fit, where Linux fails; neither is in these figures: --headroom"
        )


def _others(answer: Json) -> Iterator[str]:
    if answer["rank"]:
        rank, ranks, not_received, peers = (
            answer["rank"][key] for key in ("rank", "ranks", "not_received", "peers")
        )
        if ranks > 1:
            yield (
                f"figures are of rank {rank} of {ranks}; the others are stood in for: what is "
                "gathered from them is its own, and sums over them are unknown"
            )
        if peers:
            yield f"{_count(peers, 'other rank')} ran as well, for the objects that it sends"
        if not_received:
            yield (
                f"{_count(not_received, 'object')} that another rank sends "
                "stayed what this one had there: --rank of the one that sends knows them"
            )
    if answer["processes"] > 1:
        yield f"of {answer['processes']} processes, the one that used its GPU most is told"
    used = sum(gpu["device_used"] > 0 for gpu in answer["gpus"])
    if used > 1:
        yield f"of {used} GPUs, the one that was used most is told"


def _on_host(page_locked: int, managed: int, resident: int, hollow: int) -> Iterator[str]:
    if managed >= _WORTH_TELLING:
        yield (
            f"{managed / 1e9:.2f} GB more are managed memory, of a paged optimizer: on the card as "
            "far as there is room, and otherwise on the host"
        )
    if page_locked >= _WORTH_TELLING:
        yield f"on the host {page_locked / 1e9:.2f} GB were page-locked at most"
    if hollow >= 100 * _WORTH_TELLING:
        yield (
            f"on the host a real run writes {hollow / 1e9:.2f} GB more at most, beside the "
            f"{resident / 1e9:.2f} GB of this one: weights on their way to the GPU and back"
        )


def _saved(written: list[str], kept: list[str]) -> Iterator[str]:
    if written:
        yield f"what the script saved held no numbers, and is gone: {_files(written)}"
    if kept:
        yield f"what was there before was not written over or removed: {_files(kept)}"


def _files(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more (--json)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
