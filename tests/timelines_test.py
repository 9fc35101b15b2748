"""Timelines: snapshots in PyTorch's format and Chrome traces that fit writes, and --verify."""

import gzip
import importlib.util
import json
import pickle
import pickletools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from built import ROOT, program
from schema_test import objections, without_strangers

FIXTURES = ROOT / "tests" / "fixtures" / "pytorch"
TINYLLAMA = "--model tinyllama-1.1b --train --batch 2 --seq 512 --gpu rtx4090"
QUESTIONS = {
    "training": "--model gpt2-124m --train --accumulate 2 --seq 512 --gpu rtx4090",
    "oom": "--model gpt2-124m --train --batch 8 --seq 512 --vram 6GB",
    "gives_back": "--model gpt2-124m --train --checkpoint full --batch 5 --seq 512",
    "inference": "--model gpt2-124m --batch 2 --seq 300 --generate 4 --vram 8GB",
    "own": "--model gpt2-124m --train --runtime vramfit --vram 24GB",
    "own_oom": "--model gpt2-124m --train --runtime vramfit --batch 32 --vram 6GB",
}


def fit(*arguments: str, status: tuple[int, ...] = (0, 1)) -> subprocess.CompletedProcess:
    run = subprocess.run(
        [program("fit"), *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode in status, (run.returncode, run.stderr)
    return run


@pytest.fixture(scope="module", params=QUESTIONS)
def written(request, tmp_path_factory) -> dict:
    """An answer, and the files that were written beside it."""
    folder = tmp_path_factory.mktemp(request.param)
    files = {"snapshot": folder / "run.pickle", "trace": folder / "run.json"}
    question = QUESTIONS[request.param].split()
    if request.param == "gives_back":  # a little less than all it would like to have
        total = json.loads(fit(*question, "--vram", "80GB", "--json").stdout)["total"]
        question += ["--vram", str(total - (40 << 20))]
    run = fit(*question, "--json", "--snapshot", files["snapshot"], "--trace", files["trace"])
    return {
        "name": request.param,
        "question": question,
        "answer": json.loads(run.stdout),
        "path": files["snapshot"],
        "snapshot": pickle.loads(files["snapshot"].read_bytes()),
        "trace": json.loads(files["trace"].read_text()),
    }


def replay(snapshot: dict) -> dict:
    """The trace from empty, as memory_viz draws it."""
    live, allocated, reserved = {}, 0, 0
    by_category = Counter()
    peak = {"allocated": 0, "reserved": 0, "by_category": {}}
    for entry in snapshot["device_traces"][0]:
        size = entry["size"]
        if entry["action"] == "alloc":
            assert entry["addr"] not in live
            live[entry["addr"]] = entry
            allocated += size
            by_category[entry["category"]] += size
            if allocated > peak["allocated"]:
                peak.update(allocated=allocated, by_category=dict(by_category))
        elif entry["action"] == "free_completed":
            born = live.pop(entry["addr"])
            assert born["size"] == size
            allocated -= size
            by_category[born["category"]] -= size
        elif entry["action"] in ("segment_alloc", "segment_map"):
            reserved += size
            peak["reserved"] = max(peak["reserved"], reserved)
        elif entry["action"] == "segment_free":
            reserved -= size
    return {**peak, "live": live, "reserved_at_end": reserved}


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


def verified(path: Path, *question: str, status: int) -> dict:
    answer = json.loads(fit(*question, "--verify", path, "--json", status=(status,)).stdout)
    assert objections(without_strangers("verify.schema.json"), answer) == []
    assert answer["agree"] == (status == 0)
    text = fit(*question, "--verify", path, status=(status,)).stdout
    assert ("AGREE" if status == 0 else "PART") in text
    assert max(map(len, text.splitlines())) <= 100
    return answer


def test_our_own_snapshot_agrees(written):
    answer = verified(written["path"], *written["question"], status=0)
    assert answer["allocations"]["matched"] == answer["allocations"]["recorded"] > 0
    assert answer["only_run"] == answer["only_predicted"] == answer["at_peak"] == []
    assert answer["out_of_memory"] == (not written["answer"]["fits"])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> dict:
    """What PyTorch 2.11 recorded on an H200: two steps, and a tensor of 20 MB beside the model."""
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "snapshot.pickle"
    path.write_bytes(gzip.decompress((FIXTURES / "snapshot.pickle.gz").read_bytes()))
    config = {
        "model_type": "llama",
        "hidden_size": 256,
        "intermediate_size": 704,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 32000,
        "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "hidden_act": "silu",
    }
    (folder / "config.json").write_text(json.dumps(config))
    question = f"--config {folder} --train --precision bf16 --batch 1 --seq 512 --gpu h200".split()
    return {"path": path, "question": question, "snapshot": pickle.loads(path.read_bytes())}


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
    assert "PART: the recording ran out of memory; the prediction fits on NVIDIA H200\n" in text


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
    answer = verified(path, *question, status=0)
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
