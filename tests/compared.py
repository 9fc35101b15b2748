"""`build/compare` as people and CI call it, and reports to compare."""

import json
import subprocess

from built import ROOT, program

RUNS = sorted((ROOT / "data/runs").glob("*/*/*-[0-9a-f]*.json"))
RUNS = [run for run in RUNS if not run.name.endswith("-compare.json")]


def compare(*arguments, **environment):
    return subprocess.run(
        [program("compare"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin", **environment},
    )


def report(path, rows, **context):
    facts = {"schema_version": "1", "evidence": "measured", "gpu": "NVIDIA H200", "driver": "580.1"}
    facts |= {"date": "2026-01-01T00:00:00+00:00", "commit": "abc", "device": "cuda:0 NVIDIA H200"}
    benchmarks = [
        {"name": name, "run_name": name, "run_type": "iteration", "label": "measured", **counters}
        for name, counters in rows.items()
    ]
    path.write_text(json.dumps({"context": facts | context, "benchmarks": benchmarks}))
    return path
