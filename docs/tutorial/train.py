"""Fine-tunes a Qwen3 of 0.6 billion parameters, on rows that stand for yours."""

import argparse

import torch
from transformers import AutoModelForCausalLM, Qwen3Config, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--seq", type=int, default=1024)
parser.add_argument("--checkpointing", action="store_true")
parser.add_argument("--liger", action="store_true")
asked = parser.parse_args()

# As Qwen/Qwen3-0.6B, whose weights from_pretrained would read.
shape = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28}
heads = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}
config = Qwen3Config(vocab_size=151936, tie_word_embeddings=True, **shape, **heads)
model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)

row = torch.ones(asked.seq, dtype=torch.long)
arguments = TrainingArguments(
    "out",
    per_device_train_batch_size=asked.batch,
    gradient_checkpointing=asked.checkpointing,
    use_liger_kernel=asked.liger,
    max_steps=100,
    save_strategy="no",
    report_to=[],
)
Trainer(model, arguments, train_dataset=[{"input_ids": row, "labels": row}] * 1000).train()
