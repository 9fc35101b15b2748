"""What a watched script leaves behind, and reads of vramfit run's answer."""

import json

import jsonschema
from installed import ROOT

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "dry_run.schema.json").read_text())

GB = 1_000_000_000


def stage(step, name, allocated, reserved):
    before, after, peak = allocated
    device = {
        "before": before,
        "after": after,
        "peak": peak,
        "reserved": reserved,
        "peak_reserved": reserved,
        "device_used": reserved + GB,
        "peak_device_used": reserved + GB,
    }
    return {"step": step, "stage": name, "devices": [device]}


def took(reserved=10 * GB, **more):
    """What a process writes that trained two steps."""
    return {
        "devices": [{"used": GB, "peak_used": GB, "libraries": GB, "free": 0, "total": 24 * GB}],
        "host": {"locked": 0, "peak_locked": 0, "peak_managed": 0, "resident": GB, "hollow": 0},
        "checkpoints": {"written": [], "kept": []},
        "unknown_calls": [],
        "unknown_reads": 0,
        "doubtful_events": 0,
        "process": 7,
        "uses_gpu": True,
        "stages": [
            stage(0, "load", (0, 2 * GB, 2 * GB), 3 * GB),
            stage(1, "forward", (2 * GB, 5 * GB, 6 * GB), 7 * GB),
            stage(1, "backward", (5 * GB, 3 * GB, 7 * GB), 8 * GB),
            stage(1, "optimizer", (3 * GB, 4 * GB, 4 * GB), 8 * GB),
            stage(2, "backward", (4 * GB, 4 * GB, 9 * GB), reserved),
        ],
        "holders": None,
        "holders_of_stages": None,
        "compile": None,
        "changes": {},
        "rank": None,
        "steps": 2,
        "ended": "script",
        "batches": [[4, 512]],
        "longest": None,
        "out_of_memory": [],
        "ran_out": False,
        "in_kernel": False,
        "kernels": {"fill": 2},
        "assumptions": [],
        "int8_outliers": False,
        "versions": {"torch": "2.11.0"},
        **more,
    }


OUT_OF_MEMORY = {
    "step": 2,
    "stage": "forward",
    "device": 0,
    "requested": 8 * GB,
    "free": 3 * GB,
    "line": "train.py:41",
}

# A script: what each process leaves, then its own words and end.
SCRIPT = """
import json, os, pathlib, sys
settings = pathlib.Path(os.environ["VRAMFIT_RUN"])
told = json.loads(settings.read_text())
late = told["facts"]["late_events"]
for number, took in enumerate({took!r}):
    (settings.parent / f"{{number}}.json").write_text(json.dumps(took))
print("of the script")
{end}
"""


def answer_of(run) -> dict:
    answer = json.loads(run.stdout)
    closed = {**SCHEMA, "unevaluatedProperties": False}
    assert list(jsonschema.Draft202012Validator(closed).iter_errors(answer)) == []
    return answer


def refused(run) -> str:
    """Bad input's one line."""
    assert run.returncode == 2, run.stderr
    lines = [line for line in run.stderr.splitlines() if line.startswith("vramfit: error: ")]
    assert len(lines) == 1, run.stderr
    return lines[0]
