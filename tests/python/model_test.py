"""vramfit model's command line, and what `vramfit` says of models that it can run: no torch is
needed."""

import json
import os
import subprocess
import sys

import pytest
from installed import PACKAGE

MODEL = ("llama2-7b", "--gpu", "rtx4090")
TRAIN = (*MODEL, "--train")


def vramfit(*arguments, path=PACKAGE) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "vramfit", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(path)},
    )


def refused(*arguments) -> str:
    ran = vramfit("model", *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    [line] = ran.stderr.splitlines()
    return line.removeprefix("vramfit: error: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "one model, as in vramfit model"),
        ((*MODEL, "--config", "x.json"), "one model, as in vramfit model"),
        ((*MODEL, "another"), "'another' is a second"),
        (("llama2-7x",), "did you mean 'llama2-7b'"),
        (("nobody/nothing",), "hf download nobody/nothing config.json"),
        ((*MODEL, "--gpus", 2), "vramfit run --gpus N -- torchrun train.py"),
        ((*MODEL, "--runtime", "vramfit"), "it is transformers' own code that runs"),
        ((*MODEL, "--max-seq"), "only --max-batch is searched for"),
        ((*MODEL, "--nonsense"), "no --nonsense here; vramfit model --help"),
        ((*MODEL, "--optim", "adamw_torch"), "--optimizer: only with --train"),
        ((*TRAIN, "--max_new_tokens", 5), "--generate: only with generation"),
        ((*TRAIN, "--lora-targets", "q_proj"), "--lora-targets: only with --lora"),
        ((*TRAIN, "--load_in_8bit"), "--quant: quantised weights are trained with --lora RANK"),
        ((*TRAIN, "--lora", 8, "--quant", "int8", "--double-quant"), "only with --quant nf4"),
        ((*TRAIN, "--loss-only", "--trainer", "trl"), "--loss-only: only with --trainer none"),
        ((*TRAIN, "--max-batch", "--batch", 4), "contradict each other: one is searched for"),
        ((*TRAIN, "--device-map", "auto"), "auto is for generation"),
        ((*MODEL, "--padded", "--unpadded"), "contradict each other"),
        ((*MODEL, "--batch", 0), "--batch: is '0'; a whole number from 1"),
        ((*MODEL, "--attn_implementation", "flash_attention_2"), "not predicted yet"),
        ((*MODEL, "--bf16"), "--autocast: only with --train"),
        (("llama2-7b", "--gpu", "rtx9999"), "rtx9999"),
        ((*MODEL, "--python", "/no/such/python"), "no program '/no/such/python'"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_line(arguments, says):
    assert says in refused(*arguments)


def test_a_config_that_is_none_is_refused(tmp_path):
    file = tmp_path / "config.json"
    for text in ("[1]", "{}", "no JSON"):
        file.write_text(text)
        assert "which has a model_type" in refused(file, "--gpu", "h200")


def test_help_lists_the_flags():
    told = vramfit("model", "--help")
    assert told.returncode == 0
    for flag in ("--max-batch", "--trainer", "--lora-targets", "--json", "--gpu"):
        assert flag in told.stdout


@pytest.fixture
def unknown(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "granitemoehybrid"}))
    return tmp_path


@pytest.fixture
def with_torch(tmp_path):
    """A path on which torch and transformers seem to be, beside the package."""
    for name in ("torch", "transformers"):
        (tmp_path / "installed" / name).mkdir(parents=True)
        (tmp_path / "installed" / name / "__init__.py").touch()
    return os.pathsep.join([str(PACKAGE), str(tmp_path / "installed")])


def test_a_model_without_a_step_is_one_to_be_run(unknown, with_torch):
    asked = ("--model", str(unknown), "--train", "--json", "--batch", "4")
    plain, told = vramfit(*asked), vramfit(*asked, path=with_torch)
    assert (plain.returncode, told.returncode) == (2, 2)
    assert "its own code runs by" not in plain.stderr
    assert told.stderr == (
        f"{plain.stderr.rstrip()}; its own code runs by: vramfit model --model {unknown} "
        "--train --batch 4\n"
    )


def test_what_is_wrong_with_a_flag_is_no_reason_to_run(with_torch):
    told = vramfit("--model", "llama2-7b", "--nonsense", path=with_torch)
    assert told.returncode == 2
    assert "vramfit model" not in told.stderr
