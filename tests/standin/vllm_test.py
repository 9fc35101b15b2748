"""vLLM under `vramfit run`: its blocks, and what its stages take, beside what an H200 took.

It wants some GB of packages, so it is in no lock: VRAMFIT_VLLM names a Python that has vLLM 0.26,
torch and transformers, and neither FlashInfer nor what else was absent there (`env` of the file).
"""

import json
import os
from pathlib import Path

import pytest
from stood_in import ROOT

PYTHON = Path(os.environ.get("VRAMFIT_VLLM") or "/nowhere")
needs_vllm = pytest.mark.skipif(
    not PYTHON.exists(), reason="VRAMFIT_VLLM names no Python with vLLM"
)

LINES = (ROOT / "data/reference/vllm/memory.jsonl").read_text().splitlines()
CASES = {row["case"]["name"]: row for row in map(json.loads, LINES[1:])}
REGION = 2 << 20  # what a driver maps at a time
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


def start(run, folder, case):
    """Its engine, as it was measured."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps({**case["arch"], **case["config"]}))
    engine = {"dtype": "bfloat16", "load_format": "dummy", "skip_tokenizer_init": True}
    asked = json.dumps({**engine, **case["engine"], "model": str(model)})
    script = _SCRIPT.format(ballast=case["ballast"])
    return run(script, gpu="h200", before=(PYTHON,), after=(asked,))


def _graphs_missed(name: str) -> int:
    """Bytes that the rule of CUDA graphs knows nothing of: launches with large arguments; of AWQ's
    nobody knows why."""
    return (120 if name == "llama2-7b awq" else 48) << 20


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


@needs_vllm
def test_a_server_is_filled_and_ended(run, tmp_path):
    case = CASES["llama2-7b eager"]["case"]
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(case["arch"]))
    script = "from vllm.entrypoints.cli.main import main\nif __name__ == '__main__': main()\n"
    ran = run(
        script, gpu="rtx4090", before=(PYTHON,),
        after=("serve", str(model), "--load-format", "dummy", "--skip-tokenizer-init",
               "--enforce-eager", "--max-model-len", "2048", "--port", "8765"),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [stage["name"] for stage in ran.answer["stages"]][-2:] == ["serve", "sample"]
    assert ran.answer["vllm"]["beyond"]["serving"] is not None


@needs_vllm
def test_several_gpus_are_refused_in_a_line(run, tmp_path):
    case = json.loads(json.dumps(CASES["llama2-7b eager"]["case"]))
    case["engine"]["tensor_parallel_size"] = 2
    (tmp_path / "model").mkdir()
    asked = {**case["engine"], "model": str(tmp_path / "model"), "load_format": "dummy"}
    (tmp_path / "model/config.json").write_text(json.dumps(case["arch"]))
    script = _SCRIPT.format(ballast=0)
    ran = run(script, "--gpus", 2, gpu="h200", before=(PYTHON,),
              after=(json.dumps({**asked, "skip_tokenizer_init": True}),))  # fmt: skip
    assert ran.returncode == 2
    assert "several GPUs" in ran.stderr.splitlines()[-1]
