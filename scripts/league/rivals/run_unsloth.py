"""What Unsloth Studio's planner says of training, by its own module out of its wheel: in the Python
that has transformers, whose configs it reads.

usage: run_unsloth.py WHEEL CASES.json OUT.json

Cases are `{"key", "setting", "batch", "seq"}`, as data/reference has them. Said is
`[tensors, total]`: all but its share for CUDA, and with it."""

import json
import sys
import time
import zipfile
from pathlib import Path
from types import ModuleType

from transformers import AutoConfig

_FILE = "studio/backend/utils/hardware/vram_estimation.py"
_OPTIMIZERS = {
    "adamw": "adamw_torch",
    "adamw_fused": "adamw_torch_fused",
    "adamw8bit": "adamw_8bit",
    "paged_adamw8bit": "paged_adamw_8bit",
    "sgd": "sgd",
}


def _planner(wheel: str) -> ModuleType:
    """The module alone: its package imports what finds GPUs."""
    module = ModuleType("vram_estimation")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    with zipfile.ZipFile(wheel) as archive:
        exec(compile(archive.read(_FILE), _FILE, "exec"), module.__dict__)
    return module


def _said(planner: ModuleType, case: dict) -> list[int] | None:
    setting = case["setting"]
    arch = dict(setting["arch"])
    config = AutoConfig.for_model(arch.pop("model_type"), **arch)
    lora = setting.get("lora")
    method = "full" if lora is None else "qlora" if setting.get("quant") else "lora"
    shape = planner.extract_arch_config(config)
    if shape is None:
        return None
    shape.quant_4bit_factor = (
        planner.DOUBLE_QUANT_4BIT_FACTOR
        if setting.get("quant") == "nf4-dq"
        else planner.QUANT_4BIT_FACTOR
    )
    asked = planner.TrainingVramConfig(
        training_method=method,
        batch_size=case["batch"],
        max_seq_length=case["seq"],
        lora_rank=lora["r"] if lora else 0,
        target_modules=lora["targets"] if lora else [],
        gradient_checkpointing="true" if setting.get("ckpt") else "none",
        optimizer=_OPTIMIZERS[setting["opt"]],
        load_in_4bit=method == "qlora",
        attention_implementation=setting.get("attn", "sdpa"),
    )
    found = planner.estimate_training_vram(shape, asked)
    return [found.total - found.cuda_overhead, found.total]


def main() -> None:
    planner = _planner(sys.argv[1])
    cases = json.loads(Path(sys.argv[2]).read_text())
    said, seconds = {}, []
    for case in cases:
        begun = time.perf_counter()
        found = _said(planner, case)
        seconds.append(time.perf_counter() - begun)
        if found is not None:
            said[case["key"]] = found
    told = {"said": said, "seconds": sorted(seconds)[len(seconds) // 2]}
    Path(sys.argv[3]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
