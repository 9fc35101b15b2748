"""Plays runs of PEFT's MetaMathQA comparison on the stand-in, at the cap on their lengths.

usage: play_peft.py ASKED.json OUT.jsonl

Asked are `{"id", "config", "peft", "optimizer"}`: a model's config, an adapter's, and the
optimizer's name with its arguments. A process for each builds the model on the card, adapts it, and
takes three steps of method_comparison/MetaMathQA/run.py's loop."""

import json
import tempfile
from pathlib import Path

import torch
import transformers
from plays import every

BATCH, CAP, STEPS = 4, 768, 3


def _model(asked):
    config = transformers.AutoConfig.for_model(**asked["config"])
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    if asked["peft"] is None:
        return model
    import peft  # noqa: PLC0415  begins CUDA, which a process that forks must not

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adapter_config.json"
        file.write_text(json.dumps(asked["peft"]))
        return peft.get_peft_model(model, peft.PeftConfig.from_pretrained(folder))


def _optimizer(model, asked):
    name, given = asked["optimizer"]
    if name == "lora-fa":
        from peft.optimizers import create_lorafa_optimizer  # noqa: PLC0415

        return create_lorafa_optimizer(model, **given)
    return getattr(torch.optim, name)(model.parameters(), **given)


def _run(asked):
    model = _model(asked)
    model.train()
    optimizer = _optimizer(model, asked)
    for step in range(STEPS):
        ids = torch.randint(0, 1000, (BATCH, CAP)).to("cuda")
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
        optimizer.zero_grad()
        outputs = model(**batch, num_items_in_batch=BATCH * CAP)  # the last step's live until then
        loss = outputs.loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if asked["peft"] and asked["peft"]["peft_type"] == "ADALORA":
            model.base_model.update_and_allocate(step + 1)


if __name__ == "__main__":
    every(_run)
