"""A loop of one's own with TRL's fused head: fused_head.py CONFIG BATCH SEQ DTYPE AUTOCAST LORA."""

import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM
from trl.trainer.utils import add_fused_lm_head

config, batch, seq, dtype, autocast, lora = sys.argv[1:]
epsilon = torch.zeros(1, device="cuda")  # as torchaudio makes it, where it is installed
with torch.device("cuda"):
    model = AutoModelForCausalLM.from_config(
        AutoConfig.from_pretrained(config), dtype=getattr(torch, dtype)
    )
model.config.use_cache = False
model.train()
add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
if lora != "none":
    model = get_peft_model(model, LoraConfig(r=8, target_modules=lora.split(",")))
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad])
ids = torch.zeros(int(batch), int(seq), dtype=torch.long, device="cuda")


def train():
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast == "bf16"):
        loss = model(ids, labels=ids, fused_lm_head=True).loss
    loss.backward()


for _ in range(3):
    train()
    optimizer.step()
    optimizer.zero_grad()
