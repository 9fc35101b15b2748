"""Measure what trainers take: transformers' Trainer, TRL's SFTTrainer, DPOTrainer and GRPOTrainer,
with LoRA, Liger's kernels and gradient accumulation.

As measure_pytorch.py, whose readings it shares. A case has `trainer` (Trainer, SFT, DPO, GRPO),
`seq` (of GRPO the prompt's), `dtype`, `args` (of its TrainingArguments, SFTConfig, …) and
optionally `lora` (the rank) with `targets`, and `vary`: rows of random lengths up to `seq`. Three
steps are read at callbacks; the peak of a reading is that since the reading before. `resolved` has
the arguments as the trainer settled them. Needs trl, datasets, peft, accelerate and liger-kernel.

usage: measure_pytorch_trainers.py CASES.json OUT.jsonl [seconds]
"""

import random
import tempfile
from importlib import metadata

import measure_pytorch as measure
import torch
from measure_pytorch import DTYPES, Stages
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROWS = 64  # of a data set
WORDS = 1000
TOLD = (
    "bf16",
    "fp16",
    "gradient_checkpointing",
    "gradient_checkpointing_kwargs",
    "optim",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "max_grad_norm",
    "use_liger_kernel",
    "packing",
    "padding_free",
    "loss_type",
    "activation_offloading",
)


class Recorder(TrainerCallback):
    def __init__(self, stages):
        self.stages, self.step = stages, 1

    def on_train_begin(self, *_, **__):
        self.stages.read("train_begin")

    def on_step_begin(self, *_, **__):
        self.stages.read(f"step{self.step}.before")

    def on_pre_optimizer_step(self, *_, **__):
        self.stages.read(f"step{self.step}.backward")

    def on_optimizer_step(self, *_, **__):
        self.stages.read(f"step{self.step}.optimizer")

    def on_step_end(self, *_, **__):
        self.stages.read(f"step{self.step}.end")
        self.step += 1


def build(case):
    arch = dict(case["arch"])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    return AutoModelForCausalLM.from_config(
        config, dtype=DTYPES[case["dtype"]], attn_implementation="sdpa"
    )


def lora_of(case):
    from peft import LoraConfig  # noqa: PLC0415

    return LoraConfig(
        r=case["lora"], lora_alpha=16, target_modules=case["targets"], task_type="CAUSAL_LM"
    )


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415

    special = {"<pad>": WORDS, "<eos>": WORDS + 1, "<unk>": WORDS + 2}
    words = {f"w{i}": i for i in range(WORDS)}
    made = Tokenizer(models.WordLevel({**words, **special}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def random_word():
    return random.randint(0, WORDS - 2)


def length(case, least):
    """A row's, in tokens."""
    return random.randint(case["seq"] // least, case["seq"]) if case.get("vary") else case["seq"]


def plain_trainer(case, model, options, callbacks):
    rows = []
    for _ in range(ROWS):
        ids = torch.randint(0, WORDS - 1, (length(case, 4),))
        mask = torch.ones(len(ids), dtype=torch.long)
        rows.append({"input_ids": ids, "attention_mask": mask, "labels": ids.clone()})
    beside = {"data_collator": DataCollatorForSeq2Seq(tokenizer())} if case.get("vary") else {}
    if "eval_strategy" in options:
        beside["eval_dataset"] = rows[:16]
    if case.get("lora"):
        from peft import get_peft_model  # noqa: PLC0415

        model = get_peft_model(model, lora_of(case))
    return Trainer(
        model=model,
        args=TrainingArguments(**options),
        train_dataset=rows,
        callbacks=callbacks,
        **beside,
    )


def sft_trainer(case, model, options, callbacks):
    from datasets import Dataset  # noqa: PLC0415
    from trl import SFTConfig, SFTTrainer  # noqa: PLC0415

    rows = [{"input_ids": [random_word() for _ in range(length(case, 8))]} for _ in range(ROWS)]
    return SFTTrainer(
        model=model,
        args=SFTConfig(**{"max_length": case["seq"], **options}),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer(),
        callbacks=callbacks,
        **({"peft_config": lora_of(case)} if case.get("lora") else {}),
    )


def text(words):
    return " ".join(f"w{random_word()}" for _ in range(words))


def dpo_trainer(case, model, options, callbacks):
    from datasets import Dataset  # noqa: PLC0415
    from trl import DPOConfig, DPOTrainer  # noqa: PLC0415

    half = case["seq"] // 2
    rows = [
        {"prompt": text(half), "chosen": text(half - 1), "rejected": text(half - 1)}
        for _ in range(ROWS)
    ]
    # With adapters the reference is the model without them.
    beside = {"peft_config": lora_of(case)} if case.get("lora") else {"ref_model": build(case)}
    return DPOTrainer(
        model=model,
        args=DPOConfig(max_length=case["seq"], **options),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer(),
        callbacks=callbacks,
        **beside,
    )


def reward(completions, **_):
    """No two of a group have the same, so that each has a gradient."""
    return [float(i) for i, _ in enumerate(completions)]


def grpo_trainer(case, model, options, callbacks):
    """Its completions are generated by transformers, and are as long as they may be: random
    weights hardly ever end one."""
    from datasets import Dataset  # noqa: PLC0415
    from trl import GRPOConfig, GRPOTrainer  # noqa: PLC0415

    return GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=GRPOConfig(**options),
        train_dataset=Dataset.from_list([{"prompt": text(case["seq"])} for _ in range(ROWS)]),
        processing_class=tokenizer(),
        callbacks=callbacks,
        **({"peft_config": lora_of(case)} if case.get("lora") else {}),
    )


TRAINERS = {
    "Trainer": plain_trainer,
    "SFT": sft_trainer,
    "DPO": dpo_trainer,
    "GRPO": grpo_trainer,
}


def run(case):
    torch.manual_seed(0)
    random.seed(0)
    stages = Stages()
    torch.zeros(1, device="cuda")
    stages.read("context")
    model = build(case)
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "output_dir": folder,
            "max_steps": 3,
            "report_to": [],
            "logging_strategy": "no",
            "save_strategy": "no",
            "seed": 0,
            "dataloader_pin_memory": False,
            "disable_tqdm": True,
            **case["args"],
        }
        trainer = TRAINERS[case["trainer"]](case, model, options, [Recorder(stages)])
        stages.read("made")
        trainer.train()
        stages.read("end")
    trained = [p for p in trainer.model.parameters() if p.requires_grad]
    return {
        "stages": stages.readings,
        "params": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in trained),
        "resolved": {key: repr(getattr(trainer.args, key, None)) for key in TOLD},
        "trainable_dtype": sorted({str(p.dtype) for p in trained}),
    }


def environment():
    packages = ("trl", "peft", "accelerate", "liger-kernel", "datasets")
    return {**measure.environment(), **{name: metadata.version(name) for name in packages}}


if __name__ == "__main__":
    measure.main(run, environment)
