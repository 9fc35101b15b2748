"""What quantized checkpoints' files hold by their config, and what is refused: without torch."""

import pytest
from vramfit.standin import StandInError
from vramfit.standin._headers import of_cut
from vramfit.standin._quantized import quantized, skipped
from vramfit.standin._safetensors import Stored, read, write

PLAIN = {
    "model.layers.0.mlp.up_proj.weight": Stored("BF16", (512, 256)),
    "model.layers.0.mlp.down_proj.weight": Stored("BF16", (256, 512)),
    "model.norm.weight": Stored("BF16", (256,)),
}


def made(quantization, tensors=PLAIN):
    return quantized(tensors, quantization, lambda module: module.endswith("_proj"))


def scheme(bits, targets):
    weights = {"num_bits": bits, "type": "int", "strategy": "channel", "symmetric": True}
    return {"targets": targets, "weights": weights}


def test_fp8_without_blocks_is_laid_out_as_who_wrote_it_does():
    """AutoFP8's config has no weight_block_size; of transformers' it is there, and null."""
    told = {"quant_method": "fp8", "activation_scheme": "static"}
    layer = "model.layers.0.mlp.up_proj"
    for more, scales in (
        ({}, {"weight_scale", "input_scale"}),
        ({"weight_block_size": None}, {"weight_scale_inv", "activation_scale"}),
    ):
        tensors = made({**told, **more})
        of_layer = {name: of for name, of in tensors.items() if name.startswith(layer)}
        assert of_layer.pop(f"{layer}.weight") == Stored("F8_E4M3", (512, 256))
        assert of_layer == {f"{layer}.{scale}": Stored("F32", ()) for scale in scales}
    assert skipped({**told, "ignored_layers": ["lm_head"]}) == ["lm_head"]


@pytest.mark.parametrize("in_order", [1, -1])
def test_a_target_s_own_name_comes_before_patterns_and_those_before_all_linear(in_order):
    groups = [
        scheme(8, ["Linear"]),
        scheme(4, ["re:.*_proj"]),
        scheme(2, ["model.layers.0.mlp.down_proj"]),
    ][::in_order]
    told = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {f"group_{at}": group for at, group in enumerate(groups)},
    }
    tensors = made(told)
    assert tensors["model.layers.0.mlp.up_proj.weight_packed"].shape == (512, 256 * 4 // 32)
    assert tensors["model.layers.0.mlp.down_proj.weight_packed"].shape == (256, 512 * 2 // 32)


@pytest.mark.parametrize(
    ("quantization", "says"),
    [
        ({}, "''"),
        ({"quant_method": "bitnet"}, "bitnet"),
        ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "marlin"),
        ({"quant_method": "gptq", "bits": 4, "is_marlin_format": True}, "is_marlin_format"),
        ({"quant_method": "awq", "version": "GEMV"}, "gemv"),
        ({"quant_method": "awq", "format": "gemv_fast"}, "gemv_fast"),
        ({"quant_method": "awq", "backend": "llm-awq"}, "llm-awq"),
        ({"quant_method": "fp8", "modules_to_convert": ["embed"]}, "modules_to_convert"),
        ({"quant_method": "mxfp4"}, "none of its weights"),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "marlin-24",
                "config_groups": {"group_0": scheme(4, ["Linear"])},
            },
            "marlin-24",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "float-quantized",
                "sparsity_config": {"format": "sparse-24-bitmask"},
                "config_groups": {"group_0": scheme(8, ["Linear"])},
            },
            "sparsity_config",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_laid_out_in_another_way_is_not_guessed(quantization, says):
    with pytest.raises(KeyError) as raised:
        made(quantization)
    assert says in str(raised.value)


def test_a_backend_is_no_layout():
    told = {"quant_method": "awq", "bits": 4, "version": "GEMM"}
    assert made({**told, "backend": "marlin"}) == made(told)


def test_experts_in_one_tensor_are_not_left_as_they_are():
    experts = {"model.layers.0.mlp.experts.up_proj": Stored("BF16", (8, 256, 512))}
    with pytest.raises(KeyError, match="all experts of a layer"):
        made({"quant_method": "fp8", "weight_block_size": [128, 128]}, PLAIN | experts)
    eight_bits = made({"quant_method": "bitsandbytes", "load_in_8bit": True}, PLAIN | experts)
    assert eight_bits["model.layers.0.mlp.experts.up_proj"] == Stored("BF16", (8, 256, 512))


def test_a_file_s_header_is_read_back(tmp_path):
    file = tmp_path / "model.safetensors"
    write(file, PLAIN, {"format": "pt"})
    assert read(file) == PLAIN
    assert of_cut([str(file)]) is None
    file.write_bytes(file.read_bytes()[:-1])
    assert of_cut([str(file)]) == {file.name: PLAIN}


@pytest.mark.parametrize(
    "header",
    [
        "[404]",
        '{"a": 1}',
        '{"a": {"dtype": "F32"}}',
        '{"a": {"dtype": "F32", "shape": 3}}',
        '{"a": {"dtype": "F32", "shape": [-3]}}',
        '{"a": {"dtype": "F32", "shape": [1.5]}}',
        '{"a": {"dtype": "F32", "shape": [true]}}',
        '{"a": {"dtype": "F32", "shape": "12"}}',
        '{"a": {"dtype": "FLOAT", "shape": [3]}}',
        '{"a": {"dtype": ["F32"], "shape": [3]}}',
        "[" * 100_000,
        "\xff",
    ],
    ids=lambda header: header[:45],
)
def test_a_header_that_is_none_is_refused_in_a_line(tmp_path, header):
    file = tmp_path / "model.safetensors"
    text = header.encode("latin-1")
    file.write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(StandInError) as raised:
        of_cut([str(file)])
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("length", [0, 1, 2**63, 2**64 - 1])
def test_a_header_s_length_is_not_believed(tmp_path, length):
    file = tmp_path / "model.safetensors"
    file.write_bytes(length.to_bytes(8, "little"))
    with pytest.raises(StandInError, match="ends within its header"):
        read(file)
