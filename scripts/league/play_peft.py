"""Plays runs of PEFT's MetaMathQA comparison on the stand-in, at the cap on their lengths.

usage: play_peft.py ASKED.json OUT.jsonl

Asked are `{"id", "config", "peft", "optimizer"}`: a model's config, an adapter's, and the
optimizer's name with its arguments. A process forked for each builds the model on the card, adapts
it, and takes three steps of method_comparison/MetaMathQA/run.py's loop. A line as each ends: the
most that was allocated and reserved, or `error`."""

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch
import transformers

BATCH, CAP, STEPS = 4, 768, 3
LIMIT = 90  # seconds


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
    cuda = torch.cuda
    return {"allocated": cuda.max_memory_allocated(), "reserved": cuda.max_memory_reserved()}


def _line(asked):
    begun = time.perf_counter()
    try:
        told = _run(asked)
    except Exception as error:  # of whatever stops it
        told = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        traceback.print_exc()
    return {"id": asked["id"], **told, "seconds": round(time.perf_counter() - begun, 1)}


def _append(out, line):
    with out.open("a") as file:
        file.write(json.dumps(line) + "\n")


def main():
    out = Path(sys.argv[2])
    for asked in json.loads(Path(sys.argv[1]).read_text()):
        child = os.fork()
        if child == 0:
            signal.alarm(LIMIT)
            _append(out, _line(asked))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            died = f"died with status {os.waitstatus_to_exitcode(status)}"
            _append(out, {"id": asked["id"], "error": died, "seconds": LIMIT})


if __name__ == "__main__":
    main()
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell
