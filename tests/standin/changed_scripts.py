"""Scripts that --advise changes, and what a change is when it is written by hand."""

CONFIG = """
import os, sys, torch
from transformers import LlamaConfig, LlamaForCausalLM
config = LlamaConfig(
    hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4,
    vocab_size=8000, tie_word_embeddings=False,
)
"""

TRAINER = (
    CONFIG
    + """
from transformers import Trainer, TrainingArguments
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, row): return {"input_ids": [1] * 256, "labels": [1] * 256}
model = LlamaForCausalLM(config)
# model
arguments = TrainingArguments(
    os.path.dirname(__file__), **{
        "per_device_train_batch_size": 8, "optim": "adamw_torch", "report_to": [],
        "save_strategy": "no", "max_steps": 4,
        # arguments
    }
)
Trainer(model=model, args=arguments, train_dataset=Rows()).train()
"""
)

LOOP = (
    CONFIG
    + """
from torch.utils.data import DataLoader
rows = [torch.ones(256, dtype=torch.long)] * 64
model = LlamaForCausalLM(config)
# model
model = model.cuda().train()
loader = DataLoader(rows, batch_size=8)
optimizer = torch.optim.AdamW(model.parameters())
optimizer.zero_grad()
for number, ids in enumerate(loader):
    ids = ids.cuda()
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
)

# By change: the script, what is written in place of what, and the line that is told.
BY_HAND = {
    "checkpointing by the Trainer": (
        "checkpointing",
        TRAINER,
        {"# arguments": '"gradient_checkpointing": True,'},
        "TrainingArguments(gradient_checkpointing=True)",
    ),
    "checkpointing": (
        "checkpointing",
        LOOP,
        {"# model": 'model.gradient_checkpointing_enable({"use_reentrant": False})'},
        'model.gradient_checkpointing_enable({"use_reentrant": False})',
    ),
    "no_cache": (
        "no_cache",
        LOOP,
        {"# model": "model.config.use_cache = False"},
        "model.config.use_cache = False",
    ),
    "fused_loss by the Trainer": (
        "fused_loss",
        TRAINER,
        {"# arguments": '"use_liger_kernel": True,'},
        "TrainingArguments(use_liger_kernel=True)",
    ),
    "fused_loss": (
        "fused_loss",
        LOOP,
        {
            "# model": "import liger_kernel.transformers\n"
            "liger_kernel.transformers._apply_liger_kernel_to_instance(model=model)"
        },
        "liger_kernel.transformers._apply_liger_kernel_to_instance(model=model)",
    ),
    "adamw_8bit by the Trainer": (
        "adamw_8bit",
        TRAINER,
        {'"adamw_torch"': '"adamw_8bit"'},
        'TrainingArguments(optim="adamw_8bit")',
    ),
    "adamw_8bit": (
        "adamw_8bit",
        LOOP,
        {"torch.optim.AdamW": '__import__("bitsandbytes").optim.AdamW8bit'},
        "bitsandbytes.optim.AdamW8bit(…)",
    ),
    "fused_adamw by the Trainer": (
        "fused_adamw",
        TRAINER,
        {'"adamw_torch"': '"adamw_torch_fused"'},
        'TrainingArguments(optim="adamw_torch_fused")',
    ),
    "fused_adamw": (
        "fused_adamw",
        LOOP,
        {"parameters()": "parameters(), fused=True"},
        "torch.optim.AdamW(…, fused=True)",
    ),
    "micro_batch by the Trainer": (
        "micro_batch",
        TRAINER,
        {
            '"per_device_train_batch_size": 8': '"per_device_train_batch_size": 4, '
            '"gradient_accumulation_steps": 2'
        },
        "TrainingArguments(per_device_train_batch_size=4, gradient_accumulation_steps=2)",
    ),
    "micro_batch": (
        "micro_batch",
        LOOP,
        {
            "batch_size=8": "batch_size=4",
            "    optimizer.step()\n    optimizer.zero_grad()": "    if number % 2 == 1:\n"
            "        optimizer.step()\n        optimizer.zero_grad()",
        },
        "DataLoader(…, batch_size=4), and optimizer.step() and zero_grad() after every second "
        "batch",
    ),
    "lora by the Trainer": (
        "lora",
        TRAINER,
        {
            "# model": "from peft import LoraConfig, get_peft_model\n"
            'model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))'
        },
        'model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))',
    ),
    "lora": (
        "lora",
        LOOP.replace("LlamaForCausalLM(config)", "LlamaForCausalLM._from_config(config)"),
        {
            "# model": "from peft import LoraConfig, get_peft_model\n"
            'model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))'
        },
        'model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))',
    ),
}

# Loops that take a batch before the one before it is trained with, or between its forward and its
# backward.
LOADER, TAKES = "DataLoader(rows, batch_size=8)", "for number, ids in enumerate(loader):\n"
_TRAINS = "    model(input_ids=ids, labels=ids).loss.backward()\n"
AHEAD = {
    "Accelerate": {LOADER: f"__import__('accelerate').Accelerator().prepare({LOADER})"},
    "one ahead": {
        TAKES: """
def ahead(loader):
    batches = iter(loader)
    batch = next(batches)
    for following in batches:
        yield batch
        batch = following
for number, ids in enumerate(ahead(loader)):
"""
    },
    "one meanwhile": {
        TAKES: "batches = iter(loader)\nids = next(batches)\nfor number in range(7):\n",
        _TRAINS: "    loss = model(input_ids=ids, labels=ids).loss\n    ids = next(batches)\n"
        "    loss.backward()\n",
    },
}


def written(script, replaced) -> str:
    for before, instead in replaced.items():
        assert before in script
        script = script.replace(before, instead)
    return script


BY_HAND |= {
    f"micro_batch, {how}": ("micro_batch", written(LOOP, replaced), *BY_HAND["micro_batch"][2:])
    for how, replaced in AHEAD.items()
}
