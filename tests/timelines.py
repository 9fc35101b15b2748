"""Runs over time, in PyTorch's snapshots: what `fit` writes, and what it makes of one."""

import json
import subprocess
from collections import Counter
from pathlib import Path

from built import ROOT, program
from schema_test import objections, without_strangers

FIXTURES = ROOT / "tests" / "fixtures" / "pytorch"
TINYLLAMA = "--model tinyllama-1.1b --train --batch 2 --seq 512 --gpu rtx4090"
QUESTIONS = {
    "training": "--model gpt2-124m --train --accumulate 2 --seq 512 --gpu rtx4090",
    "oom": "--model gpt2-124m --train --batch 8 --seq 512 --vram 6GB",
    "gives_back": "--model tinyllama-1.1b --train --precision bf16 --batch 2 --seq 512",
    "inference": "--model gpt2-124m --batch 2 --seq 300 --generate 4 --vram 8GB",
    "own": "--model gpt2-124m --train --runtime vramfit --vram 24GB",
    "own_oom": "--model gpt2-124m --train --runtime vramfit --batch 32 --vram 6GB",
}


def fit(*arguments: str, status: tuple[int, ...] = (0, 1)) -> subprocess.CompletedProcess:
    run = subprocess.run(
        [program("fit"), *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode in status, (run.returncode, run.stderr)
    return run


def replay(snapshot: dict) -> dict:
    """The trace from empty, as memory_viz draws it."""
    live, allocated, reserved = {}, 0, 0
    by_category = Counter()
    peak = {"allocated": 0, "reserved": 0, "by_category": {}}
    for entry in snapshot["device_traces"][0]:
        size = entry["size"]
        if entry["action"] == "alloc":
            assert entry["addr"] not in live
            live[entry["addr"]] = entry
            allocated += size
            by_category[entry["category"]] += size
            if allocated > peak["allocated"]:
                peak.update(allocated=allocated, by_category=dict(by_category))
        elif entry["action"] == "free_completed":
            born = live.pop(entry["addr"])
            assert born["size"] == size
            allocated -= size
            by_category[born["category"]] -= size
        elif entry["action"] in ("segment_alloc", "segment_map"):
            reserved += size
            peak["reserved"] = max(peak["reserved"], reserved)
        elif entry["action"] == "segment_free":
            reserved -= size
    return {**peak, "live": live, "reserved_at_end": reserved}


def verified(path: Path, *question: str, status: int) -> dict:
    answer = json.loads(fit(*question, "--verify", path, "--json", status=(status,)).stdout)
    assert objections(without_strangers("verify.schema.json"), answer) == []
    assert answer["agree"] == (status == 0)
    text = fit(*question, "--verify", path, status=(status,)).stdout
    assert ("AGREE" if status == 0 else "DIFFER") in text
    assert max(map(len, text.splitlines())) <= 100
    return answer
