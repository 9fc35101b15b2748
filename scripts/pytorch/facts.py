"""What a recording of PyTorch is kept with: the card, and versions of all that takes memory.

Runs on whatever Python has torch, so it needs nothing of this project; prints JSON. `gpu` is null
where PyTorch can use none. `held_mib` is what others hold of the card.
"""

import json
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
    """Of the first card; what nvidia-smi does not say is left out."""
    query = ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(zip(asked, said.partition("\n")[0].split(", "), strict=False))


def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def facts():
    # Before PyTorch takes anything of it.
    card = smi("driver_version", "memory.used")
    if not torch.cuda.is_available():
        return {"gpu": None}
    held = card.get("memory.used", "")
    cudnn = torch.backends.cudnn.version()
    return {
        "gpu": torch.cuda.get_device_name(),
        "driver": card.get("driver_version", "unknown"),
        "held_mib": int(held) if held.isdigit() else 0,
        "memory": torch.cuda.mem_get_info()[1],
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "cuda": torch.version.cuda,
        "cudnn": "none" if cudnn is None else str(cudnn),
        "packages": {name: found for name in PACKAGES if (found := version(name))},
    }


print(json.dumps(facts()))
