"""Record what PyTorch's caching allocator was asked for and what it did, event by event.

Runs cases of data/reference/measure_pytorch.py (same file format) on a GPU, each in a forked child,
and writes one JSON object a line: {"case", "env", "events", "stages"}. Replayed through our model
of the allocator, the same segments must be taken at the same places; and a predicted run must ask
for the same bytes in the same order.

An event is a number where tensors come and go: the bytes asked for by a block handed out, or
-(n + 1) as the n-th of those blocks comes back. A segment taken from the driver is "s" and its
bytes, one given back "r" and its bytes, out of memory "o" and the bytes asked for.
With --frames, "frames" names for each block the Python frames that asked for it (none in backward,
which C++ drives). A stage is {"events": how many came before its end, ...the readings of
measure_pytorch.memory()}.

usage: record_allocator.py CASES.json OUT.jsonl [--frames]
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "reference"))

from programs import Arguments, cases_to_record, file_or_folder, program, writing

try:
    import measure_pytorch as measure
    import torch
except ImportError as missing:
    print(f"record_allocator: error: this Python has no {missing.name}", file=sys.stderr)
    sys.exit(2)

LETTERS = {"segment_alloc": "s", "segment_free": "r", "oom": "o"}
KINDS = {"alloc", "free_completed", *LETTERS}
MAX_EVENTS = 1_000_000


def trace():
    """Events so far: recording goes on. free_requested precedes each free_completed: left out."""
    return [e for e in torch.cuda.memory._snapshot()["device_traces"][0] if e["action"] in KINDS]


def innermost(event):
    """The frames nearest to the call, as file:function:line."""
    frames = [f for f in event.get("frames", []) if f["filename"].endswith(".py")]
    return [f"{Path(f['filename']).name}:{f['name']}:{f['line']}" for f in frames[:4]]


def compact(events):
    """Blocks by number instead of address."""
    number, rows = {}, []
    blocks = 0
    for e in events:
        if e["action"] == "alloc":
            number[e["addr"]] = blocks
            blocks += 1
            rows.append(e["size"])
        elif e["action"] == "free_completed":
            rows.append(-(number.pop(e["addr"]) + 1))
        else:
            rows.append(f"{LETTERS[e['action']]}{e['size']}")
    return rows


def record(case, *, frames):
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(
        enabled="all",
        context="alloc" if frames else None,
        stacks="python",
        max_entries=MAX_EVENTS,
    )
    stages = {}
    plain_memory = measure.memory

    def memory_and_mark():
        return {"events": len(trace()), **plain_memory()}

    measure.memory = memory_and_mark
    result = measure.run(case)
    stages = {name: result[name] for name in ("context", "load", "end")}
    stages.update(result.get("stages", {}))
    stages.update({f"point{i}": p for i, p in enumerate(result.get("points", []))})
    events = trace()
    row = {
        "case": case,
        "env": measure.environment(),
        "events": compact(events),
        "stages": stages,
    }
    if frames:
        row["frames"] = [innermost(e) for e in events if e["action"] == "alloc"]
    return row


@program("record_allocator")
def main(argv=None):
    parser = Arguments(description=__doc__.splitlines()[0])
    parser.add_argument("cases", metavar="CASES.json", type=file_or_folder)
    parser.add_argument("out", metavar="OUT.jsonl", type=file_or_folder)
    parser.add_argument("--frames", action="store_true", help="who asked for each block")
    given = parser.parse_args(argv)
    cases = cases_to_record(given.cases)
    with writing(), given.out.open("a"):
        pass
    for case in cases:
        pid = os.fork()
        if pid == 0:
            try:
                row = json.dumps(record(case, frames=given.frames), separators=(",", ":"))
                with given.out.open("a") as f:
                    f.write(row + "\n")
            except BaseException as e:
                print("failed:", case["model"], repr(e), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
