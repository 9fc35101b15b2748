"""vramfit model: transformers' own code on the stand-in, by a script of ours."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest
from exact.cases import every_case
from stood_in import EXACT, OF_TORCHAUDIO, PACKAGE, ROOT, forked, needs_torch

pytestmark = needs_torch

SCHEMA = {
    **json.loads((ROOT / "docs" / "schemas" / "dry_run.schema.json").read_text()),
    "unevaluatedProperties": False,
}


def run(*arguments, python=None) -> subprocess.CompletedProcess:
    """By a forked Python, unless it is named."""
    by = ("--python", python or forked())
    return subprocess.run(
        [sys.executable, "-m", "vramfit", "model", *map(str, arguments), *by],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)},
    )


def answer(*arguments, python=None) -> dict:
    ran = run(*arguments, "--json", "-", python=python)
    assert ran.returncode in (0, 1), ran.stderr
    found = json.loads(ran.stdout)
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(found)) == []
    return found


def refused(*arguments, python=None) -> str:
    """In one line."""
    ran = run("--gpu", "h200", *arguments, python=python)
    assert ran.returncode == 2, ran.stderr
    [line] = ran.stderr.splitlines()
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Writes a config.json, and returns its folder."""

    def write(**config):
        place = tmp_path_factory.mktemp("model")
        (place / "config.json").write_text(json.dumps(config))
        return place

    return write


TINY = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 512,
}

# What of a measured case is asked for, by flag.
CASES = {
    "pytorch_families/gemma3-270m/train/bf16/sgd/b:2/s:777/eager": (
        "--train --steps 2 --optimizer sgd --batch 2 --seq 777 --attention eager"
    ),
    "pytorch_more/tinyllama-1.1b/train/fp32/bf16/adamw_fused/b:4/s:1024/accum:2": (
        "--train --steps 2 --precision fp32 --autocast bf16 --batch 4 --seq 1024 --accumulate 2"
    ),
    "pytorch_families/qwen3-8b-6l/infer/bf16/3x900/eager": (
        "--batch 3 --seq 900 --attention eager"
    ),
    "pytorch_trainers/qwen3-0.6b/SFT/seq:1024/bf16/per_device_train_batch_size:4": (
        "--train --trainer trl --batch 4 --seq 1024"
    ),
    "pytorch_more_families/olmoe-1b-7b/train/bf16/adamw_fused/b:2/s:1024": (
        "--train --steps 2 --batch 2 --seq 1024"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_takes_what_was_measured(folder, name):
    case = next(case for case in every_case() if case.name == name)
    flags = CASES[name].split()
    if "--precision" not in flags:
        flags += ["--precision", "bf16"]
    took = answer(folder(**case.setting["arch"]), *flags, "--gpu", "h200")
    steps = [read for name, read in case.measured.items() if name not in ("context", "load")]
    left = 0 if "--trainer" in flags else OF_TORCHAUDIO
    assert took["levels"]["allocated"] + left == max(read["peak"] for read in steps)
    assert took["levels"]["reserved"] == max(read["peak_reserved"] for read in steps)


@pytest.mark.parametrize("how", ["--train", "--train --trainer trainer", "--generate 2"])
def test_the_largest_batch_takes_what_it_takes_in_a_process_of_its_own(folder, how):
    model = folder(**TINY)
    asked = (model, *how.split(), "--seq", 256, "--vram", "3GiB")
    found = answer(*asked, "--max-batch")
    largest = found["max_batch"]
    assert largest > 1
    alone, more = (answer(*asked, "--batch", batch) for batch in (largest, largest + 1))
    assert (alone["fits"], alone["levels"]) == (True, found["levels"])
    assert (more["fits"], more["ended"]) == (False, "memory")


def test_no_batch_completes_on_a_small_card(folder):
    found = answer(folder(**TINY), "--train", "--max-batch", "--vram", "1400MiB")
    assert (found["max_batch"], found["fits"]) == (0, False)


def test_a_batch_that_fails_for_another_reason_than_memory(folder):
    """As a script: with its traceback, once, though two are tried at a time."""
    model = folder(**TINY, num_key_value_heads=3)
    ran = run(model, "--train", "--max-batch", "--gpu", "h200", python=EXACT)
    assert (ran.returncode, ran.stdout) == (3, "")
    lines = ran.stderr.splitlines()
    assert lines[0] == "With a batch of 1:"
    assert ran.stderr.count("Traceback") == 1
    assert lines[-2].startswith("RuntimeError: ")
    assert lines[-1] == "vramfit: the script itself failed: it ended with status 1"


def test_a_family_that_fit_does_not_know(folder):
    mixture = {**TINY, "model_type": "qwen3_moe", "num_experts": 8, "moe_intermediate_size": 64}
    lora = ("--train", "--lora", 8)
    model = folder(**mixture)
    assert "PEFT has none of its own for qwen3_moe" in refused(model, *lora)
    asked = (model, *lora, "--lora-targets", "q_proj,v_proj", "--gpu", "rtx4090")
    took = answer(*asked, python=EXACT)
    assert took["fits"]
    assert any("LoRA of rank 8" in line for line in took["about"])


def test_what_transformers_does_not_have_is_refused_in_a_line(folder):
    assert "no model of the type 'llama9'" in refused(folder(model_type="llama9"))
    assert "no causal language model of 'vit'" in refused(folder(model_type="vit"))
    tiny = folder(**TINY)
    assert "unknown 'adam'; one of adamw-fused" in refused(tiny, "--train", "--optimizer", "adam")
    by_trainer = ("--train", "--trainer", "trainer", "--optimizer", "adamw-loop")
    assert "transformers' Trainer has no adamw-loop" in refused(tiny, *by_trainer)
    assert "transformers refuses" in refused(tiny, "--attention", "nobodys")
    assert "PEFT says" in refused(tiny, "--train", "--lora", 8, "--lora-targets", "nothing")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"num_hidden_layers": 1 << 70}, "num_hidden_layers: is 1180591620717411303424; a whole"),
        ({"hidden_size": -256}, "hidden_size: is -256; a whole number from 1 to 1048576"),
        ({"hidden_size": "wide"}, "transformers refuses: Validation error for field 'hidden_size'"),
        ({"num_attention_heads": 0}, "transformers refuses: "),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_sizes_that_no_model_has(folder, wrong, says):
    assert says in refused(folder(**{**TINY, **wrong}))
