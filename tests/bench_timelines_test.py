"""`bench --snapshot` and `--trace`: the run of one row over time, measured or predicted."""

import json
import pickle
import subprocess

import pytest
from built import ROOT, program
from timelines import replay

TINY = f"--config={ROOT / 'tests/fixtures/tiny-llama/config.json'}"
MEASURED = ("--device=cpu", TINY, "--precision=fp32", "--optimizer=sgd", "--batch=2", "--seq=16")
ROWS = {
    "measured": (
        *MEASURED,
        "--attention=flash",
        "--speed-seconds=0",
        "--benchmark_filter=Training",
    ),
    "predicted": (
        "--device=virtual:h200",
        "--benchmark_filter=^Training/llama2-7b/fp16/adamw/batch:1/seq:512$",
    ),
}


def bench(*arguments, temporary=None):
    return subprocess.run(
        [program("bench"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={"TMPDIR": str(temporary)} if temporary else None,
    )


@pytest.mark.parametrize("evidence", ROWS)
def test_a_rows_run_is_written_as_it_was(evidence, tmp_path):
    files = {name: tmp_path / name for name in ("run.pickle", "run.json", "out.json")}
    (tmp_path / "tmp").mkdir()
    run = bench(
        *ROWS[evidence],
        f"--snapshot={files['run.pickle']}",
        f"--trace={files['run.json']}",
        f"--benchmark_out={files['out.json']}",
        temporary=tmp_path / "tmp",
    )
    assert run.returncode == 0, run.stderr
    (row,) = json.loads(files["out.json"].read_text())["benchmarks"]
    prefix = "mem" if evidence == "measured" else "pred"
    peak = replay(pickle.loads(files["run.pickle"].read_bytes()))
    assert peak["allocated"] == row[f"{prefix}_allocated"]
    assert peak["reserved"] == row[f"{prefix}_reserved"]
    trace = json.loads(files["run.json"].read_text())
    assert any(event["ph"] == "C" for event in trace["traceEvents"])
    assert list((tmp_path / "tmp").iterdir()) == [], "ledgers in passing are removed"


def test_a_timeline_takes_one_row(tmp_path):
    for flag in ("snapshot", "trace"):
        path = tmp_path / flag
        run = bench("--device=virtual:h200", "--benchmark_filter=Training", f"--{flag}={path}")
        assert run.returncode == 2
        assert f"{flag}: takes one row of Training, Inference or KvCache" in run.stderr
        assert not path.exists()
        nowhere = bench(*ROWS["predicted"], f"--{flag}=/no/such/folder/file")
        assert nowhere.returncode == 2
        assert "/no/such/folder/file" in nowhere.stderr
