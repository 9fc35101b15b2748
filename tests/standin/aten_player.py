"""What PyTorch's own ops ask of the allocator: calls as tests/runtimes/pytorch/aten_events.cpp
reads them, one JSON line each of the file that CALLS names, played on the stand-in; answers as
there."""

import json
import os
from pathlib import Path

import torch
from torch.autograd.graph import get_gradient_edge
from torch.utils._python_dispatch import _disable_current_modes

# Nothing else takes as many bytes: they part what is recorded.
_MARK = 7654321
_CALL = 7654323


def mark(size=_MARK):
    torch.empty(size, dtype=torch.uint8, device="cuda")


def made(told, leaves):
    if isinstance(told, list):
        return [made(each, leaves) for each in told]
    if isinstance(told, str) and told.startswith("torch."):
        return getattr(torch, told.removeprefix("torch."))
    if not isinstance(told, dict):
        return told
    dtype = getattr(torch, told["dtype"])
    if "tensor" not in told:
        return dtype
    leaf = torch.empty_strided(told["tensor"], told["strides"], dtype=dtype, device="cuda")
    if not told.get("grad"):
        return leaf
    leaf.requires_grad_()
    leaves.append(leaf)
    dense = leaf.numel() == 0 or torch.empty_like(leaf).stride() == leaf.stride()
    return leaf.clone() if dense else leaf


def called(name, arguments):
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")
    schema = op._schema.arguments
    by_place = [a for a, known in zip(arguments, schema, strict=False) if not known.kwarg_only]
    by_name = {
        known.name: a for a, known in zip(arguments, schema, strict=False) if known.kwarg_only
    }
    if "device" in (known.name for known in schema) and not any(
        isinstance(a, torch.Tensor) for a in arguments
    ):
        by_name["device"] = "cuda"
    return op(*by_place, **by_name)


def gradients(results, roots):
    """Where backward begins, and with what."""
    if not isinstance(results, (list, tuple)):
        results = [results]
    all_of = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    chosen = [r for place, r in enumerate(all_of) if roots is None or place in roots]
    return (
        [get_gradient_edge(r) for r in chosen],
        [torch.empty_like(r, requires_grad=False) for r in chosen],
    )


def play(call):
    """Marks around each part."""
    mark(_CALL)
    leaves = []
    arguments = made(call["args"], leaves)
    cast = call.get("autocast")
    with (
        _disable_current_modes(),  # the stand-in's, which PyTorch spares some ops in place
        torch.autocast("cuda", getattr(torch, cast or "bfloat16"), enabled=cast is not None),
    ):
        mark()
        results = called(call["op"], arguments)
        mark()
        edges, grads = gradients(results, call.get("roots"))
        mark()
        del results, arguments
        mark()
    if edges:
        torch.autograd.backward(edges, grads)
        del edges
    mark()


def record(calls):
    for _ in range(2):  # what cuBLAS takes once
        x = torch.zeros(2, 2, device="cuda", requires_grad=True)
        torch.nn.functional.linear(x, x, x[0]).sum().backward()
    del x
    torch.cuda.memory._record_memory_history(context=None, max_entries=1_000_000)
    failed = []
    for call in calls:
        try:
            play(call)
            failed.append(None)
        except Exception as error:  # PyTorch takes no such call
            failed.append(str(error).splitlines()[0])
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(None)
    return failed, trace


def parts(trace):
    """Of each call: what comes (+) and goes (-) between marks."""
    all_calls = []
    for event in trace:
        allocated = event["action"] == "alloc"
        if event["size"] in (_MARK, _CALL):
            if allocated and event["size"] == _CALL:
                all_calls.append([])
            if allocated and all_calls:
                all_calls[-1].append([])
        elif all_calls and event["action"] in ("alloc", "free_completed"):
            all_calls[-1][-1].append(event["size"] if allocated else -event["size"])
    return all_calls


def main():
    calls = [json.loads(line) for line in Path(os.environ["CALLS"]).read_text().splitlines()]
    failed, trace = record(calls)
    answers = []
    for error, of_call in zip(failed, parts(trace), strict=True):
        if error is None:
            _, op, _, drop, backward, _ = of_call
            answers.append({"op": op, "drop": drop, "backward": backward})
        else:
            answers.append({"failed": error})
    print(json.dumps(answers))


main()
