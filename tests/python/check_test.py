"""The gate: vramfit check."""

import os
import subprocess
import sys

import pytest
from adapters_test import ACCELERATE, AXOLOTL
from installed import PACKAGE

yaml = pytest.importorskip("yaml")


def command(*arguments, **more):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    line = [sys.executable, "-m", "vramfit", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, env=environment, check=False, **more
    )


@pytest.fixture
def files(tmp_path):
    flags = {
        "model": "llama2-7b",
        "train": True,
        "per_device_train_batch_size": 2,
        "seq": 512,
        "learning_rate": 2e-5,
    }
    lora = {"adapter": "lora", "load_in_4bit": False, "optimizer": "adamw_torch"}
    for name, values in {
        "flags": flags,
        "typed": {**flags, "torch_dtype": "bfloat16"},
        "untrained": {**flags, "train": None, "optim": "adamw_torch"},
        "contradicts": {"model": "llama2-7b", "double_quant": True},
        "axolotl": AXOLOTL,
        "lora": {**AXOLOTL, **lora},
        "accelerate": ACCELERATE,
        "once": {"distributed_type": "NO", "mixed_precision": "bf16"},
        "float8": {**ACCELERATE, "mixed_precision": "fp8"},
    }.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "list.yaml").write_text("- a")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["flags.yaml", "--gpu", "h100-80gb"], 0, "FITS: "),
        (["flags.yaml", "--gpu", "rtx4090"], 1, "OOM: "),
        (["flags.yaml", "--batch=1", "--gpu", "h100-80gb"], 0, "FITS: "),
        (["axolotl.yaml", "--gpu", "rtx4090"], 0, "FITS: "),
        (["accelerate.yaml", "flags.yaml", "--gpu", "h100-80gb"], 0, "FITS: "),
        (["flags.yaml", "--gpu", "rtx4090", "--runtime", "vramfit", "--strict"], 1, "OOM: "),
        (["lora.yaml", "--gpu", "h200", "--runtime", "vramfit"], 0, "FITS: "),
        (["axolotl.yaml", "--gpu", "rtx4090", "--quant", "int8"], 0, "FITS: "),
        (["axolotl.yaml", "--gpu", "rtx4090", "--max-batch"], 0, "FITS: "),
        (["axolotl.yaml", "--vram", "24GB", "--max-batch"], 0, "TIGHT: "),
        (["accelerate.yaml", "typed.yaml", "--gpu", "h200"], 0, "FITS: "),
        (["once.yaml", "axolotl.yaml", "--gpu", "rtx4090"], 0, "FITS: "),
        (["axolotl.yaml", "once.yaml", "--gpu", "rtx4090"], 0, "FITS: "),
    ],
)
def test_one_line_and_a_status(files, arguments, status, says):
    ended = command("check", *arguments, cwd=files)
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(says)
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "cannot read 'none.yaml'"),
        (["/dev/zero"], "cannot read '/dev/zero': it is no regular file"),
        (["broken.yaml"], "is no YAML"),
        (["list.yaml"], "no keys and values"),
        (["flags.yaml", "--gpu", "no-such"], "gpu: unknown"),
        (["flags.yaml", "--nonsense"], "unknown flag"),
        (["--gpu", "h200"], "no file"),
        (["flags.yaml", "--gpu"], "gpu"),
        (["flags.yaml", "--json"], "json: check says one line"),
        (["untrained.yaml", "--gpu", "h200"], "only with --train"),
        (["accelerate.yaml", "--model", "llama2-7b", "--gpu", "h200"], "only with --train"),
        (["flags.yaml", "--gpus=2", "--mixed-precision=bf16", "--gpu", "h200"], "mixed-precision"),
        (["contradicts.yaml", "--gpu", "h200"], "double-quant: only with"),
        (["float8.yaml", "flags.yaml", "--gpu", "h200"], "mixed_precision: 'fp8' is not predicted"),
    ],
)
def test_bad_input_is_one_line(files, arguments, says):
    ended = command("check", *arguments, cwd=files)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("vramfit check: error: ")
    assert ended.stderr.count("\n") == 1
    assert says in ended.stderr


CUT = "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin"
LIGER = {"liger_rms_norm": True}
EVALUATED = {"val_set_size": 0.1}


@pytest.mark.parametrize(
    ("more", "gpu", "status", "says"),
    [
        ({"liger_fused_linear_cross_entropy": True}, "rtx4090", 0, "FITS: it takes at most "),
        ({"liger_fused_linear_cross_entropy": True}, "rtx3060", 4, "MAY FIT: it takes at most "),
        (
            {"plugins": ["axolotl.integrations.liger.LigerPlugin"], "liger_rms_norm": True},
            "rtx3060",
            4,
            "MAY FIT: it takes at most ",
        ),
        ({"plugins": [CUT]}, "rtx3060", 4, "MAY FIT: it takes at most "),
        ({"plugins": [CUT], "cut_cross_entropy": False}, "rtx3060", 1, "OOM: "),
        ({"liger_cross_entropy": True}, "rtx3060", 4, "MAY FIT: it takes at most "),
        ({"liger_swiglu": True}, "rtx3060", 4, "MAY FIT: it takes at most "),
        ({**LIGER, **EVALUATED, "eval_batch_size": 4}, "rtx3060", 4, "MAY FIT: it takes at most "),
        ({**LIGER, **EVALUATED, "eval_batch_size": 5}, "rtx3060", 1, "OOM: "),
        ({**LIGER, "load_in_4bit": False, "adapter": "lora"}, "rtx3060", 1, "OOM: its parameters "),
        (
            {"cut_cross_entropy": True, "lora_dropout": 0.1},
            "rtx3060",
            4,
            "MAY FIT: it takes at most ",
        ),
        ({"cut_cross_entropy": True, "peft_use_dora": True}, "rtx3060", 1, "OOM: "),
        ({}, "rtx3060", 1, "OOM: "),
    ],
)
def test_what_takes_less_than_is_predicted_may_fit(tmp_path, more, gpu, status, says):
    """Exit status 4, where nobody can say without running it."""
    values = {**AXOLOTL, "sequence_len": 2048, "micro_batch_size": 4, **more}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(values))
    ended = command("check", "run.yaml", "--gpu", gpu, cwd=tmp_path)
    assert ended.stdout.startswith(says), ended.stdout
    assert ended.returncode == status
    assert ("vramfit run -- SCRIPT" in ended.stdout) == (status == 4)


@pytest.mark.parametrize(
    ("batch", "status", "says"),
    [
        (1, 0, "FITS: it takes at most "),
        (100_000, 4, "MAY FIT: it takes at most "),
    ],
)
def test_at_most_is_said_of_many_cards_too(files, batch, status, says):
    (files / "liger.yaml").write_text(yaml.safe_dump({**AXOLOTL, **LIGER}))
    ended = command("check", "liger.yaml", f"--batch={batch}", cwd=files)
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(says)
    assert " cards; --gpu names one" in ended.stdout


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        ({"use_liger_kernel": True}, 4, "MAY FIT: it takes at most "),
        ({"use_liger_kernel": True, "eval_strategy": False}, 4, "MAY FIT: it takes at most "),
        ({"use_liger_kernel": True, "eval_strategy": "steps"}, 1, "OOM: "),
        ({"use_liger_kernel": False}, 1, "OOM: "),
    ],
)
def test_flags_of_transformers_that_are_not_predicted(files, more, status, says):
    values = yaml.safe_load((files / "flags.yaml").read_text())
    (files / "more.yaml").write_text(yaml.safe_dump({**values, **more}))
    ended = command("check", "more.yaml", "--gpu", "rtx4090", cwd=files)
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(says)
    assert ended.stderr.count("not honoured: ") == sum(map(bool, more.values()))


def test_a_file_may_come_by_a_pipe(files):
    line = f"{sys.executable} -m vramfit check <(cat flags.yaml) --gpu h100-80gb"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    ended = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        cwd=files,
        env=environment,
    )
    assert (ended.returncode, ended.stdout[:6]) == (0, "FITS: ")


def test_what_is_not_honoured_is_said(files):
    ended = command("check", "axolotl.yaml", "--gpu", "rtx4090", cwd=files)
    assert "not honoured: sample_packing=True" in ended.stderr


def test_the_command_is_fit(files):
    assert command("--version").stdout.startswith("vramfit 0.")
    ended = command("--model", "gpt2-124m", "--gpu", "rtx4090", "--vram", "1GB")
    assert ended.returncode == 1
    assert "OOM" in ended.stdout
    assert command("--model", "none").returncode == 2
    assert command("check", "--help").stdout.startswith("Usage: vramfit check")
