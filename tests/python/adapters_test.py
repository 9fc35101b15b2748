"""What people have in hand is read by its classes' names: stand-ins have those and the attributes
that are read."""

import enum
import sys
import types

import pytest
import vramfit


class Optim(str, enum.Enum):
    FUSED = "adamw_torch_fused"


class dtype:  # noqa: N801 - torch's
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class TrainingArguments:
    per_device_train_batch_size = 4
    gradient_accumulation_steps = 2
    gradient_checkpointing = True
    gradient_checkpointing_kwargs = None
    optim = Optim.FUSED
    bf16 = False
    fp16 = False
    deepspeed = None
    fsdp = ()
    torch_compile = False
    eval_strategy = "no"


class SFTConfig(TrainingArguments):
    max_length = 1024


class LoraConfig:
    r = 16
    target_modules = frozenset({"v_proj", "q_proj"})
    lora_dropout = 0.0
    bias = "none"


class BitsAndBytesConfig:
    load_in_4bit = True
    load_in_8bit = False
    bnb_4bit_quant_type = "nf4"
    bnb_4bit_compute_dtype = dtype("bfloat16")
    bnb_4bit_use_double_quant = True
    llm_int8_threshold = 6.0


class LlamaConfig:
    _name_or_path = "mine/llama"

    def to_dict(self):
        return {
            "model_type": "llama",
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "vocab_size": 1000,
            "max_position_embeddings": 2048,
            "dtype": dtype("bfloat16"),
        }


class LlamaForCausalLM:
    config = LlamaConfig()
    dtype = dtype("float32")


def with_(of, **changed):
    return type(of.__name__, (of,), changed)()


def asked(**given):
    answer = vramfit.estimate(gpu="rtx4090", **given)
    return answer.to_dict()["asked"], answer.not_honoured


def test_all_objects_together():
    given, not_honoured = asked(
        model="llama2-7b",
        args=SFTConfig(),
        lora=LoraConfig(),
        quantization_config=BitsAndBytesConfig(),
    )
    assert given["mode"] == "training"
    assert (given["batch"], given["seq"], given["accumulate"]) == (4, 1024, 2)
    assert (given["optimizer"], given["checkpoint"]) == ("adamw-fused", "full")
    assert given["lora"] == {"rank": 16, "targets": ["q_proj", "v_proj"]}
    assert given["quant"] == {"format": "nf4", "double_quant": True, "compute": "bf16"}
    assert not_honoured == ()


def test_a_trainer_keeps_the_loss_alone():
    given, _ = asked(model="llama2-7b", args=TrainingArguments(), seq=64)
    assert given["loss_only"] is True
    by_hand, _ = asked(model="llama2-7b", args=TrainingArguments(), seq=64, loss_only=False)
    assert by_hand["loss_only"] is False
    alone, _ = asked(model="llama2-7b", train=True, seq=64)
    assert alone["loss_only"] is False
    run = {"model": "llama2-7b", "seq": 64, "runtime": "vramfit", "optimizer": "adamw"}
    own, _ = asked(**run, args=TrainingArguments())
    assert "loss_only" not in own


def sft_config(monkeypatch, version, **more):
    """TRL's own, of a release."""
    monkeypatch.setitem(sys.modules, "trl", types.SimpleNamespace(__version__=version))
    of_trl = type("SFTConfig", (SFTConfig,), {"__module__": "trl.trainer.sft_config", **more})
    return type("MyConfig", (of_trl,), {})()


def test_an_sft_trainer_has_a_fused_head(monkeypatch):
    given, _ = asked(model="llama2-7b", args=sft_config(monkeypatch, "1.15.0"))
    assert given["fused_lm_head"] is True
    by_hand, _ = asked(
        model="llama2-7b", args=sft_config(monkeypatch, "1.17.0.dev0"), fused_lm_head=False
    )
    assert by_hand["fused_lm_head"] is False
    before, _ = asked(model="llama2-7b", args=sft_config(monkeypatch, "1.14.3"))
    assert before["fused_lm_head"] is False
    smoothed = sft_config(monkeypatch, "1.16.0", label_smoothing_factor=0.1)
    assert asked(model="llama2-7b", args=smoothed)[0]["fused_lm_head"] is False
    arguments = sft_config(monkeypatch, "1.16.0")
    given, not_honoured = asked(model="llama2-7b", args=arguments, strategy="ddp", gpus=2)
    assert given["fused_lm_head"] is False
    assert not_honoured[0].startswith("fused_lm_head=True: predicted of one GPU")
    run = {"model": "llama2-7b", "runtime": "vramfit", "optimizer": "adamw", "checkpoint": "full"}
    own, _ = asked(**run, args=arguments)
    assert "fused_lm_head" not in own


def test_keywords_go_before_objects():
    given, _ = asked(model="llama2-7b", args=SFTConfig(), per_device_train_batch_size=1, seq=64)
    assert (given["batch"], given["seq"]) == (1, 64)
    given, _ = asked(
        model="llama2-7b",
        args=SFTConfig(),
        lora=LoraConfig(),
        batch=2,
        optimizer="sgd",
        checkpoint="reentrant",
        lora_target_modules="q_proj",
    )
    assert (given["batch"], given["optimizer"], given["checkpoint"]) == (2, "sgd", "reentrant")
    assert given["lora"]["targets"] == ["q_proj"]


def test_what_is_searched_for_is_no_objects_to_say():
    run = {"model": "gpt2-124m", "args": SFTConfig(), "gpu": "rtx4090"}
    assert vramfit.max_batch(**run).largest.size > 4
    assert vramfit.max_seq(**run).largest.size == 1024
    with pytest.raises(vramfit.BadInput, match="contradict"):
        vramfit.max_batch(**run, batch=2)


def test_a_model_brings_its_config_and_its_type():
    of_config, _ = asked(config=LlamaConfig(), seq=64)
    assert (of_config["model"], of_config["precision"]) == ("mine/llama", "bf16")
    of_model, _ = asked(model=LlamaForCausalLM(), seq=64)
    assert of_model["precision"] == "fp32"
    amp, _ = asked(model=LlamaForCausalLM(), args=with_(TrainingArguments, bf16=True), seq=64)
    assert (amp["precision"], amp["autocast"]) == ("fp32", "bf16")


def test_what_is_not_honoured_is_named():
    arguments = with_(TrainingArguments, torch_compile=True, eval_strategy="steps")
    lora = with_(LoraConfig, use_dora=True, bias="all")
    _, not_honoured = asked(model="llama2-7b", args=arguments, lora=lora, seq=64)
    for what in (
        "torch_compile=True",
        "eval_strategy=steps",
        "use_dora=True",
        "bias=all",
    ):
        assert any(line.startswith(what) for line in not_honoured), what
    assert len(not_honoured) == 4


def test_every_route_gives_one_figure():
    """8B QLoRA, as axolotl's file, as a Trainer's objects and as flags."""
    model = {"model": "llama3-8b", "gpu": "rtx3090"}
    lora = with_(LoraConfig, r=32, lora_dropout=0.05)
    of_a_file = {
        "base_model": "llama3-8b",
        "adapter": "qlora",
        "lora_r": 32,
        "lora_dropout": 0.05,
        "lora_target_modules": ["q_proj", "v_proj"],
        "load_in_4bit": True,
        "sequence_len": 4096,
        "micro_batch_size": 2,
        "optimizer": "adamw_torch_fused",
        "bf16": True,
        "gradient_checkpointing": True,
    }
    arguments = with_(
        SFTConfig,
        bf16=True,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=1,
        max_length=4096,
    )
    typed = {
        "train": True,
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_compute_dtype": "bfloat16",
        "bnb_4bit_use_double_quant": True,
        "lora_r": 32,
        "lora_dropout": 0.05,
        "lora_target_modules": "q_proj,v_proj",
        "per_device_train_batch_size": 2,
        "max_length": 4096,
        "optim": "adamw_torch_fused",
        "gradient_checkpointing": True,
    }
    objects = {"args": arguments, "lora": lora, "quantization_config": BitsAndBytesConfig()}
    answers = [
        vramfit.estimate(gpu="rtx3090", axolotl=of_a_file),
        vramfit.estimate(**model, **objects),
        *(
            vramfit.estimate(**model, **typed, bf16=True, dtype=dtype)
            for dtype in ("bfloat16", None)
        ),
    ]
    assert {answer.total for answer in answers} == {answers[0].total}
    defaults = {"assumed": None, "runs_with": None}
    asked_for = [{**answer.to_dict()["asked"], **defaults} for answer in answers]
    assert asked_for == [asked_for[0]] * len(answers)


class Hostile:
    """Of a library that is half installed, say."""

    @property
    def r(self):
        raise TypeError("no such backend")


def test_what_an_attribute_raises_is_bad_input():
    lora = type("LoraConfig", (Hostile,), {})()
    with pytest.raises(vramfit.BadInput, match=r"lora: of type LoraConfig, cannot be read: Type"):
        vramfit.estimate(model="llama2-7b", train=True, lora=lora, gpu="h200")


def test_activation_checkpointing_is_gradient_checkpointings_new_name():
    """transformers 5.23 has both, 6 the new one alone."""
    arguments = with_(
        TrainingArguments,
        gradient_checkpointing=None,
        activation_checkpointing=True,
        activation_checkpointing_kwargs={"use_reentrant": False},
    )
    given, not_honoured = asked(model="llama2-7b", args=arguments, seq=64)
    assert given["checkpoint"] == "full"
    assert not_honoured == ()


def test_the_trainers_fsdp_and_its_config():
    """From transformers 5 on `fsdp` is a truth value, and its config has all else."""
    section = {
        "reshard_after_forward": False,
        "activation_checkpointing": True,
        "cpu_offload": True,
        "min_num_params": 0,
        "xla": False,
        "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"],
    }
    arguments = with_(
        TrainingArguments, fsdp=True, fsdp_config=section, gradient_checkpointing=False
    )
    given, not_honoured = asked(model="llama2-7b", args=arguments, seq=64, gpus=4)
    assert (given["gpus"], given["reshard_after_forward"]) == (4, False)
    assert given["checkpoint"] == "full"
    assert not_honoured == ("fsdp_cpu_offload=True: not part of the prediction",)


def test_buckets_are_of_several_gpus():
    def total(cap, **more):
        arguments = with_(TrainingArguments, ddp_bucket_cap_mb=cap)
        return vramfit.estimate(
            model="gpt2-124m", args=arguments, seq=64, vram="24GB", **more
        ).total

    assert total(cap=400) == total(cap=None)
    assert total(cap=400, gpus=2) != total(cap=None, gpus=2)


def test_a_dtype_is_its_name():
    given, _ = asked(model="llama2-7b", torch_dtype=dtype("float16"), seq=64)
    assert given["precision"] == "fp16"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "llama2-7b", "args": with_(TrainingArguments, deepspeed="z.json")}, "deepspeed"),
        ({"model": "llama2-7b", "args": LoraConfig()}, "args: is of type LoraConfig"),
        ({"model": "llama2-7b", "lora": TrainingArguments(), "train": True}, "lora: is of type"),
        ({"model": TrainingArguments()}, "model: is of type TrainingArguments"),
        ({"config": 3.5}, "config"),
        ({"model": "llama2-7b", "quantization_config": {"quant_method": "gptq"}}, "quantization"),
        ({"model": "llama2-7b", "batch": TrainingArguments()}, "batch: is of type"),
        ({"model": "llama2-7b", "axolotl": 3}, "axolotl: is of type int"),
        ({"model": "llama2-7b", "accelerate": {"distributed_type": "DEEPSPEED"}}, "deepspeed"),
        ({"model": "llama2-7b", "accelerate": {"distributed_type": "TPU"}}, "distributed_type"),
        ({"model": "llama2-7b", "accelerate": "\x1e\n"}, r"cannot read '\?\?'"),
        ({"axolotl": {"sequence_len": 8}}, "base_model: missing"),
        ({"axolotl": {"base_model": "llama2-7b", "adapter": "ia3"}}, "adapter: 'ia3'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(given, message):
    with pytest.raises(vramfit.BadInput, match=message) as caught:
        vramfit.estimate(gpu="rtx4090", **given)
    assert len(str(caught.value).splitlines()) == 1


AXOLOTL = {
    "base_model": "llama2-7b",
    "adapter": "qlora",
    "lora_r": 32,
    "lora_target_linear": True,
    "load_in_4bit": True,
    "sequence_len": 512,
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "optimizer": "paged_adamw_32bit",
    "bf16": "auto",
    "gradient_checkpointing": True,
    "flash_attention": True,
    "sample_packing": True,
    "datasets": [{"path": "x"}],
    "learning_rate": 2e-4,
}


def test_axolotl():
    given, not_honoured = asked(axolotl=AXOLOTL)
    assert (given["batch"], given["seq"], given["accumulate"]) == (2, 512, 4)
    assert given["optimizer"] == "paged-adamw-32bit"
    assert given["lora"]["rank"] == 32
    assert len(given["lora"]["targets"]) == 7
    assert given["quant"] == {"format": "nf4", "double_quant": True, "compute": "bf16"}
    assert (given["autocast"], given["checkpoint"]) == ("bf16", "full")
    assert [line.split("=")[0] for line in not_honoured] == ["sample_packing", "flash_attention"]


ACCELERATE = {
    "compute_environment": "LOCAL_MACHINE",
    "distributed_type": "FSDP",
    "mixed_precision": "bf16",
    "num_machines": 1,
    "num_processes": 4,
    "machine_rank": 0,
    "fsdp_config": {
        "fsdp_version": 2,
        "fsdp_reshard_after_forward": False,
        "fsdp_offload_params": True,
    },
}


def test_accelerate():
    given, not_honoured = asked(model="llama2-7b", train=True, seq=64, accelerate=ACCELERATE)
    assert (given["gpus"], given["strategy"]) == (4, "fsdp-accelerate")
    assert given["mixed_precision"]["param"] == "bf16"
    assert given["reshard_after_forward"] is False
    assert not_honoured == ("fsdp_offload_params=True: not part of the prediction",)
    several = {"distributed_type": "MULTI_GPU", "num_processes": 2, "mixed_precision": "no"}
    given, _ = asked(model="gpt2-124m", train=True, seq=64, accelerate=several)
    assert (given["gpus"], given["strategy"]) == (2, "ddp")
