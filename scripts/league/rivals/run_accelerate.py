"""What `accelerate estimate-memory` says, by its own functions, in the Python that has it.

usage: run_accelerate.py CASES.json OUT.json

Cases are `{"key", "arch", "dtype", "training"}`. The command itself asks the Hub for a model by its
name, so its parts are called with configs: an empty model, the sizes of its parts, and its table's
row of the type."""

import json
import sys
import time
from pathlib import Path

import transformers
from accelerate import init_empty_weights
from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes

_NAMES = {"fp32": "float32", "fp16": "float16", "bf16": "float16"}


def _said(case: dict) -> float:
    arch = dict(case["arch"])
    config = transformers.AutoConfig.for_model(arch.pop("model_type"), **arch)
    with init_empty_weights():
        model = transformers.AutoModelForCausalLM.from_config(config)
    whole, _ = calculate_maximum_sizes(model)
    precision = _NAMES[case["dtype"]]
    if case["training"]:
        return max(estimate_training_usage(whole, precision).values())
    return whole / (1 if precision == "float32" else 2)


def main() -> None:
    cases = json.loads(Path(sys.argv[1]).read_text())
    said, seconds = {}, []
    for case in cases:
        begun = time.perf_counter()
        said[case["key"]] = _said(case)
        seconds.append(time.perf_counter() - begun)
    out = {"said": said, "seconds": sorted(seconds)[len(seconds) // 2]}
    Path(sys.argv[2]).write_text(json.dumps(out))


if __name__ == "__main__":
    main()
