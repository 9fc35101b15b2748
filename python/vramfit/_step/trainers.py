"""Training by transformers' Trainer or TRL's SFTTrainer, on rows of equal length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainingArguments

from vramfit._step.adapters import adapted, checkpointing, lora_of
from vramfit._step.asked import Asked, tell
from vramfit._step.models import vocabulary
from vramfit._step.optimizers import name_of_trainers
from vramfit._step.training import WORDS
from vramfit.standin._door import StandInError

_ROWS = 64  # of a data set, or a step's


def train_by_trainer(model: Any, asked: Asked, steps: int) -> None:
    make = {"trainer": _plain, "trl": _sft}[asked.trainer]
    trainer = make(model, asked, _arguments(asked, steps))
    settled = trainer.args
    tell(
        asked,
        optimizer=str(settled.optim.value),
        checkpoint=bool(settled.gradient_checkpointing),
        autocast="bf16" if settled.bf16 else "fp16" if settled.fp16 else None,
    )
    trainer.train()


def _arguments(asked: Asked, steps: int) -> dict[str, Any]:
    """Those of the trainer's TrainingArguments; what nobody asked for is as they have it."""
    arguments: dict[str, Any] = {
        "output_dir": str(Path(asked.folder, "trained")),
        "max_steps": steps,
        "per_device_train_batch_size": asked.batch,
        "gradient_accumulation_steps": asked.accumulate,
        "report_to": [],
        "logging_strategy": "no",
        "save_strategy": "no",
        "seed": 0,
        "disable_tqdm": True,
        "torch_compile": asked.compile,
    }
    if asked.optimizer is not None:
        name = name_of_trainers(asked.optimizer)
        if name is None:
            raise StandInError(f"optimizer: transformers' Trainer has no {asked.optimizer}")
        arguments["optim"] = name
    if asked.autocast is not None:
        arguments |= {"bf16": asked.autocast == "bf16", "fp16": asked.autocast == "fp16"}
    if asked.checkpoint is not None:
        arguments["gradient_checkpointing"] = asked.checkpoint != "none"
        arguments["gradient_checkpointing_kwargs"] = checkpointing(asked)
    return arguments


def _rows(model: Any, asked: Asked) -> list[torch.Tensor]:
    words = min(WORDS, vocabulary(model))
    count = max(_ROWS, asked.batch * asked.accumulate)
    return [torch.randint(1, words, (asked.seq,)) for _ in range(count)]


def _plain(model: Any, asked: Asked, arguments: dict[str, Any]) -> Any:
    rows = [
        {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
        for ids in _rows(model, asked)
    ]
    return Trainer(
        model=adapted(model, asked) if asked.lora else model,
        args=TrainingArguments(**arguments),
        train_dataset=rows,
    )


def _sft(model: Any, asked: Asked, arguments: dict[str, Any]) -> Any:
    from datasets import Dataset, disable_progress_bars
    from trl import SFTConfig, SFTTrainer

    disable_progress_bars()
    rows = [{"input_ids": ids.tolist()} for ids in _rows(model, asked)]
    return SFTTrainer(
        model=model,
        args=SFTConfig(max_length=asked.seq, **arguments),
        train_dataset=Dataset.from_list(rows),
        processing_class=_tokenizer(vocabulary(model)),
        peft_config=lora_of(model, asked) if asked.lora else None,
    )


def _tokenizer(size: int) -> Any:
    """TRL wants one: it pads rows of one length with nothing."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {f"w{at}": at for at in range(min(WORDS, size))}
    made = Tokenizer(models.WordLevel(words, unk_token="w0"))
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="w0", eos_token="w1", unk_token="w2"
    )
