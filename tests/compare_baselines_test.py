"""`build/compare`: which run is held against, and which it keeps."""

import json
import shutil

from built import ROOT
from compared import compare, report


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
    for name in ("gpus.json", "overheads.json", "releases.json"):
        shutil.copy(ROOT / "data" / name, data)
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
        assert outcome.stdout.splitlines()[0].endswith(f"/{found}")
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
