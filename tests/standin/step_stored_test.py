"""vramfit model of checkpoints that are stored quantized: they are read as they are stored."""

import copy

import pytest
from step_test import TINY, answer, refused, run
from step_test import folder as folder  # noqa: PLC0414  a fixture
from stood_in import EXACT, needs_torch
from stored_test import MEASURED

pytestmark = needs_torch

OF_CASE = {row["case"]["name"]: row for row in MEASURED if not row["case"]["dequantize"]}
TRAIN = ("--train", "--lora", 8, "--seq", 64)


def _loaded(name, folder) -> tuple[dict, int]:
    """The answer, and how many bytes were allocated as its first forward began."""
    config = OF_CASE[name]["case"]["config"]
    how = ("--device-map", "cuda", "--seq", 64)  # read by from_pretrained, the plain one too
    found = answer(folder(**config), *how, "--gpu", "h100-80gb")
    [load] = [stage for stage in found["stages"] if stage["name"] == "load"]
    return found, load["after"]


@pytest.mark.parametrize(
    ("name", "method"), [("llama-bnb4", "bitsandbytes"), ("llama-w4a16", "compressed-tensors")]
)
def test_it_is_loaded_as_an_h100_was_measured_to(folder, name, method):
    """So much less than a plain one, with a prompt as long beside it."""
    (plain, of_plain), (found, loaded) = _loaded("llama-plain", folder), _loaded(name, folder)
    measured = [OF_CASE[case]["result"]["load"][0] for case in ("llama-plain", name)]
    assert of_plain - loaded == measured[0] - measured[1]
    about = " ".join(found["about"])
    assert f"bf16 over weights stored by {method}" in about
    assert "307,251,200 parameters" in about
    assert "307,251,200 parameters" in " ".join(plain["about"])


def test_what_transformers_unpacks_is_told_as_it_then_is(folder):
    """MXFP4's experts, where `kernels` is missing."""
    found, _ = _loaded("oss-mxfp4", folder)
    assert "weights stored by" not in " ".join(found["about"])
    said = "its files hold weights in mxfp4, which transformers unpacked as it read them"
    assert said in found["notes"]


def test_adapters_are_trained_over_bitsandbytes_weights(folder):
    """As over those that --quant makes of a plain one, but for how they came to the card."""
    stored = {
        **TINY,
        "quantization_config": OF_CASE["llama-bnb4"]["case"]["config"]["quantization_config"],
    }
    found = answer(folder(**stored), *TRAIN, "--precision", "bf16", "--gpu", "h200")
    made = answer(
        folder(**TINY), *TRAIN, "--precision", "bf16", "--gpu", "h200",
        "--quant", "nf4", "--double-quant",
    )  # fmt: skip
    for one, other in zip(found["stages"], made["stages"], strict=True):
        assert one["name"] == other["name"]
        if one["step"]:
            assert one["after"] == pytest.approx(other["after"], abs=8192)  # tables of 16 and 256


@pytest.mark.parametrize(
    ("name", "flags", "says"),
    [
        ("llama-fp8", (), "finegrained-fp8 kernel unavailable"),
        ("llama-fp8", TRAIN, "train nothing over weights quantised by fp8"),
        ("llama-fp8dyn", TRAIN, "train nothing over weights quantised by compressed-tensors"),
        ("llama-bnb4", ("--train",), "quantised by bitsandbytes are trained with --lora RANK"),
        ("llama-bnb4", ("--quant", "nf4"), "are quantised already, by bitsandbytes"),
    ],
)
def test_what_does_not_run_is_refused_in_a_line(folder, name, flags, says):
    config = copy.deepcopy(OF_CASE[name]["case"]["config"])
    # In a forked process compressed-tensors draws a bar.
    python = EXACT if name == "llama-fp8dyn" else None
    assert says in refused(folder(**config), "--seq", 64, *flags, python=python)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"quant_method": "gptq", "bits": 4}, "transformers refuses: Loading a GPTQ"),
        ({"quant_method": "no-such"}, "no-such"),
        ({}, "quant_method"),
        ("fp8", "quantization_config"),
        ([], "quantization_config"),
    ],
    ids=str,
)
def test_a_config_whose_method_is_not_there(folder, told, says):
    ran = run(folder(**TINY, quantization_config=told), "--seq", 64, "--gpu", "h200")
    assert ran.returncode == 2, ran.stderr
    [line] = ran.stderr.splitlines()
    assert says in line
