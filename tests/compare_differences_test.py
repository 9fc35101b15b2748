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


@pytest.mark.parametrize(
    ("run", "status", "counts", "said"),
    [
        (
            "backward",
            1,
            "16 same, 15 worse",
            [
                "NEW backward of step 1 allocates planted (workspace, 1048576 B",
                "workspace, backward of step 2: planted, +1 allocations, +1,048,576 B (+1.00 MiB)",
                "device used: reserved +2,097,152 B (+2.00 MiB); first at the end of backward of",
            ],
        ),
        (
            "behind",
            1,
            "31 worse",
            [
                "device used: modules and whatever allocates behind the pool +4,194,304 B "
                "(+4.00 MiB); first at the end of loaded of step 1"
            ],
        ),
        ("eager", 1, "31 worse", ["cuda_module_loading: LAZY, now EAGER", "cuBLASLt +356,515,840"]),
        ("tf32", 0, "27 same, 4 better", ["tf32: off, now on", "behind the pool -2,097,152 B"]),
        (
            "cudnn914",
            1,
            "30 same, 1 worse",
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
