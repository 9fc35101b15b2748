"""`build/compare`: verdicts, exit codes and formats."""

import json
import resource

import jsonschema
import pytest
from built import ROOT
from compared import RUNS, compare, report


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_every_committed_run_is_the_same_as_itself(run):
    outcome = compare(run, run)
    assert outcome.returncode == 0, outcome.stderr
    assert "SAME OR BETTER" in outcome.stdout


def test_runs_of_other_commits_compare(tmp_path):
    outcome = compare(RUNS[0], RUNS[-1])
    assert outcome.stderr == ""
    assert outcome.returncode == int("WORSE" in outcome.stdout)
    assert "commit: 232d79a, now" in outcome.stdout


@pytest.mark.parametrize(
    ("counters", "status", "said"),
    [
        ({"mem_allocated": 1000}, 0, "1 same"),
        ({"mem_allocated": 999}, 0, "1 better"),
        ({"mem_allocated": 1001}, 1, "1 worse"),
        ({"mem_allocated": 1000, "params": 8}, 1, "1 not comparable"),
        ({"mem_allocated": 1000, "label": "predicted, virtual:h200"}, 1, "1 no longer measured"),
        ({"error_occurred": True, "error_message": "no memory"}, 1, "failed: no memory"),
    ],
)
def test_the_exit_code_is_the_verdict(old, tmp_path, counters, status, said):
    outcome = compare(old, report(tmp_path / "new.json", {"Training/x": counters}))
    assert outcome.returncode == status, outcome.stdout
    assert said in outcome.stdout
    assert outcome.stderr == ""


def test_what_is_allowed_is_no_failure(old, tmp_path):
    rows = {"Training/x": {"mem_allocated": 1000}}
    both = report(tmp_path / "both.json", rows | {"Training/y": {"mem_allocated": 1}})
    assert compare(both, old).returncode == 1
    assert "gone: Training/y" in compare(both, old).stdout
    assert compare(both, old, "--allow", "gone").returncode == 0
    assert compare(old, both).returncode == 0, "a new row is no failure"
    none = report(tmp_path / "none.json", {})
    allowed = ("--allow", "gone,not-comparable,predicted")
    assert compare(old, none, *allowed).returncode == 1, "nothing was compared"


def test_a_row_without_a_counter_in_both_is_not_the_same(old, tmp_path):
    """Beside others that are: as where a run has lost its counters, and has its times alone."""
    rows = {"Training/x": {"mem_allocated": 1000}, "Training/y": {"real_time": 7}}
    before = report(tmp_path / "before.json", rows)
    rows["Training/y"] = {"real_time": 7, "mem_allocated": 1}
    after = report(tmp_path / "after.json", rows)
    outcome = compare(before, after)
    assert outcome.returncode == 1
    assert "not comparable: Training/y: no counter is in both" in outcome.stdout
    assert compare(before, after, "--allow", "not-comparable").returncode == 0
    assert compare(before, before).returncode == 0


def test_another_card_only_when_asked(old, tmp_path):
    rows = {"Training/x": {"mem_allocated": 1000, "params": 7}}
    other = report(tmp_path / "other.json", rows, gpu="NVIDIA L40S")
    assert "another card: NVIDIA H200, now NVIDIA L40S" in compare(old, other).stdout
    assert compare(old, other).returncode == 1
    assert compare(old, other, "--across-cards").returncode == 0
    driver = report(tmp_path / "driver.json", rows, driver="590.2")
    outcome = compare(old, driver)
    assert outcome.returncode == 0
    assert "driver: 580.1, now 590.2" in outcome.stdout


@pytest.mark.parametrize(
    ("tolerance", "status"), [("1", 0), ("0.1%", 0), ("0", 1), ("0.09%", 1), ("1KiB", 0)]
)
def test_bytes_may_differ_by_what_is_asked(old, tmp_path, tolerance, status):
    new = report(tmp_path / "new.json", {"Training/x": {"mem_allocated": 1001, "params": 7}})
    outcome = compare(old, new, "--tolerance", tolerance)
    assert outcome.returncode == status, outcome.stdout
    exact = tolerance == "0"
    assert ("compared exactly" in outcome.stdout) == exact
    for bad in ("some", "101%", "-1"):
        assert compare(old, new, f"--tolerance={bad}").returncode == 2


def test_one_cause_is_one_line_however_many_rows_it_moved(tmp_path):
    """And what is less than an allocator's smallest block is folded."""

    def run(name, planted, noise):
        rows = {
            f"Training/{row}": {
                "mem_allocated": 1e9 + planted + noise,
                "mem_workspace": 1e6 + planted,
                "mem_inputs": 64 + noise,
                "mem_reserved": 2e9 + planted,
                "mem_device_used": 3e9 + planted + 7,
                "mem_context": 1e9 + 7,
                "mem_step1_backward_peak": 1e9 + planted,
                "mem_step2_backward_peak": 1e9 + planted,
            }
            for row in range(8)
        }
        return report(tmp_path / name, rows)

    outcome = compare(run("old.json", 0, 0), run("new.json", 50 << 20, 4))
    assert outcome.returncode == 1
    lines = outcome.stdout.splitlines()
    assert lines[5:8] == [
        "what moved, the largest first",
        "! +50.00 MiB                   8 rows  workspace at the peak",
        "! less than 512 B each           1 of  inputs at the peak",
    ]
    assert "! Training/0, 7 more" in outcome.stdout
    assert sum("+50.00 MiB" in line for line in lines) == 2


def test_times_are_shown_and_count_when_asked(tmp_path):
    def run(name, rates):
        path = report(tmp_path / name, {})
        document = json.loads(path.read_text())
        document["benchmarks"] = [
            {"name": "Training/x", "run_name": "Training/x", "tokens_per_second": rate}
            for rate in rates
        ]
        path.write_text(json.dumps(document))
        return path

    fast, slow = run("fast.json", [99, 100, 101]), run("slow.json", [79, 80, 81])
    outcome = compare(fast, slow)
    assert outcome.returncode == 1, "times alone, which nobody asked about"
    assert "1 same; nothing that counts is in both" in outcome.stdout
    assert "tokens_per_second               1 rows    0.800    0.800    0.800" in outcome.stdout
    assert compare(fast, slow, "--slower", "5").returncode == 1
    assert compare(fast, slow, "--slower", "30").returncode == 0
    change = json.loads(compare(fast, slow, "--format", "json").stdout)["rows"][0]["counters"]
    assert change["tokens_per_second"]["old_quartiles"] == [99.5, 100, 100.5]


def test_texts_of_a_report_cannot_forge_the_answer(old, tmp_path):
    rows = {"Training/x": {"mem_allocated": 1001, "params": 7, "mem_|x\x1b": 1}}
    new = report(tmp_path / "new.json", rows, driver="1\x1b]0;x\nSAME OR BETTER: 1 same")
    for form in ("table", "markdown", "json"):
        out = compare(old, new, "--format", form).stdout
        assert "\x1b" not in out
        assert "\nSAME OR BETTER" not in out


def test_rows_that_failed_before_are_said(tmp_path):
    failed = {"Training/x": {"error_occurred": "yes", "error_message": "no driver"}}
    old = report(tmp_path / "old.json", failed | {"Training/y": {"mem_allocated": 1}})
    new = report(
        tmp_path / "new.json",
        {"Training/x": {"mem_allocated": 1}, "Training/y": {"mem_allocated": 1}},
    )
    assert compare(old, new).returncode == 0
    assert "| better | Training/x | | | | failed before |" in (
        compare(old, new, "--format", "markdown").stdout
    )


def test_a_long_name_of_a_row_is_no_failure(tmp_path):
    run = report(tmp_path / "run.json", {"Training/" + "x" * 300: {"mem_allocated": 1}})
    assert compare(run, run, "--ledgers", tmp_path, tmp_path).returncode == 0
    assert compare("--allow", "gone", run, run).returncode == 0


def test_formats(old, tmp_path):
    new = report(
        tmp_path / "new.json",
        {"Training/x": {"mem_allocated": 1001, "mem_step1_forward_peak": 5, "params": 7}},
    )
    markdown = compare(old, new, "--format", "markdown")
    assert markdown.returncode == 1
    assert "| ⚠ worse | Training/x | mem_allocated | 1,000 | 1,001 | +1 B |" in markdown.stdout
    whole = json.loads(compare(old, new, "--format", "json").stdout)
    schema = json.loads((ROOT / "docs/schemas/compare.schema.json").read_text())
    jsonschema.validate(whole, schema)
    assert whole["rows"][0]["counters"]["mem_allocated"]["difference"] == 1
    cause = {"what": "tensors at the peak", "kind": "ledger", "worse": True, "least": 1, "most": 1}
    assert whole["causes"] == [cause | {"rows": ["Training/x"]}]
    bmf = json.loads(compare(old, new, "--format", "bmf").stdout)
    assert bmf == {"Training/x": {"mem-allocated": {"value": 1001}}}
    smaller = json.loads(compare(old, new, "--format", "smaller-is-better").stdout)
    assert [(e["name"], e["unit"], e["value"]) for e in smaller] == [
        ("Training/x mem_allocated", "bytes", 1001)
    ]


def test_three_hundred_rows_take_less_than_a_second(tmp_path):
    document = json.loads(RUNS[-1].read_text())
    rows = [row for row in document["benchmarks"] if row["name"].startswith("Training/")]
    document["benchmarks"] = [
        row | {"name": f"{row['name']}/{i}", "run_name": f"{row['name']}/{i}"}
        for i in range(20)
        for row in rows
    ][:300]
    large = tmp_path / "large.json"
    large.write_text(json.dumps(document))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    outcome = compare(large, large)
    assert outcome.returncode == 0
    assert "300 same" in outcome.stdout
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1
