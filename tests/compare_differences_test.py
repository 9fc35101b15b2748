"""`build/compare`: what moved, by ledgers, and whose it is."""

import gzip
import json
import subprocess

import jsonschema
import pytest
from built import ROOT, program
from compared import compare

TINY = ROOT / "tests/fixtures/tiny-llama/config.json"
PROOFS = ROOT / "data/comparisons"


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
    assert f" part at event {planted}" in said.stdout
    assert "backward of step 1" in said.stdout
    assert "+4.00 KiB" in said.stdout
    elsewhere = compare(old, new, "--ledgers", tmp_path, tmp_path)
    assert " part at event" not in elsewhere.stdout
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


@pytest.mark.parametrize(
    ("run", "status", "counts", "said"),
    [
        (
            "backward",
            1,
            "16 same, 15 worse",
            [
                "NEW backward of step 1 allocates planted (workspace, 1048576 B",
                "! +1.00 MiB                   15 rows  planted (workspace) in backward\n",
                "4 rows  reserved beyond tensors: gaps and rounding\n",
            ],
        ),
        (
            "behind",
            1,
            "31 worse",
            [
                "! +4.00 MiB                   31 rows  modules and whatever allocates behind the "
                "pool\n"
            ],
        ),
        (
            "eager",
            1,
            "31 worse",
            [
                "cuda_module_loading: LAZY, now EAGER",
                "+340.00 MiB                 31 rows  cuBLASLt",
            ],
        ),
        (
            "tf32",
            0,
            "27 same, 4 better",
            ["tf32: off, now on", "-2.00 MiB                    4 rows  modules"],
        ),
        (
            "cudnn914",
            1,
            "30 same, 1 worse",
            ["cudnn: 9.19.0, now 9.14.0", "1 row  failed: cuDNN 9.14.0: attention backward"],
        ),
    ],
)
def test_real_differences_are_found_named_and_attributed(run, status, counts, said):
    outcome = compare(PROOFS / "base.json", PROOFS / f"{run}.json")
    assert outcome.returncode == status, outcome.stderr
    assert f": {counts}; bytes are compared exactly" in outcome.stdout
    for part in said:
        assert part in outcome.stdout
    for line in outcome.stdout.splitlines() + whole(run).splitlines():
        assert len(line) <= 100, line


def whole(run):
    return compare(PROOFS / "base.json", PROOFS / f"{run}.json", "--all").stdout


def test_what_a_level_is_made_of_is_told_with_all():
    told = whole("backward")
    assert "workspace, backward of step 2: planted, +1 allocations, +1,048,576 B" in told
    assert "device used: reserved +2,097,152 B (+2.00 MiB); first at the end of backward of" in told
    assert "step 3" not in told, "a step that OLD did not walk is no difference of its tensors"
    assert "+1 steps until memory is steady" in told


def test_a_ledger_may_differ_by_what_is_asked():
    base, backward = PROOFS / "base.json", PROOFS / "backward.json"
    assert compare(base, backward, "--tolerance", "1MB").returncode == 1
    small = compare(base, backward, "--tolerance", "1MiB").stdout
    assert "22 same, 9 worse" in small
    assert compare(base, backward, "--tolerance", "250MiB").returncode == 0
