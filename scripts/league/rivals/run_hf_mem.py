"""What hf-mem says of generation, by its own function of the cache, in the Python that has it.

usage: run_hf_mem.py CASES.json OUT.json

Cases are `{"key", "arch", "dtype", "parameters", "tokens", "batch"}`. hf-mem reads headers of
weights from the Hub; they are counted here as their shapes are known."""

import json
import sys
import time
from pathlib import Path

from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size
from hf_mem.safetensors.types import get_safetensors_dtype_bytes

_NAMES = {"fp32": "F32", "fp16": "F16", "bf16": "BF16"}


def main() -> None:
    cases = json.loads(Path(sys.argv[1]).read_text())
    said = {}
    begun = time.perf_counter()
    for case in cases:
        kind = _NAMES[case["dtype"]]
        try:
            cache = compute_safetensors_kv_cache_size(
                case["arch"], kind, case["tokens"], case["batch"]
            )
        except KeyError:
            continue  # GPT-2's names are none that it knows
        said[case["key"]] = case["parameters"] * get_safetensors_dtype_bytes(kind) + cache
    seconds = (time.perf_counter() - begun) / max(len(said), 1)
    Path(sys.argv[2]).write_text(json.dumps({"said": said, "seconds": seconds}))


if __name__ == "__main__":
    main()
