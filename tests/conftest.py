"""What tests of several files begin with."""

import gzip
import json
import pickle

import pytest
from compared import report
from timelines import FIXTURES, QUESTIONS, fit


@pytest.fixture
def old(tmp_path):
    return report(tmp_path / "old.json", {"Training/x": {"mem_allocated": 1000, "params": 7}})


@pytest.fixture(scope="session", params=QUESTIONS)
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


@pytest.fixture(scope="session")
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
