"""`build/compare` as people and CI call it: exit codes, formats, what it refuses, what it keeps."""

import gzip
import json
import random
import shutil
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from built import program

ROOT = Path(__file__).resolve().parent.parent
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


@pytest.fixture
def old(tmp_path):
    return report(tmp_path / "old.json", {"Training/x": {"mem_allocated": 1000, "params": 7}})


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.stem)
def test_every_committed_run_is_the_same_as_itself(run):
    outcome = compare(run, run)
    assert outcome.returncode == 0, outcome.stderr
    assert "SAME OR BETTER" in outcome.stdout


def test_runs_of_other_commits_compare(tmp_path):
    outcome = compare(RUNS[0], RUNS[-1])
    assert outcome.returncode == 0, outcome.stdout
    assert "commit: 232d79a, now" in outcome.stdout


@pytest.mark.parametrize(
    ("counters", "status", "said"),
    [
        ({"mem_allocated": 1000}, 0, "1 same"),
        ({"mem_allocated": 999}, 0, "1 less"),
        ({"mem_allocated": 1001}, 1, "1 more"),
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
    assert "gone                Training/y" in compare(both, old).stdout
    assert compare(both, old, "--allow", "gone").returncode == 0
    assert compare(old, both).returncode == 0, "a new row is no failure"
    none = report(tmp_path / "none.json", {})
    allowed = ("--allow", "gone,not-comparable,predicted")
    assert compare(old, none, *allowed).returncode == 1, "nothing was compared"


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
    assert outcome.returncode == 0
    assert "tokens_per_second               1 rows    0.800    0.800    0.800" in outcome.stdout
    assert compare(fast, slow, "--slower", "5").returncode == 1
    assert compare(fast, slow, "--slower", "30").returncode == 0
    change = json.loads(compare(fast, slow, "--format", "json").stdout)["rows"][0]["counters"]
    assert change["tokens_per_second"]["old_quartiles"] == [99.5, 100, 100.5]


def test_a_folder_stands_for_its_newest_run(old, tmp_path):
    folder = tmp_path / "runs"
    (folder / "deep").mkdir(parents=True)
    rows = {"Training/x": {"mem_allocated": 2000, "params": 7}}
    report(folder / "a.json", rows, date="2026-02-01T00:00:00+00:00")
    rows["Training/x"]["mem_allocated"] = 1000
    report(folder / "deep/b.json", rows, date="2026-03-01T00:00:00+00:00")
    assert compare(folder, old).returncode == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    assert compare(empty, old).returncode == 2


def test_against_finds_the_baseline(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(ROOT / "data/tolerances.json", data)
    shutil.copy(ROOT / "data/gpus.json", data)
    runs = data / "runs/nvidia-h200"
    runs.mkdir(parents=True)
    rows = {"Training/x": {"mem_allocated": 1000}}
    report(runs / "a.json", rows, driver="570.1")
    newest = report(runs / "b.json", rows, date="2026-02-01T00:00:00+00:00")
    new = report(tmp_path / "new.json", rows, date="2026-03-01T00:00:00+00:00")
    here = {"VRAMFIT_DATA": str(data)}
    for against, found in (("newest", "b.json"), ("570.1", "a.json"), ("h200", "b.json")):
        outcome = compare("--against", against, new, **here)
        assert outcome.returncode == 0, outcome.stderr
        assert f"{found}: cuda:0" in outcome.stdout.splitlines()[0]
    assert "a.json" in compare("--against", "newest", newest, **here).stdout, "not with itself"
    unknown = compare("--against", "b300", new, **here)
    assert unknown.returncode == 2
    assert "NVIDIA H200 under 580.1" in unknown.stderr
    predicted = {"Training/x": {"pred_allocated": 1, "label": "predicted, virtual:h200"}}
    facts = {"gpu": "none", "device": "virtual:h200", "date": "2026-03-01T00:00:00+00:00"}
    alone = report(tmp_path / "alone.json", predicted, **facts)
    lost = compare("--against", "newest", alone, **here)
    assert lost.returncode == 1, lost.stderr
    assert "1 no longer measured" in lost.stdout, "a machine that lost its GPU"


def test_accept_keeps_a_baseline_beside_the_old_one(old, tmp_path):
    before = old.read_bytes()
    (tmp_path / "new").mkdir()
    new = report(
        tmp_path / "new/run.json",
        {"Training/x": {"mem_allocated": 900}},
        host_name="mine",
        date="2026-05-01T00:00:00+00:00",
    )
    for kept in ("2026-05-01-abc.json", "2026-05-01-abc-2.json"):
        assert compare(old, new, "--accept").returncode == 0
        assert "host_name" not in json.loads((tmp_path / kept).read_text())["context"]
    assert old.read_bytes() == before
    assert compare(tmp_path, new).returncode == 0, "the newest of the folder is the accepted one"


def test_accept_goes_to_the_folder_of_its_own_driver_and_takes_its_ledgers(tmp_path):
    rows = {"Training/x": {"mem_allocated": 1000}}
    folder = tmp_path / "runs/nvidia-h200/580.1-13.0"
    folder.mkdir(parents=True)
    old = report(folder / "2026-01-01-abc.json", rows, cuda="13.0")
    new = report(tmp_path / "new.json", rows, cuda="13.1", driver="590.2", commit="def")
    ledgers = tmp_path / "kept"
    ledgers.mkdir()
    (ledgers / "Training_x.json.gz").write_bytes(b"a ledger")
    outcome = compare(old, new, "--accept", "--ledgers", ledgers, ledgers)
    assert outcome.returncode == 0, outcome.stderr
    kept = tmp_path / "runs/nvidia-h200/590.2-13.1/2026-01-01-def.json"
    assert kept.exists()
    assert (kept.with_suffix(".ledgers") / "Training_x.json.gz").read_bytes() == b"a ledger"
    other = report(tmp_path / "other.json", rows, gpu="NVIDIA L40S")
    assert compare(old, other, "--accept").returncode == 2, "nothing could be compared"


def test_the_newest_is_so_by_the_instant(old, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    rows = {"Training/x": {"mem_allocated": 2000, "params": 7}}
    report(folder / "a.json", rows, date="2026-11-22T02:00:00+09:00")
    report(folder / "c.json", rows, date="none")
    rows["Training/x"]["mem_allocated"] = 1000
    report(folder / "b.json", rows, date="2026-11-22T01:00:00+00:00")
    (folder / "foreign.json").write_text("[]")
    outcome = compare(folder, old)
    assert outcome.returncode == 0, outcome.stdout
    assert outcome.stderr.startswith("compare: passed over: ")


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
    assert "| less | Training/x | | | | failed before |" in (
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
    assert "| ⚠ more | Training/x | mem_allocated | 1,000 | 1,001 | +1 B |" in markdown.stdout
    whole = json.loads(compare(old, new, "--format", "json").stdout)
    schema = json.loads((ROOT / "docs/schemas/compare.schema.json").read_text())
    jsonschema.validate(whole, schema)
    assert whole["rows"][0]["counters"]["mem_allocated"]["difference"] == 1
    bmf = json.loads(compare(old, new, "--format", "bmf").stdout)
    assert bmf == {"Training/x": {"mem-allocated": {"value": 1001}}}
    smaller = json.loads(compare(old, new, "--format", "smaller-is-better").stdout)
    assert [(e["name"], e["unit"], e["value"]) for e in smaller] == [
        ("Training/x mem_allocated", "bytes", 1001)
    ]


BAD = {
    "nothing": "",
    "text": "hello",
    "array": "[]",
    "empty": "{}",
    "foreign": '{"context": {}, "benchmarks": []}',
    "schema": '{"context": {"schema_version": "9"}, "benchmarks": []}',
    "rows": '{"context": {"schema_version": "1"}, "benchmarks": [7]}',
    "nameless": '{"context": {"schema_version": "1"}, "benchmarks": [{}]}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_what_is_no_report_is_bad_input(old, tmp_path, content):
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    for pair in ((old, bad), (bad, old)):
        outcome = compare(*pair)
        assert outcome.returncode == 2
        assert outcome.stdout == ""
        assert outcome.stderr.count("\n") == 1
        assert outcome.stderr.startswith("compare: error: ")
        assert len(outcome.stderr) <= 220


@pytest.mark.parametrize(
    "arguments",
    [(), ("one.json",), ("a", "b", "c"), ("--against", "newest", "a", "b"), ("--format", "xml")],
)
def test_a_wrong_command_line_is_bad_input(old, arguments):
    outcome = compare(
        *arguments, *(() if len(arguments) != 2 or arguments[0][0] != "-" else (old, old))
    )
    assert outcome.returncode == 2
    assert outcome.stderr.count("\n") == 1


def test_damaged_reports_end_in_a_verdict_or_a_line(old, tmp_path):
    whole = bytearray(old.read_bytes())
    damaged = tmp_path / "damaged.json"
    random.seed(13)
    for _ in range(150):
        bytes_ = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            bytes_[random.randrange(len(bytes_))] = random.randrange(256)
        damaged.write_bytes(
            bytes_[: random.randint(1, len(bytes_))] if random.random() < 0.3 else bytes_
        )
        outcome = compare(old, damaged)
        assert outcome.returncode in (0, 1, 2), damaged.read_bytes()
        assert (outcome.returncode == 2) == bool(outcome.stderr)


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
    start = time.monotonic()
    outcome = compare(large, large)
    assert outcome.returncode == 0
    assert "300 same" in outcome.stdout
    assert time.monotonic() - start < 1


TINY = ROOT / "tests/fixtures/tiny-llama/config.json"


def bench(folder, *flags):
    """A run on the CPU with its ledgers beside it."""
    folder.mkdir()
    out = folder / "run.json"
    outcome = subprocess.run(
        [program("bench"), f"--benchmark_out={out}", f"--ledgers={folder / 'run.ledgers'}", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    return out, outcome


def test_ledgers_of_measured_rows_say_what_moved(tmp_path):
    flags = ("--device=cpu", f"--config={TINY}", "--benchmark_filter=Training", "--precision=fp32")
    flags += ("--optimizer=sgd", "--batch=2", "--seq=16", "--attention=flash", "--speed-seconds=0")
    old, first = bench(tmp_path / "old", *flags)
    new, second = bench(tmp_path / "new", *flags)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    kept = sorted((tmp_path / "new/run.ledgers").iterdir())
    assert len(kept) == 1
    assert compare(old, new).returncode == 0
    ledger = json.loads(gzip.decompress(kept[0].read_bytes()))
    jsonschema.validate(ledger, json.loads((ROOT / "docs/schemas/ledger.schema.json").read_text()))
    assert ledger["evidence"] == "measured"
    backward = ledger["events"]["stage"].index("d")
    planted = ledger["events"]["kind"].index("A", backward)
    ledger["events"]["bytes"][planted] += 4096
    kept[0].write_bytes(gzip.compress(json.dumps(ledger).encode()))
    document = json.loads(new.read_text())
    document["benchmarks"][0]["mem_step1_backward_peak"] += 4096
    new.write_text(json.dumps(document))
    said = compare(old, new)
    assert said.returncode == 1
    assert f"the ledgers part at event {planted}" in said.stdout
    assert "backward of step 1" in said.stdout
    assert "+4,096 B" in said.stdout
    elsewhere = compare(old, new, "--ledgers", tmp_path, tmp_path)
    assert "ledgers part" not in elsewhere.stdout
    assert compare(old, new, "--ledgers", tmp_path / "no", tmp_path).returncode == 2
    same = compare(
        old, old, "--ledgers", tmp_path / "old/run.ledgers", tmp_path / "new/run.ledgers"
    )
    assert same.returncode == 1, "a ledger that differs counts where no level shows it"
    assert "its ledger differs" in same.stdout
    kept[0].write_bytes(b"no gzip")
    assert compare(old, new).returncode == 2


def test_a_ledger_that_cannot_be_written_fails_the_run_and_loses_no_row(tmp_path):
    full = tmp_path / "run.ledgers"
    full.write_text("a file")
    flags = ("--device=virtual:h200", "--benchmark_filter=Inference/llama2-7b/fp16/batch:1/seq:512")
    outcome = subprocess.run(
        [program("bench"), *flags, f"--ledgers={full}"], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 2
    assert "ledgers: cannot make the folder" in outcome.stderr
    row = tmp_path / "ledgers/Inference_llama2-7b_fp16_batch-1_seq-512.json.gz"
    row.mkdir(parents=True)
    out = tmp_path / "out.json"
    outcome = subprocess.run(
        [program("bench"), *flags, f"--ledgers={row.parent}", f"--benchmark_out={out}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 3
    assert "ledgers: not every row's was kept" in outcome.stderr
    assert len(json.loads(out.read_text())["benchmarks"]) == 1


PROOFS = ROOT / "data/comparisons"


@pytest.mark.parametrize(
    ("run", "status", "counts", "said"),
    [
        (
            "backward",
            1,
            "16 same, 15 more",
            [
                "NEW backward of step 1 allocates planted (workspace, 1048576 B",
                "workspace, backward of step 2: planted, +1 allocations, +1,048,576 B (+1.00 MiB)",
                "device used: reserved +2,097,152 B (+2.00 MiB); first at the end of backward of",
            ],
        ),
        (
            "behind",
            1,
            "31 more",
            [
                "device used: modules and whatever allocates behind the pool +4,194,304 B "
                "(+4.00 MiB); first at the end of loaded of step 1"
            ],
        ),
        ("eager", 1, "31 more", ["cuda_module_loading: LAZY, now EAGER", "cuBLASLt +356,515,840"]),
        ("tf32", 0, "27 same, 4 less", ["tf32: off, now on", "behind the pool -2,097,152 B"]),
        (
            "cudnn914",
            1,
            "30 same, 1 more",
            ["cudnn: 9.19.0, now 9.14.0", "seq:333: failed: cuDNN 9.14.0: attention backward"],
        ),
    ],
)
def test_real_differences_are_found_named_and_attributed(run, status, counts, said):
    outcome = compare(PROOFS / "base.json", PROOFS / f"{run}.json")
    assert outcome.returncode == status, outcome.stderr
    assert f": {counts}; bytes are compared exactly" in outcome.stdout
    for part in said:
        assert part in outcome.stdout
