"""vLLM under `vramfit run`: its blocks, and what its stages take, beside what an H200 took.

It wants some GB of packages, so it is in no lock: VRAMFIT_VLLM names a Python that has vLLM 0.26,
torch and transformers, and neither FlashInfer nor what else was absent there (`env` of the file);
VRAMFIT_VLLM_NEWEST one that has vLLM 0.33, of which nothing was measured.
"""

import json
import os
from pathlib import Path

import pytest
from stood_in import ROOT, needs_torch


def _python(variable):
    """That one, and what skips a test where there is none."""
    python = Path(os.environ.get(variable) or "/nowhere")
    reason = f"{variable} names no Python with vLLM"
    return python, pytest.mark.skipif(not python.exists(), reason=reason)


PYTHON, needs_vllm = _python("VRAMFIT_VLLM")
NEWEST, needs_newest = _python("VRAMFIT_VLLM_NEWEST")
with_each_release = pytest.mark.parametrize(
    "python",
    [pytest.param(PYTHON, marks=needs_vllm), pytest.param(NEWEST, marks=needs_newest)],
    ids=["0.26", "0.33"],
)

LINES = (ROOT / "data/reference/vllm/memory.jsonl").read_text().splitlines()
CASES = {row["case"]["name"]: row for row in map(json.loads, LINES[1:])}
MIB = 1 << 20
REGION = 2 * MIB  # what a driver maps at a time
BLOCK = 2 * 32 * 16 * 4096 * 2  # bytes: keys and values, layers, tokens, their width in bf16
# Of its stages, the phase that was measured as each ended.
STAGES = {"load": "loaded", "profile": "profiled", "kv_cache": "kv", "warm_up": "ready"}

_SCRIPT = """
import json, sys, torch
from vllm import LLM
ballast = torch.empty({ballast}, dtype=torch.uint8, device="cuda") if {ballast} else None
LLM(**json.loads(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def _as_measured(monkeypatch, tmp_path):
    for name, value in {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
        "VLLM_USE_DEEP_GEMM": "0",
        "VLLM_CACHE_ROOT": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)


def start(run, folder, case, *flags, python=PYTHON):
    """Its engine, as it was measured."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps({**case["arch"], **case["config"]}))
    engine = {"dtype": "bfloat16", "load_format": "dummy", "skip_tokenizer_init": True}
    asked = json.dumps({**engine, **case["engine"], "model": str(model)})
    script = _SCRIPT.format(ballast=case["ballast"])
    return run(script, *flags, gpu="h200", before=(python,), after=(asked,))


def _graphs_missed(name: str) -> int:
    """Bytes that the rule of CUDA graphs knows nothing of: launches with large arguments; of AWQ's
    nobody knows why."""
    return (120 if name == "llama2-7b awq" else 48) * MIB


@needs_vllm
@pytest.mark.parametrize("name", CASES)
def test_it_takes_what_was_measured(run, tmp_path, name):
    case, measured = CASES[name]["case"], CASES[name]["result"]
    if case["compile_cache"] == "warm":
        start(run, tmp_path, case)
    ran = start(run, tmp_path, case)
    engine = ran.answer["vllm"]
    if "error" in measured:
        assert (ran.returncode, ran.answer["ended"]) == (1, "refused")
        assert engine["refusal"][:60] == measured["error"]["text"][:60]
        return
    assert ran.returncode == 0, ran.stderr
    # The driver maps 2 MiB more or less in one start than in another.
    blocks = measured["vllm"]["num_gpu_blocks"]
    assert engine["cache"]["blocks"] == pytest.approx(blocks, rel=2e-5)
    phases = {phase["phase"]: phase for phase in measured["phases"]}
    stages = {stage["name"]: stage for stage in ran.answer["stages"]}
    for stage, phase in STAGES.items():
        here, there = stages[stage], phases[phase]
        assert here["after"] == pytest.approx(there["alloc"], abs=2 * REGION)
        assert here["reserved"] == pytest.approx(there["reserved"], abs=2 * REGION)
        most = _graphs_missed(name) if stage == "warm_up" else 2 * REGION
        assert here["device_used"] == pytest.approx(there["device_used"], abs=most)


@with_each_release
def test_its_blocks_are_what_is_left(run, tmp_path, python):
    ran = start(run, tmp_path, CASES["llama2-7b eager"]["case"], python=python)
    assert ran.returncode == 0, ran.stderr
    engine = ran.answer["vllm"]
    left = engine["requested"] - sum(engine["counted"].values())
    assert engine["cache"]["blocks"] == left // BLOCK
    assert engine["counted"]["weights"] == pytest.approx(2 * 6_738_415_616, rel=1e-3)
    assert engine["needed"] == 4096 // 16 * BLOCK
    assert engine["longest"] == 4096
    assert [stage["name"] for stage in ran.answer["stages"]] == [*STAGES, "serve"]
    assert not [told for told in ran.answer["assumptions"] if "vLLM" in told["what"]]


@with_each_release
def test_what_it_lacks_is_told_where_it_refuses(run, tmp_path, python):
    ran = start(run, tmp_path, CASES["fail: context over cache"]["case"], python=python)
    engine = ran.answer["vllm"]
    assert (ran.returncode, ran.answer["ended"]) == (1, "refused")
    assert "larger than the available KV cache" in engine["refusal"]
    assert engine["lacks"] == engine["needed"] - engine["available"] > 0


@needs_torch
def test_a_release_that_nobody_tried_starts_all_the_same(run, tmp_path):
    """Its worker has another name, and where its cache is planned there is nothing."""
    for name in ("v1/worker/gpu_worker", "v1/core/kv_cache_planning"):
        file = tmp_path / "vllm" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "vllm/__init__.py").write_text("__version__ = '9.0'")
    ran = run(
        "import torch, vllm.v1.worker.gpu_worker, vllm.v1.core.kv_cache_planning\n"
        "torch.ones(1, device='cuda')"
    )
    assert ran.returncode == 0, ran.stderr
    notes = [told["what"] for told in ran.answer["assumptions"]]
    assert len(notes) == 3
    assert all(note.startswith("vLLM 9.0 is not as those that were tried") for note in notes)


@with_each_release
@pytest.mark.parametrize("gpus", [1, 2])
def test_a_server_is_filled_and_ended(run, tmp_path, python, gpus):
    case = CASES["llama2-7b eager"]["case"]
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(case["arch"]))
    script = "from vllm.entrypoints.cli.main import main\nif __name__ == '__main__': main()\n"
    ran = run(
        script, "--gpus", gpus, gpu="rtx4090", before=(python,),
        after=("serve", str(model), "--load-format", "dummy", "--skip-tokenizer-init",
               "--enforce-eager", "--max-model-len", "2048", "--port", "8765",
               "--tensor-parallel-size", str(gpus)),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [stage["name"] for stage in ran.answer["stages"]][-2:] == ["serve", "sample"]
    assert ran.answer["vllm"]["beyond"]["serving"] is not None


def over(gpus: int, name: str, **engine):
    """That case with its tensors split over so many GPUs."""
    case = CASES[name]["case"]
    return {**case, "engine": {**case["engine"], **engine, "tensor_parallel_size": gpus}}


def _in_load(mib: float) -> float:
    """What a tensor takes while vLLM loads, which splits no blocks from 20 MiB on."""
    return mib if mib < 20 else -(-mib // 2) * 2


@needs_vllm
def test_one_worker_of_two_answers_for_both(run, tmp_path):
    """Nobody measured it: half of each weight but norms, and what ranks meet by, to the byte."""
    alone, split = (
        start(run, tmp_path, over(gpus, "llama2-7b eager"), "--gpus", gpus) for gpus in (1, 2)
    )
    assert split.returncode == 0, split.stderr
    assert split.answer["processes"] == 1
    assert (split.answer["rank"]["rank"], split.answer["rank"]["ranks"]) == (0, 2)
    assert split.answer["unknown_calls"] == []

    one, two = alone.answer["vllm"], split.answer["vllm"]
    layer = (96, 32, 172, 86)  # MiB: query, key and value; output; gate and up; down
    weights = 32 * layer + 2 * (250,)  # embeddings and head
    less = sum(_in_load(mib) - _in_load(mib / 2) for mib in weights)
    assert one["counted"]["weights"] - two["counted"]["weights"] == less * MIB

    of_block = 16 * 32 * 2 * (32 // 2) * 128 * 2  # tokens, layers, K and V, heads, size, bytes
    assert two["cache"]["blocks"] == two["available"] // of_block

    loaded = [ran.answer["stages"][0] for ran in (alone, split)]
    beside = [stage["device_used"] - stage["reserved"] for stage in loaded]
    # Custom all-reduce: 8 MiB with signals before it, and 8 MiB; symmetric memory: 64 MiB and
    # signals behind it.
    assert beside[1] - beside[0] == _communicator() + (10 + 8 + 66) * MIB


def _communicator() -> int:
    """The first of NCCL's on an H200, after its first collective, without PyTorch's streams."""
    cards = json.loads((ROOT / "data/gpus.json").read_text())["cards"]
    card = next(card for card in cards if card["name"] == "h200")
    rows = card["overhead"]["runtimes"]
    parts = next(row["parts"] for row in rows if row["runtime"] == "pytorch")
    bytes_ = {name: part["bytes"] for name, part in parts.items()}
    return bytes_["process_group"] - bytes_["streams"] + bytes_["collectives"]


@with_each_release
def test_any_worker_captures_its_graphs(run, tmp_path, python):
    case = over(4, "llama2-7b", max_num_seqs=16)
    case["arch"] = {**case["arch"], "num_hidden_layers": 2}
    ran = start(run, tmp_path, case, "--gpus", 4, "--rank", 3, python=python)
    assert ran.returncode == 0, ran.stderr
    assert (ran.answer["rank"]["rank"], ran.answer["rank"]["ranks"]) == (3, 4)
    assert ran.answer["unknown_calls"] == []
    assert ran.answer["vllm"]["settings"]["cuda_graphs"] == "FULL_AND_PIECEWISE"


@needs_vllm
@pytest.mark.parametrize(
    ("engine", "flags", "why"),
    [
        ({"pipeline_parallel_size": 2}, ("--gpus", 2), "--pipeline-parallel-size"),
        ({"tensor_parallel_size": 2}, ("--gpus", 2, "--rank", 2), "2 workers, 0 to 1"),
        ({"tensor_parallel_size": 2, "distributed_executor_backend": "mp"}, (), "--gpus 2"),
    ],
)
def test_what_is_not_stood_in_for_is_refused_in_a_line(run, tmp_path, engine, flags, why):
    case = CASES["llama2-7b eager"]["case"]
    ran = start(run, tmp_path, {**case, "engine": {**case["engine"], **engine}}, *flags)
    assert ran.returncode == 2
    assert why in ran.stderr.splitlines()[-1]
