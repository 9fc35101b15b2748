"""What of objects' settings stays beside keywords, which go before them."""

import itertools

import pytest
import vramfit
from adapters_test import (
    ACCELERATE,
    AXOLOTL,
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
        (REENTRANT, {"gradient_checkpointing": True}, "reentrant"),
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


def test_a_switch_that_is_off_is_of_its_own_format():
    four_bits = {**LLAMA, "quantization_config": BitsAndBytesConfig()}
    assert asked(**four_bits, load_in_4bit=False)[0]["quant"] is None
    as_it_is = asked(**four_bits)[0]["quant"]
    assert asked(**four_bits, load_in_8bit=False)[0]["quant"] == as_it_is
    assert asked(**four_bits, load_in_8bit=False, load_in_4bit=True)[0]["quant"] == as_it_is


@pytest.mark.parametrize(
    "keywords",
    [{}, {"strategy": "fsdp-accelerate"}, {"fsdp": "full_shard"}, {"torch_dtype": "float32"}],
)
def test_a_trainers_bf16_is_mixed_precision_under_fsdp(keywords):
    arguments = with_(TrainingArguments, fsdp="full_shard", bf16=True)
    given = of_args(arguments, gpus=2, **keywords)
    assert given["mixed_precision"] == {"param": "bf16", "reduce": "bf16"}
    assert given["precision"] == "fp32"


def test_mixed_precision_is_over_fp32_weights_whatever_they_were():
    """accelerate's fsdp2_prepare_model upcasts what is trained."""
    arguments = with_(TrainingArguments, fsdp="full_shard", bf16=True)
    given, not_honoured = asked(**LLAMA, args=arguments, gpus=2, dtype="bfloat16")
    assert (given["precision"], given["autocast"]) == ("fp32", None)
    assert given["mixed_precision"]["param"] == "bf16"
    assert not_honoured == ()


def test_a_trainer_and_accelerate_may_both_say_bf16():
    arguments = with_(TrainingArguments, bf16=True)
    once = {"distributed_type": "NO", "mixed_precision": "bf16"}
    given = of_args(arguments, accelerate=once)
    assert (given["autocast"], given["loss_only"]) == ("bf16", True)
    of_a_file = asked(accelerate=once, axolotl={**AXOLOTL, "bf16": True})[0]
    assert of_a_file["autocast"] == "bf16"
    own_step = asked(**LLAMA, train=True, accelerate=once)[0]
    assert (own_step["autocast"], own_step["loss_only"]) == ("bf16", False)


def test_another_strategy_leaves_the_ones_settings():
    arguments = with_(TrainingArguments, fsdp="shard_grad_op", ddp_bucket_cap_mb=50)
    assert of_args(arguments, gpus=2)["reshard_after_forward"] is False
    assert of_args(arguments, gpus=2, reshard_after_forward=True)["reshard_after_forward"] is True
    assert of_args(arguments, gpus=2, fsdp="full_shard")["reshard_after_forward"] is True
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
    arguments = with_(SFTConfig, bf16=True, ddp_bucket_cap_mb=50)
    given, not_honoured = asked(
        model="llama2-7b", args=arguments, accelerate=ACCELERATE, lora=LoraConfig(), train=False
    )
    assert (given["mode"], given["batch"], given["gpus"]) == ("inference", 4, 1)
    assert "lora=16: of training" in not_honoured


def test_inference_is_nobodys_by_omission():
    with pytest.raises(vramfit.BadInput, match=r"only with (--)?train"):
        asked(**LLAMA, accelerate=ACCELERATE)


@pytest.mark.parametrize("flags", [{"max_batch": True}, {"max_batch": True, "batch": None}])
def test_what_is_searched_for_is_no_objects_to_say(flags):
    run = {"model": "gpt2-124m", "args": SFTConfig(), "gpu": "rtx4090"}
    assert vramfit.estimate(**run, **flags).largest == vramfit.max_batch(**run).largest


def test_a_flag_given_twice():
    with pytest.raises(vramfit.BadInput, match="given more than once, perhaps by another name"):
        vramfit.estimate(model="gpt2-124m", batch=1, per_device_train_batch_size=2)


FOUR_BITS = {"quantization_config": BitsAndBytesConfig(), "lora": LoraConfig()}
AXES = [
    ({"runtime": ["pytorch", "vramfit"], "optimizer": ["adamw"]}, {}),
    ({"precision": ["fp32", "bf16"]}, {}),
    ({"strategy": ["ddp", "fsdp-accelerate", "zero1"], "gpus": [2, 4], "batch": [1, 2]}, {}),
    ({"quant": ["nf4", "int8", None], "lora": [4, 8]}, FOUR_BITS),
    ({"quant": ["nf4", "int8"]}, FOUR_BITS),
    ({"gradient_checkpointing_kwargs": [REENTRANT, {"use_reentrant": False}]}, {}),
    ({"train": [True, False]}, FOUR_BITS),
    ({"batch": [None, 8], "accumulate": [None, 1]}, {}),
    ({"args": [TrainingArguments(), with_(TrainingArguments, bf16=True)]}, {"precision": "fp32"}),
]


@pytest.mark.parametrize(("axes", "objects"), AXES, ids=[next(iter(axes)) for axes, _ in AXES])
def test_each_row_of_a_sweep_is_the_estimate_of_its_combination(axes, objects):
    pytest.importorskip("pandas")
    fixed = {
        **{"model": "llama3.2-1b", "seq": 64, "gpu": "h200"},
        **{"args": with_(TrainingArguments, bf16=True), **objects},
    }
    fixed = {name: value for name, value in fixed.items() if name not in axes}
    table = vramfit.sweep(**fixed, **axes, progress=False)
    assert len(table) > 1
    assert set(table["error"]) == {""}
    points = itertools.product(*axes.values())
    for point, row in zip(points, table.to_dict("records"), strict=True):
        chosen = dict(zip(axes, point, strict=True))
        answer = vramfit.estimate(**fixed, **chosen)
        assert (row["total"], row["fits"]) == (answer.total, answer.fits)
        assert set(answer.not_honoured) <= set(table.attrs["not_honoured"])


def test_an_object_that_cannot_be_predicted_is_in_its_row():
    pytest.importorskip("pandas")
    deepspeed = with_(TrainingArguments, deepspeed="zero3.json")
    run = {"model": "gpt2-124m", "gpu": "h200", "progress": False}
    table = vramfit.sweep(**run, args=[TrainingArguments(), deepspeed], batch=[1, 2])
    assert table["error"][:2].tolist() == ["", ""]
    assert all("deepspeed" in error for error in table["error"][2:])


def test_a_refused_value_of_an_axis_is_in_its_row():
    pytest.importorskip("pandas")
    run = {"model": "gpt2-124m", "args": TrainingArguments(), "gpu": "h200", "progress": False}
    table = vramfit.sweep(**run, attn_implementation=["sdpa", "flash_attention_2"])
    assert table["error"][0] == ""
    assert "flash_attention_2" in table["error"][1]
