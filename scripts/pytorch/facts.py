"""What a recording of PyTorch is kept with: the card, and versions of all that takes memory.

Runs on whatever Python has torch, so it needs nothing of this project; prints JSON. `gpu` is null
where PyTorch can use none. `held_mib` is what others hold of the card.
"""

import json
import os
import subprocess
import sys
from importlib import metadata

try:
    import torch
    import transformers
except ImportError as missing:
    sys.exit(f"has no {missing.name}")

PACKAGES = ("peft", "bitsandbytes", "accelerate")


def smi(*asked):
    """Of every card; what nvidia-smi does not say is left out."""
    query = ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [dict(zip(asked, line.split(", "), strict=False)) for line in said.splitlines()]


def used(cards):
    """The one that PyTorch computes on: it numbers those of CUDA_VISIBLE_DEVICES, nvidia-smi all.
    Older releases do not know their UUID; for them the variable is read."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    asked = str(getattr(properties, "uuid", ""))
    if asked and not asked.startswith("GPU-"):
        asked = f"GPU-{asked}"
    asked = asked or os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0].strip() or "0"
    if asked.isdigit():
        return cards[int(asked)] if int(asked) < len(cards) else {}
    return next((card for card in cards if card["uuid"].startswith(asked)), {})


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def facts():
    # Before PyTorch takes anything of it.
    cards = smi("uuid", "driver_version", "memory.used")
    if not torch.cuda.is_available():
        return {"gpu": None}
    card = used(cards)
    held = card.get("memory.used", "")
    cudnn = torch.backends.cudnn.version()
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": cards[0].get("driver_version", "unknown") if cards else "unknown",  # of all
        "held_mib": int(held) if held.isdigit() else 0,
        "memory": torch.cuda.mem_get_info()[1],
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "cuda": torch.version.cuda,
        "cudnn": "none" if cudnn is None else str(cudnn),
        "packages": {name: found for name in PACKAGES if (found := version(name))},
    }


print(json.dumps(facts()))
