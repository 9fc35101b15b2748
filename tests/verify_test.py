"""`fit --verify`: a recorded snapshot beside the prediction, and where they part."""

import json
import pickle

import pytest
from timelines import FIXTURES, TINYLLAMA, fit, verified


def test_our_own_snapshot_agrees(written):
    answer = verified(written["path"], *written["question"], status=0)
    assert answer["allocations"]["matched"] == answer["allocations"]["recorded"] > 0
    assert answer["only_run"] == answer["only_predicted"] == answer["at_peak"] == []
    assert answer["out_of_memory"] == (not written["answer"]["fits"])


def test_what_a_script_adds_is_found_by_its_line(recorded):
    answer = verified(recorded["path"], *recorded["question"], status=1)
    first = answer["first_difference"]
    assert first["run"] == {"bytes": 20_000_256, "what": "train.py:76 in run"}
    assert first["predicted"] is None
    assert first["at"]["step"] == 2
    assert answer["only_run"] == [{"bytes": 20_000_256, "count": 1, "what": "train.py:76 in run"}]
    assert answer["only_predicted"] == []
    assert answer["at_peak"] == answer["only_run"]
    assert answer["reserved"]["run"] == answer["reserved"]["predicted"]


def without(snapshot: dict, size: int) -> dict:
    """Without the blocks of one size that only the script has."""
    trace = [e for e in snapshot["device_traces"][0] if e["size"] != size]
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["requested_size"] == size:
                block.update(state="inactive", requested_size=0)
    return {**snapshot, "device_traces": [trace]}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_real_recording_agrees(recorded, protocol, tmp_path):
    path = tmp_path / "run.pickle"
    snapshot = without(pickle.loads(recorded["path"].read_bytes()), 20_000_000)
    path.write_bytes(pickle.dumps(snapshot, protocol=protocol))
    answer = verified(path, *recorded["question"], status=0)
    assert answer["requested"]["run"] == answer["requested"]["predicted"] == 439_449_088
    assert answer["late"] is answer["ends"] is None


@pytest.mark.parametrize("kept", [3000, 2000, 1200])
def test_a_recording_whose_first_entries_are_lost_is_compared_from_there(recorded, kept, tmp_path):
    path = tmp_path / "run.pickle"
    snapshot = without(pickle.loads(recorded["path"].read_bytes()), 20_000_000)
    snapshot["device_traces"][0] = snapshot["device_traces"][0][-kept:]
    path.write_bytes(pickle.dumps(snapshot))
    answer = verified(path, *recorded["question"], status=0)
    assert answer["late"]["in_use"]["run"] == answer["late"]["in_use"]["predicted"] > 30_000_000


def test_a_run_that_reserves_more_parts(recorded, tmp_path):
    path = tmp_path / "run.pickle"
    snapshot = without(pickle.loads(recorded["path"].read_bytes()), 20_000_000)
    more = {"action": "segment_alloc", "addr": 1 << 50, "size": 1 << 30, "stream": 0, "frames": []}
    snapshot["device_traces"][0].append(more)
    snapshot["segments"].append(
        {"device": 0, "address": 1 << 50, "total_size": 1 << 30, "blocks": []}
    )
    path.write_bytes(pickle.dumps(snapshot))
    answer = verified(path, *recorded["question"], status=1)
    assert answer["parts_in"] == ["reserved"]
    assert answer["reserved"]["run"] - answer["reserved"]["predicted"] == 1 << 30


def test_a_run_that_ran_out_of_memory_parts_from_one_that_fits(recorded, tmp_path):
    path = tmp_path / "run.pickle"
    snapshot = without(pickle.loads(recorded["path"].read_bytes()), 20_000_000)
    trace = snapshot["device_traces"][0]
    oom = {"action": "oom", "device_free": 0, "size": 1 << 30, "stream": 0, "frames": []}
    snapshot["device_traces"][0] = [*trace[: len(trace) * 3 // 4], oom]
    path.write_bytes(pickle.dumps(snapshot))
    assert verified(path, *recorded["question"], status=1)["parts_in"] == ["ending"]
    text = fit(*recorded["question"], "--verify", path, status=(1,)).stdout
    assert "DIFFER: the recording ran out of memory; the prediction fits on NVIDIA H200\n" in text


def test_a_run_that_goes_on_parts_from_one_that_runs_out(recorded, tmp_path):
    path = tmp_path / "run.pickle"
    snapshot = without(pickle.loads(recorded["path"].read_bytes()), 20_000_000)
    path.write_bytes(pickle.dumps(snapshot))
    question = [*recorded["question"], "--vram", "900MB"]
    assert not json.loads(fit(*question, "--json").stdout)["fits"]
    assert verified(path, *question, status=1)["parts_in"] == ["ending"]


def test_a_recording_of_loading_alone_is_refused(written, tmp_path):
    snapshot = pickle.loads(written["path"].read_bytes())
    trace = snapshot["device_traces"][0]
    loading = [e for e in trace if e["user_metadata"].startswith("loaded")]
    assert loading
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps({**snapshot, "segments": [], "device_traces": [loading]}))
    run = fit(*written["question"], "--verify", path, status=(2,))
    assert "no more than the loading" in run.stderr
    assert run.stderr.count("\n") == 1


def test_another_question_parts(recorded):
    answer = verified(recorded["path"], *recorded["question"], "--attention", "eager", status=1)
    assert answer["only_predicted"]


RECORDINGS = [json.loads(line) for line in (FIXTURES / "allocator.jsonl").read_text().splitlines()]
OPTIMIZERS = {"adamw_fused": "adamw-fused", "adamw_loop": "adamw-loop", "sgdm": "sgd-momentum"}


def snapshot_of(recording: dict) -> dict:
    """The events of scripts/record_allocator.py in the form of a snapshot."""
    trace, blocks, reserved = [], [], 0

    def add(action, addr, size):
        trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "frames": []})

    for event in recording["events"]:
        if isinstance(event, str):
            bytes_ = int(event[1:])
            add({"s": "segment_alloc", "r": "segment_free"}[event[0]], 0, bytes_)
            reserved += bytes_ if event[0] == "s" else -bytes_
        elif event >= 0:
            blocks.append(((len(blocks) + 1) << 36, event))
            add("alloc", *blocks[-1])
        else:
            for action in ("free_requested", "free_completed"):
                add(action, *blocks[-event - 1])
    segment = {"device": 0, "address": 0, "total_size": reserved, "blocks": []}
    return {"segments": [segment], "device_traces": [trace]}


@pytest.mark.parametrize(
    "recording",
    [r for r in RECORDINGS if r["case"]["mode"] == "train"],
    ids=lambda recording: recording["case"]["model"],
)
def test_every_recorded_training_agrees(recording, tmp_path):
    case = recording["case"]
    (tmp_path / "config.json").write_text(json.dumps(case["arch"]))
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(snapshot_of(recording)))
    question = ["--config", str(tmp_path), "--train", "--gpu", "h200", "--precision", case["dtype"]]
    question += ["--batch", str(case["b"]), "--seq", str(case["s"])]
    question += ["--optimizer", OPTIMIZERS.get(case["opt"], case["opt"])]
    question += ["--attention", case.get("attn", "sdpa")]
    question += ["--autocast", case["amp"]] if "amp" in case else []
    question += ["--checkpoint", "full"] if case.get("ckpt") else []
    if "lora" in case:
        question += ["--lora", str(case["lora"]["r"])]
        question += ["--lora-targets", ",".join(case["lora"]["targets"])]
    # What the process has mapped elsewhere decides where segments lie, and so which of two free
    # blocks of one size is cut.
    differs = case["model"] == "small-llama" and "amp" in case
    answer = verified(path, *question, status=1 if differs else 0)
    assert answer["parts_in"] == (["reserved"] if differs else [])
    assert answer["reserved"]["predicted"] == pytest.approx(answer["reserved"]["run"], rel=0.002)
    assert answer["requested"]["run"] == answer["requested"]["predicted"]
    assert answer["allocations"]["matched"] == answer["allocations"]["recorded"] > 100


class Evil:
    def __reduce__(self):
        return (print, ("ran",))


TRACE = [{"action": "alloc", "addr": 4096, "size": 512}]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no pickle"),
        (b"PK\x03\x04 a checkpoint", "no pickle"),
        (b'{"json": 1}', "no pickle"),
        (pickle.dumps([1], protocol=0), "no pickle"),
        (pickle.dumps(Evil()), "would run code"),
        (pickle.dumps({"segments": [], "device_traces": [[Evil()]]}), "would run code"),
        (pickle.dumps({"segments": []}, protocol=4)[:-3], "ends in the middle"),
        (pickle.dumps([]), "no list 'segments'"),
        (pickle.dumps({"segments": []}), "no list 'device_traces'"),
        (pickle.dumps({"segments": [], "device_traces": [[]]}), "no history"),
        (pickle.dumps({"segments": [], "device_traces": [[{}]]}), "no 'action'"),
        (pickle.dumps({"segments": [{}], "device_traces": [TRACE]}), "total_size"),
        (pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc"}]]}), "addr"),
        (
            pickle.dumps({"segments": [], "device_traces": [[{**TRACE[0], "size": -1}]]}),
            "'size' is -1",
        ),
        (
            pickle.dumps({"segments": [], "device_traces": [[{**TRACE[0], "size": 2**70}]]}),
            "no number 'size'",
        ),
    ],
)
def test_what_is_no_snapshot_gets_one_line(content, why, tmp_path):
    path = tmp_path / "run.pickle"
    path.write_bytes(content)
    run = fit(*TINYLLAMA.split(), "--verify", path, status=(2,))
    assert why in run.stderr
    assert "ran" not in run.stdout.split()
    assert run.stderr.count("\n") == 1
    assert len(run.stderr) <= 200


@pytest.mark.parametrize("flag", ["--snapshot", "--trace", "--formulas", "--strict", "--verbose"])
def test_verify_is_an_answer_of_its_own(flag, tmp_path):
    extra = [flag, str(tmp_path / "x")] if flag in ("--snapshot", "--trace") else [flag]
    run = fit(*TINYLLAMA.split(), "--verify", tmp_path / "run.pickle", *extra, status=(2,))
    assert "answer of its own" in run.stderr
