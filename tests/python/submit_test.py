"""vramfit submit-case: what it refuses, and what it makes of what a step's process tells."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest
import vramfit
from installed import PACKAGE, ROOT

MODEL = ("gpt2-124m",)
TRAIN = (*MODEL, "--train", "--batch", "2", "--seq", "64")
# In place of a Python that has PyTorch: tells what is told of a run on an H100.
STEP = """#!{python}
import json, sys
from pathlib import Path
asked = json.loads(Path(sys.argv[2]).read_text())
Path(sys.argv[2]).with_name("told.json").write_text(json.dumps({told!r}))
Path({seen!r}).write_text(json.dumps(asked))
sys.exit({status})
"""
TOLD = {
    "gpu": {"name": "NVIDIA H100 80GB HBM3", "total": 85_017_493_504, "capability": "9.0"},
    "versions": {"torch": "2.11.0", "transformers": "5.17.0", "cuda": "13.0"},
    "beside": [552_402_944, 804_061_184],
    "measured": {"allocated": 2_000_000_000, "reserved": 2_100_000_000},
}


@pytest.fixture
def submit(tmp_path):
    """Runs the command where a step tells `told`; with the line that it wrote and what the step
    was asked."""

    def run(*arguments, told=TOLD, status=0):
        step, seen, out = (tmp_path / name for name in ("step", "seen.json", "case.jsonl"))
        text = STEP.format(python=sys.executable, told=told, seen=str(seen), status=status)
        step.write_text(text)
        step.chmod(0o755)
        out.unlink(missing_ok=True)
        ran = subprocess.run(
            [sys.executable, "-m", "vramfit", "submit-case", "--python", step, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        )
        ran.case = json.loads(out.read_text()) if out.exists() else None
        ran.asked = json.loads(seen.read_text()) if seen.exists() else None
        return ran

    return run


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "one model, as in vramfit submit-case"),
        ((*MODEL, "--gpu", "h100"), "it is this machine's GPU that is measured"),
        ((*MODEL, "--gpus", "2"), "a case is of one GPU"),
        ((*MODEL, "--release", "2.13"), "it is the PyTorch that is there"),
        ((*TRAIN, "--trainer", "trl"), "by vramfit.watch, around it"),
        ((*MODEL, "--compile"), "not predicted without a run"),
        ((*MODEL, "--max-batch"), "of one batch: --batch N"),
        ((*MODEL, "--nonsense"), "no --nonsense here; vramfit submit-case --help"),
        ((*MODEL, "--lora", "8"), "--lora: only with --train"),
        ((*MODEL, "--sender", "a b"), "sender: is 'a b'"),
        ((*MODEL, "--out", "nowhere/case.jsonl"), "cannot be written: No such file or directory"),
        ((*MODEL, "--batch", "0"), "--batch: is '0'; a whole number from 1"),
        ((*MODEL, "--attention", "flash_attention_2"), "not predicted yet"),
        ((*MODEL, "--python", "/no/such/python"), "no program '/no/such/python'"),
    ],
)
def test_what_cannot_be_a_case_is_refused_in_a_line(submit, arguments, says):
    ran = submit(*arguments)
    assert (ran.returncode, ran.stdout, ran.case) == (2, "", None)
    [line] = ran.stderr.splitlines()
    assert says in line


def test_a_run_is_a_line_as_the_schema_says(submit):
    ran = submit(*TRAIN, "--sender", "somebody")
    assert ran.returncode == 0, ran.stderr
    schema = json.loads((ROOT / "docs" / "schemas" / "league.schema.json").read_text())
    part = {"$defs": schema["$defs"], "$ref": "#/$defs/case", "unevaluatedProperties": False}
    jsonschema.Draft202012Validator(part).validate(ran.case)
    assert {key: ran.case[key] for key in TOLD} == TOLD
    assert ran.case["question"]["gpu"] == "h100-80gb"
    assert json.dumps(ran.case) in ran.stdout.splitlines()  # all that is told is shown


def test_the_step_is_the_one_that_is_predicted(submit):
    """Nothing is left to another's defaults."""
    ran = submit(*TRAIN)
    question = dict(ran.case["question"])
    del question["gpu"], question["model"]
    assert question.keys() == {"train", "batch", "seq", "precision", "optimizer"}
    assert {key: ran.asked[key] for key in question} == question
    assert ran.asked["measured"] is True


def test_a_prediction_stands_beside_it(submit):
    said = vramfit.estimate(**submit(*TRAIN).case["question"]).levels
    told = submit(*TRAIN).stdout
    assert f"{said.allocated:,}" in told
    assert "2,000,000,000" in told


def test_a_run_that_had_no_room_is_an_outcome(submit):
    case = submit(*TRAIN, told={**TOLD, "measured": None}).case
    assert case["outcome"] == "OOM"
    assert "measured" not in case


def test_another_pytorch_is_asked_for_as_it_is(submit):
    def question(torch):
        return submit(*TRAIN, told={**TOLD, "versions": {**TOLD["versions"], "torch": torch}}).case[
            "question"
        ]

    assert question("2.13.1")["release"] == "2.13"
    assert "release" not in question("2.11.0")
    assert "release" not in question("3.1")  # nobody knows its rules


def test_a_card_is_known_though_its_driver_keeps_a_share(submit):
    gpu = {"name": "NVIDIA GeForce RTX 4060", "total": 7_940_800_512, "capability": "8.9"}
    assert submit(*TRAIN, told={**TOLD, "gpu": gpu}).case["question"]["gpu"] == "rtx4060"


def test_a_private_config_tells_its_shape_alone(submit, tmp_path):
    shape = {
        "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "vocab_size": 1000,
        "num_hidden_layers": 2, "num_attention_heads": 4, "architectures": ["LlamaForCausalLM"],
    }  # fmt: skip
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**shape, "_name_or_path": "secret"}))
    case = submit(str(folder), "--train", "--seq", "64").case
    assert case["question"]["config"] == shape
    assert "secret" not in json.dumps(case)


def test_a_step_that_fails_writes_nothing(submit):
    ran = submit(*TRAIN, told={}, status=1)
    assert (ran.returncode, ran.case) == (3, None)
    refused = submit(*TRAIN, told={"refused": "PyTorch 2.11.0 sees no GPU in this machine"})
    assert refused.returncode == 2
    assert "sees no GPU" in refused.stderr
    assert refused.case is None


def test_others_on_the_card_are_pointed_at(submit):
    told = submit(*TRAIN, told={**TOLD, "beside": [9 * 10**9, 9 * 10**9]}).stdout
    assert "does anything else use this GPU?" in told
    assert "anything else" not in submit(*TRAIN).stdout
