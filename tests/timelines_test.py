"""Timelines: snapshots in PyTorch's format and Chrome traces that fit writes."""

import importlib.util
import json
import pickle
import pickletools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from built import program
from schema_test import objections, without_strangers
from timelines import TINYLLAMA, fit, replay


def test_a_snapshot_is_of_plain_types_and_as_the_schema_says(written):
    data = written["path"].read_bytes()
    opcodes = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    assert not opcodes & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NEWOBJ", "INST", "OBJ"}
    assert data[:2] == b"\x80\x04"
    as_json = json.loads(json.dumps(written["snapshot"]))
    entries = as_json["device_traces"][0]
    as_json["device_traces"] = [entries[:400] + entries[-400:]]  # enough, and it takes long
    as_json["segments"] = as_json["segments"][:40]
    assert objections(without_strangers("snapshot.schema.json"), as_json) == []


def test_blocks_tile_segments_and_are_what_the_trace_leaves(written):
    replayed = replay(written["snapshot"])
    live = dict(replayed["live"])
    total, end = 0, 0
    for segment in written["snapshot"]["segments"]:
        at = segment["address"]
        assert at >= end
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
            if block["state"] == "active_allocated":
                born = live.pop(block["address"])
                assert born["requested_size"] == block["requested_size"] <= block["size"]
                assert born["frames"] == block["frames"]
        assert at == segment["address"] + segment["total_size"]
        in_use = [b for b in segment["blocks"] if b["state"] == "active_allocated"]
        assert segment["allocated_size"] == sum(b["size"] for b in in_use)
        assert segment["requested_size"] == sum(b["requested_size"] for b in in_use)
        total += segment["total_size"]
        end = at
    assert not live
    assert total == replayed["reserved_at_end"]


def test_the_peak_is_the_answers(written):
    answer, replayed = written["answer"], replay(written["snapshot"])
    if not answer["fits"]:
        assert 0 < replayed["allocated"] <= answer["levels"]["allocated"]
        return
    assert replayed["allocated"] == answer["levels"]["allocated"]
    assert replayed["reserved"] == answer["levels"]["reserved"]
    components = {name: size for name, size in answer["components"].items() if size > 0}
    assert {name: size for name, size in replayed["by_category"].items() if size} == components


def test_a_run_that_does_not_fit_ends_with_an_oom(written):
    entries = written["snapshot"]["device_traces"][0]
    ooms = [entry for entry in entries if entry["action"] == "oom"]
    assert len(ooms) == (0 if written["answer"]["fits"] else 1)
    if ooms:
        assert entries[-1] is ooms[0]
        assert ooms[0]["size"] > ooms[0]["device_free"]


def test_segments_are_given_back_where_a_run_fits_only_so(written):
    actions = {entry["action"] for entry in written["snapshot"]["device_traces"][0]}
    if written["name"] == "gives_back":
        assert written["answer"]["fits"]
        assert "segment_free" in actions
    assert ("segment_map" in actions) == written["name"].startswith("own")


def test_stages_are_annotated(written):
    marks = written["snapshot"]["external_annotations"]
    assert [mark["stage"] for mark in marks[:2]] == ["START", "END"]
    assert [mark["time_us"] for mark in marks] == sorted(mark["time_us"] for mark in marks)
    names = {mark["name"].split()[0] for mark in marks}
    assert ("forward" in names) == (written["answer"]["asked"]["mode"] == "training")


def test_a_trace_has_the_levels_and_stages(written):
    trace, answer = written["trace"], written["answer"]
    assert "1 us is one event" in trace["otherData"]["time"]
    at_most = Counter()
    for event in trace["traceEvents"]:
        assert event["ph"] in "MCXi"
        if event["ph"] == "C":
            at_most[event["name"]] = max(at_most[event["name"]], event["args"]["bytes"])
        if event["ph"] == "X":
            assert event["dur"] >= 0
    times = [event["ts"] for event in trace["traceEvents"] if event["ph"] == "C"]
    assert times == sorted(times)
    instants = [event for event in trace["traceEvents"] if event["ph"] == "i"]
    assert len(instants) == (0 if answer["fits"] else 1)
    if answer["fits"]:
        levels = answer["levels"]
        assert at_most["allocated"] == levels["allocated"]
        assert at_most["reserved"] == levels["reserved"]
        assert at_most["device used"] == levels["device_used"]
    assert any(event["ph"] == "X" and event["name"] == "loaded" for event in trace["traceEvents"])


def memory_viz() -> Path | None:
    """PyTorch's own reader, which needs no GPU."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return None
    path = Path(torch.origin).parent / "cuda" / "_memory_viz.py"
    return path if path.exists() else None


@pytest.mark.skipif(memory_viz() is None, reason="this Python has no torch")
def test_pytorchs_own_reader_takes_it(written, tmp_path):
    def read(*arguments):
        return subprocess.run(
            [sys.executable, memory_viz(), *arguments],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    entries = written["snapshot"]["device_traces"][0]
    assert f"{len(entries)} entries" in read("trace", written["path"])
    segments = len(written["snapshot"]["segments"])
    assert f"segments: {segments}\n" in read("stats", written["path"])
    for kind in ("trace_plot", "segment_plot"):
        page = tmp_path / f"{kind}.html"
        read(kind, written["path"], "-o", page)
        assert "add_local_files" in page.read_text()


def test_files_are_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "run.pickle"
    path.write_text("before")
    fit("--model", "no-such-model", "--gpu", "h200", "--snapshot", path, status=(2,))
    assert path.read_text() == "before"
    fit(*TINYLLAMA.split(), "--snapshot", path)
    pickle.loads(path.read_bytes())
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("path", "status"), [("/no/such/folder/run.pickle", 2), ("/dev/full", 3)])
@pytest.mark.parametrize("flag", ["--snapshot", "--trace"])
def test_what_cannot_be_written_is_said(flag, path, status):
    run = fit(*TINYLLAMA.split(), flag, path, status=(status,))
    assert path in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--max-batch", "one size"),
        ("--max-seq", "one size"),
        ("--runtime article", "article"),
    ],
)
def test_a_timeline_is_of_one_run(arguments, why, tmp_path):
    path = tmp_path / "run.pickle"
    for flag in ("--snapshot", "--trace", "--verify"):
        question = ("--model", "gpt2-124m", "--vram", "24GB", *arguments.split())
        assert why in fit(*question, flag, path, status=(2,)).stderr
    assert not path.exists()


def test_a_timeline_is_of_one_card(tmp_path):
    run = subprocess.run(
        [program("fit"), "--model", "gpt2-124m", "--trace", tmp_path / "run.json"],
        capture_output=True,
        text=True,
        check=False,
        env={"LD_LIBRARY_PATH": str(tmp_path)},
    )
    assert run.returncode in (0, 2)  # on a machine with a GPU it is that one
    assert run.returncode == 0 or "--gpu or --vram" in run.stderr
