"""Checkpoints as they are stored, quantized, of which a config or headers are all that there is."""

import http.server
import json
import threading

import pytest
from stood_in import ROOT, needs_torch, play, run_script

pytestmark = needs_torch

LINES = (ROOT / "data/reference/stored/load.jsonl").read_text().splitlines()
MEASURED = [json.loads(line) for line in LINES[1:]]

_BEGIN = """
import os, torch
from vramfit.standin._session import make_weights
make_weights()
import transformers
folder = os.environ["MODEL"]

def tell(*values):
    print(json.dumps(values))
"""


def folder_of(place, config) -> str:
    (place / "config.json").write_text(json.dumps(config))
    return str(place)


def name(row) -> str:
    return row["case"]["name"] + (" dequantized" if row["case"]["dequantize"] else "")


@pytest.mark.parametrize("row", MEASURED, ids=name)
def test_it_loads_as_an_h100_was_measured_to(tmp_path, row):
    """And goes forward; of LLM.int8() that depends on values, which were zeros there."""
    script = """
import sys
sys.path.insert(0, os.environ["PROGRAM"])
import measure_stored
measure_stored.made = lambda place, config: folder
tell(measure_stored.measured(json.loads(os.environ["CASE"])))
"""
    folder = folder_of(tmp_path, row["case"]["config"])
    (told,) = play(
        _BEGIN + script,
        MODEL=folder,
        CASE=json.dumps(row["case"]),
        PROGRAM=str(ROOT / "data/reference/stored"),
        HF_DEACTIVATE_ASYNC_LOAD="1",
    )
    if row["case"]["name"].endswith("bnb8"):
        del told["forward"], row["result"]["forward"]
    assert json.dumps(told) == json.dumps(row["result"])


LLAMA_8B = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16",
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip
LLAMA_70B = {
    **LLAMA_8B, "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64,
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "dtype": "bfloat16",
    "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 24,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
    "num_local_experts": 32, "num_experts_per_tok": 4, "attention_bias": True,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}  # fmt: skip


def _of_reference(case) -> dict:
    (row,) = (row for row in MEASURED if name(row) == case)
    return row["case"]["config"]["quantization_config"]


def _in_order_of_activations(quantization) -> dict:
    groups = {
        name: {**group, "weights": {**group["weights"], "actorder": "group"}}
        for name, group in quantization["config_groups"].items()
    }
    return {**quantization, "config_groups": groups}


# AutoGPTQ wrote a bias of zeros, two bytes a number, for each of a layer's products.
_BIASES = 2 * 32 * (4096 + 1024 + 1024 + 4096 + 2 * 14336 + 4096)


@pytest.mark.parametrize(
    ("config", "quantization", "published"),
    [
        # openai/gpt-oss-20b: the total_size of its index.
        (GPT_OSS_20B, {"quant_method": "mxfp4"}, 13_761_264_768),
        # Sums over the headers of RedHatAI's files: Meta-Llama-3.1-8B-Instruct-FP8-dynamic, its
        # quantized.w4a16, and Llama-3.3-70B-Instruct-quantized.w4a16.
        (LLAMA_8B, _of_reference("llama-fp8dyn"), 9_083_953_152),
        (
            LLAMA_8B,
            {"quant_method": "gptq", "bits": 4, "group_size": 128},
            5_735_587_840 - _BIASES,
        ),
        (LLAMA_70B, _in_order_of_activations(_of_reference("llama-w4a16")), 39_525_311_232),
    ],
    ids=["mxfp4", "fp8", "gptq", "w4a16"],
)
def test_files_are_of_the_published_size(tmp_path, config, quantization, published):
    script = """
from pathlib import Path
from vramfit.standin._safetensors import read
files, _ = transformers.modeling_utils._get_resolved_checkpoint_files(
    folder, variant=None, gguf_file=None, use_safetensors=None, user_agent=None,
    is_remote_code=False)
tell(sum(tensor.nbytes for file in files for tensor in read(Path(file)).values()),
     sum(os.stat(file).st_blocks * 512 for file in files))
"""
    folder = folder_of(tmp_path, {**config, "quantization_config": quantization})
    size, on_disk = play(_BEGIN + script, MODEL=folder)
    assert size == published
    assert on_disk < 4 << 20


_SMALL = {**LLAMA_8B, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 1,
          "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 1000}  # fmt: skip
_LOAD = """
model, info = transformers.AutoModelForCausalLM.from_pretrained(
    folder, device_map="cuda", output_loading_info=True)
tell(sorted(info["unexpected_keys"]))
"""


def _true_header(place) -> bytes:
    """The header of the small model's, as safetensors writes it, with a tensor of which its config
    knows nothing."""
    script = """
config = transformers.LlamaConfig(**json.loads(os.environ["CONFIG"]))
model = transformers.LlamaForCausalLM(config)
tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
import safetensors.torch
safetensors.torch.save_file(
    {**tensors, "extra.weight": torch.zeros(8)}, folder + "/model.safetensors", {"format": "pt"})
tell(open(folder + "/model.safetensors", "rb").read(9000).hex())
"""
    (told,) = play(_BEGIN + script, MODEL=str(place), CONFIG=json.dumps(_SMALL))
    first = bytes.fromhex(told)
    return first[: 8 + int.from_bytes(first[:8], "little")]


def test_a_file_that_ends_behind_its_header_is_enough(tmp_path):
    (tmp_path / "true").mkdir()
    header = _true_header(tmp_path / "true")
    place = tmp_path / "model"
    place.mkdir()
    folder = folder_of(place, _SMALL)
    assert play(_BEGIN + _LOAD, MODEL=folder) == [[]]
    (place / "model.safetensors").write_bytes(header)
    assert play(_BEGIN + _LOAD, MODEL=folder) == [["extra.weight"]]
    (place / "model.safetensors").write_bytes(header[:-9])
    assert "ends within its header" in play(_BEGIN + _CAUGHT, MODEL=folder)[0]
    (place / "model.safetensors").write_bytes(b"a page of the Hub that says 404")
    assert "ends within its header" in play(_BEGIN + _CAUGHT, MODEL=folder)[0]
    (place / "model.safetensors").write_bytes((5).to_bytes(8, "little") + b"[404]")
    assert "does not begin as safetensors" in play(_BEGIN + _CAUGHT, MODEL=folder)[0]


def test_a_file_that_lacks_less_than_its_header_is_cut_too(tmp_path):
    """So that nothing but where the numbers begin tells."""
    (tmp_path / "true").mkdir()
    header = _true_header(tmp_path / "true")
    whole = (tmp_path / "true/model.safetensors").read_bytes()
    place = tmp_path / "model"
    place.mkdir()
    folder = folder_of(place, _SMALL)
    (place / "model.safetensors").write_bytes(whole[: -len(header) // 2])
    assert play(_BEGIN + _LOAD, MODEL=folder) == [["extra.weight"]]


_CAUGHT = """
try:
    transformers.AutoModelForCausalLM.from_pretrained(folder, device_map="cuda")
except Exception as error:
    tell(str(error))
"""


class _Hub(http.server.SimpleHTTPRequestHandler):
    """As much of the Hub as tells a checkpoint's headers: files, and parts of them."""

    def do_HEAD(self):
        self._answer(with_body=False)

    def do_GET(self):
        self._answer(with_body=True)

    def _answer(self, *, with_body):
        owner, name, _, _, file = self.path.lstrip("/").split("?")[0].split("/")[:5]
        path = self.server.folder / f"{owner}--{name}" / file
        self.server.asked.append((self.command, file, self.headers.get("range")))
        if not path.exists():
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = path.read_bytes()
        told = self.headers.get("range", "").removeprefix("bytes=")
        if told:
            first, last = map(int, told.split("-"))
            body = body[first : last + 1]
        self.send_response(206 if told else 200)
        for key, value in {
            "Content-Length": str(len(body)),
            "ETag": '"0123456789012345678901234567890123456789"',
            "X-Repo-Commit": "0" * 40,
        }.items():
            self.send_header(key, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        """Nowhere."""


@pytest.fixture
def hub(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    server.folder, server.asked = tmp_path / "hub", []
    server.folder.mkdir()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_hub_is_asked_for_headers_alone(tmp_path, hub):
    repository = hub.folder / "someone--small"
    repository.mkdir()
    header = _true_header(repository)
    folder_of(repository, _SMALL)
    (repository / "model.safetensors").write_bytes(header.ljust(1 << 20, b"\0"))
    script = """
from transformers import AutoModelForCausalLM
_, info = AutoModelForCausalLM.from_pretrained(
    "someone/small", device_map="cuda", output_loading_info=True)
assert {*info["unexpected_keys"]} == {"extra.weight"}, info
"""
    ran = run_script(
        tmp_path, script, "--random-weights",
        environment={
            "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HUB_OFFLINE": "0",
            "HF_HOME": str(tmp_path / "cache"), "no_proxy": "127.0.0.1",
        },
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    read = [asked for asked in hub.asked if asked[:2] == ("GET", "model.safetensors")]
    assert read and all(asked[2] is not None for asked in read)


def test_a_method_that_nobody_knows_is_refused(tmp_path):
    folder = folder_of(tmp_path, {**_SMALL, "quantization_config": {"quant_method": "bitnet"}})
    script = f"from transformers import AutoModelForCausalLM as M\nM.from_pretrained({folder!r})\n"
    ran = run_script(tmp_path, script, "--random-weights")
    assert ran.returncode == 2
    assert "is quantized by bitnet, and what its files hold is not told by its config" in ran.stderr
