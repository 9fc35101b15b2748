"""What vLLM raises as it starts, and which of it is for want of memory. Of vLLM there are two
functions here, whose names are its own."""

import json

import pytest
from stood_in import needs_torch, run_script

pytestmark = needs_torch

_SCRIPT = """
from types import SimpleNamespace as Of
import torch
torch.zeros(1, device="cuda")
from vllm.v1.core.kv_cache_utils import get_kv_cache_configs
from vllm.v1.worker.utils import request_memory
request_memory(Of(total_memory=25 << 30, free_memory=24 << 30), Of(gpu_memory_utilization=0.9))
get_kv_cache_configs(None)
"""
_LACKS = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."
_OTHER = "num_gpu_blocks_override and block_size do not go together"


@pytest.mark.parametrize(
    ("text", "status", "ended"),
    [(_LACKS, 1, "refused"), (_OTHER, 3, "failed")],
    ids=["lacks", "other"],
)
def test_only_what_is_said_of_memory_is_for_want_of_it(tmp_path, text, status, ended):
    for module, code in (
        ("vllm.v1.worker.utils", "def request_memory(start, cache): return 1"),
        ("vllm.v1.core.kv_cache_utils", f"def get_kv_cache_configs(_): raise ValueError({text!r})"),
    ):
        *folders, name = module.split(".")
        place = tmp_path.joinpath(*folders)
        place.mkdir(parents=True)
        (place / f"{name}.py").write_text(code)
    (tmp_path / "vllm" / "__init__.py").write_text('__version__ = "0"')
    ran = run_script(tmp_path, _SCRIPT)
    assert ran.returncode == status, ran.stderr
    if ended == "refused":
        assert (ran.answer["ended"], ran.answer["vllm"]["refusal"]) == (ended, text)
        assert not ran.answer["fits"]


_ANOTHER = """
import torch
torch.zeros(1, device="cuda")
import vllm.device_allocator.cumem
import vllm.distributed.device_communicators.custom_all_reduce
import vllm.engine.arg_utils
import vllm.v1.worker.gpu_worker
"""


def test_a_release_of_other_names_is_noted_and_goes_on(tmp_path):
    """All of its modules are empty."""
    for line in _ANOTHER.splitlines():
        if line.startswith("import vllm"):
            *folders, name = line.split()[1].split(".")
            place = tmp_path.joinpath(*folders)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{name}.py").write_text("")
    (tmp_path / "vllm" / "__init__.py").write_text('__version__ = "9"')
    ran = run_script(tmp_path, _ANOTHER, gpu="h200")
    assert ran.returncode == 0, ran.stderr
    assumed = json.dumps(ran.answer["assumptions"])
    for name in ("unmap_and_release", "CustomAllreduce", "EngineArgs", "Worker"):
        assert name in assumed
