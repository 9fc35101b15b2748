"""What of objects' settings stays beside keywords, which go before them."""

import pytest
import vramfit
from adapters_test import (
    ACCELERATE,
    BitsAndBytesConfig,
    LoraConfig,
    SFTConfig,
    TrainingArguments,
    asked,
    with_,
)

LLAMA = {"model": "llama2-7b", "seq": 64}
REENTRANT = {"use_reentrant": True}


def of_args(arguments, **given):
    return asked(**LLAMA, args=arguments, **given)[0]


def test_none_is_as_good_as_no_keyword():
    nothing = dict.fromkeys(("batch", "optimizer", "loss_only", "checkpoint", "lora"))
    assert asked(model="llama2-7b", args=SFTConfig(), **nothing) == asked(
        model="llama2-7b", args=SFTConfig()
    )


@pytest.mark.parametrize(
    ("of_object", "keywords", "checkpoint"),
    [
        (None, {"gradient_checkpointing_kwargs": REENTRANT}, "reentrant"),
        (REENTRANT, {}, "reentrant"),
        (REENTRANT, {"gradient_checkpointing_kwargs": {"use_reentrant": False}}, "full"),
        (REENTRANT, {"gradient_checkpointing": True}, "full"),
        (REENTRANT, {"gradient_checkpointing": False}, None),
        (REENTRANT, {"checkpoint": "full"}, "full"),
        (REENTRANT, {"checkpoint": "none"}, None),
    ],
)
def test_checkpointing_and_its_details(of_object, keywords, checkpoint):
    arguments = with_(TrainingArguments, gradient_checkpointing_kwargs=of_object)
    assert of_args(arguments, **keywords)["checkpoint"] == checkpoint


@pytest.mark.parametrize(
    ("keywords", "format_", "double", "compute"),
    [
        ({}, "nf4", True, "bf16"),
        ({"load_in_4bit": True}, "nf4", True, "bf16"),
        ({"quant": "nf4"}, "nf4", True, "bf16"),
        ({"bnb_4bit_quant_type": "fp4"}, "fp4", True, "bf16"),
        ({"bnb_4bit_use_double_quant": False}, "nf4", False, "bf16"),
        ({"quant": "int8"}, "int8", False, None),
        ({"load_in_8bit": True}, "int8", False, None),
    ],
)
def test_the_same_format_keeps_an_objects_settings(keywords, format_, double, compute):
    given, _ = asked(**LLAMA, quantization_config=BitsAndBytesConfig(), **keywords)
    assert given["quant"] == {"format": format_, "double_quant": double, "compute": compute}


def test_quantization_can_be_switched_off():
    given, _ = asked(**LLAMA, quantization_config=BitsAndBytesConfig(), load_in_4bit=False)
    assert given["quant"] is None


@pytest.mark.parametrize(
    "keywords",
    [{}, {"strategy": "fsdp-accelerate"}, {"fsdp": "full_shard"}, {"torch_dtype": "float32"}],
)
def test_a_trainers_bf16_is_mixed_precision_under_fsdp(keywords):
    arguments = with_(TrainingArguments, fsdp="full_shard", bf16=True)
    given = of_args(arguments, gpus=2, **keywords)
    assert given["mixed_precision"] == {"param": "bf16", "reduce": "bf16"}
    assert given["precision"] == "fp32"


def test_mixed_precision_is_over_fp32_weights():
    arguments = with_(TrainingArguments, fsdp="full_shard", bf16=True)
    given, not_honoured = asked(**LLAMA, args=arguments, gpus=2, dtype="bfloat16")
    assert given["mixed_precision"] is None
    assert [line.partition("=")[0] for line in not_honoured] == ["bf16"]


def test_another_strategy_leaves_the_ones_settings():
    arguments = with_(TrainingArguments, fsdp="shard_grad_op", ddp_bucket_cap_mb=50)
    assert of_args(arguments, gpus=2)["reshard_after_forward"] is False
    assert of_args(arguments, gpus=2, reshard_after_forward=True)["reshard_after_forward"] is True
    ddp = {**LLAMA, "gpu": "h200", "gpus": 2, "strategy": "ddp"}
    by_hand = {"train": True, "batch": 4, "accumulate": 2, "checkpoint": "full", "loss_only": True}
    by_hand["optimizer"] = "adamw-fused"
    for megabytes in (50, 9):
        keyword = {"bucket_cap_mb": megabytes} if megabytes != 50 else {}
        of_object = vramfit.estimate(**ddp, args=arguments, **keyword)
        typed = vramfit.estimate(**ddp, **by_hand, bucket_cap_mb=megabytes)
        assert of_object.to_dict()["asked"] == typed.to_dict()["asked"]
        assert of_object.total == typed.total


def test_two_objects_may_both_shard():
    arguments = with_(TrainingArguments, fsdp="full_shard")
    assert of_args(arguments, accelerate=ACCELERATE)["strategy"] == "fsdp-accelerate"


def test_inference_leaves_what_is_of_training():
    given = of_args(with_(SFTConfig, bf16=True, ddp_bucket_cap_mb=50), train=False)
    assert (given["mode"], given["batch"]) == ("inference", 4)


@pytest.mark.parametrize("flags", [{"max_batch": True}, {"max_batch": True, "batch": None}])
def test_what_is_searched_for_is_no_objects_to_say(flags):
    run = {"model": "gpt2-124m", "args": SFTConfig(), "gpu": "rtx4090"}
    assert vramfit.estimate(**run, **flags).largest == vramfit.max_batch(**run).largest


def test_a_flag_given_twice():
    with pytest.raises(vramfit.BadInput, match="given more than once, perhaps by another name"):
        vramfit.estimate(model="gpt2-124m", batch=1, per_device_train_batch_size=2)


AXES = [
    {"runtime": ["pytorch", "vramfit"], "optimizer": ["adamw"]},
    {"precision": ["fp32", "bf16"]},
    {"strategy": ["ddp", "fsdp-accelerate", "zero1"], "gpus": [1, 2], "batch": [1, 2]},
    {"quant": ["nf4", "int8", None], "lora": [4, 8]},
    {"gradient_checkpointing_kwargs": [REENTRANT, {"use_reentrant": False}]},
    {"train": [True, False]},
    {"args": [TrainingArguments(), with_(TrainingArguments, per_device_train_batch_size=1)]},
]


@pytest.mark.parametrize("axes", AXES, ids=[next(iter(axes)) for axes in AXES])
def test_each_row_of_a_sweep_is_the_estimate_of_its_combination(axes):
    pandas = pytest.importorskip("pandas")
    fixed = {
        **{"model": "llama3.2-1b", "seq": 64, "gpu": "h200"},
        **{"args": with_(TrainingArguments, bf16=True), "lora": LoraConfig()},
        "quantization_config": None if "strategy" in axes else BitsAndBytesConfig(),
    }
    fixed = {name: value for name, value in fixed.items() if name not in axes}
    table = vramfit.sweep(**fixed, **axes, progress=False)
    assert len(table) > 1
    for row in table.to_dict("records"):
        chosen = {name: row[name] for name in axes}
        chosen = {
            name: None if pandas.isna(value) is True else value for name, value in chosen.items()
        }
        try:
            answer = vramfit.estimate(**fixed, **chosen)
            assert (row["error"], row["total"]) == ("", answer.total)
            assert set(answer.not_honoured) <= set(table.attrs["not_honoured"])
        except vramfit.BadInput as error:
            assert row["error"] == str(error)


def test_a_refused_value_of_an_axis_is_in_its_row():
    pytest.importorskip("pandas")
    run = {"model": "gpt2-124m", "args": TrainingArguments(), "gpu": "h200", "progress": False}
    table = vramfit.sweep(**run, attn_implementation=["sdpa", "flash_attention_2"])
    assert table["error"][0] == ""
    assert "flash_attention_2" in table["error"][1]
