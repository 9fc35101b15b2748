"""vLLM: the stages of its start, what it counts for its cache, and what it refuses.

Read off its own objects as they come to be; the names are those of vLLM 0.26 (v1/worker,
v1/core/kv_cache_utils.py).
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

from vramfit.standin._imports import when_imported
from vramfit.standin._vllm_traffic import WRITE
from vramfit.standin._vllm_traffic import attend as attend_traffic

Json = dict[str, Any]


class Vllm:
    """Of a process that has an engine's worker, or its core, or both. `turn` is told of each stage
    that begins; `write` writes down what was taken so far."""

    def __init__(self, turn: Callable[[str], None], write: Callable[[], None]) -> None:
        self._turn, self._write = turn, write
        self._worker: Json = {}
        self._refusal: str | None = None
        when_imported("vllm.v1.worker.gpu_worker", self._attend_worker)
        when_imported(
            "vllm.v1.worker.utils",
            lambda utils: self._attend(utils, "request_memory", self._asks),
        )
        when_imported(
            "vllm.v1.core.kv_cache_utils",
            lambda utils: self._attend(utils, "get_kv_cache_configs", _nothing),
        )
        attend_traffic()

    def told(self) -> Json | None:
        """None: there was no engine."""
        if not self._worker and self._refusal is None:
            return None
        return {**self._worker, "refusal": self._refusal}

    def _attend(self, module: Any, name: str, before: Callable[..., None]) -> None:
        """What raises ValueError where it has too little memory."""
        function = getattr(module, name)

        @functools.wraps(function)
        def attended(*args: Any, **kwargs: Any) -> Any:
            before(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            except ValueError as error:
                self._refusal = str(error)
                raise

        setattr(module, name, attended)

    def _attend_worker(self, module: Any) -> None:
        kind = module.Worker
        setattr(kind, WRITE, lambda _: self._write())
        for name, before, after in (
            ("init_device", _nothing, self._has_card),
            ("determine_available_memory", self._begins("profile"), self._has_profiled),
            ("initialize_from_config", self._begins("kv_cache"), self._has_cache),
            ("compile_or_warm_up_model", self._begins("warm_up"), self._is_ready),
            ("execute_model", self._runs, _nothing),
        ):
            _wrap(kind, name, before, after)

    def _begins(self, stage: str) -> Callable[..., None]:
        return lambda *_: self._turn(stage)

    def _runs(self, worker: Any, scheduled: Any = None, *_: Any) -> None:
        """A batch: of a stage of its own where it samples, which takes more than the likeliest."""
        new = scheduled.scheduled_new_reqs if scheduled is not None else ()
        if not self._worker.get("ready") or not new:
            return
        samples = any(
            request.sampling_params is not None and request.sampling_params.temperature > 0
            for request in new
        )
        self._turn("sample" if samples else "serve")

    def _asks(self, start: Any, cache_config: Any) -> None:
        utilization = cache_config.gpu_memory_utilization
        self._worker = {
            "card": start.total_memory,
            "free_at_start": start.free_memory,
            "requested": math.ceil(start.total_memory * utilization),
            "ready": False,
        }

    def _has_card(self, worker: Any) -> None:
        config = worker.vllm_config
        parallel, scheduler = config.parallel_config, config.scheduler_config
        self._worker |= {
            "version": sys.modules["vllm"].__version__,
            "runner": "V2" if worker.use_v2_model_runner else "V1",
            "settings": {
                "gpu_memory_utilization": config.cache_config.gpu_memory_utilization,
                "max_model_len": config.model_config.max_model_len,
                "max_num_batched_tokens": scheduler.max_num_batched_tokens,
                "max_num_seqs": scheduler.max_num_seqs,
                "kv_cache_dtype": config.cache_config.cache_dtype,
                "load_format": str(config.load_config.load_format),
                "enforce_eager": config.model_config.enforce_eager,
                "cuda_graphs": config.compilation_config.cudagraph_mode.name,
                "tensor_parallel_size": parallel.tensor_parallel_size,
                "pipeline_parallel_size": parallel.pipeline_parallel_size,
            },
        }

    def _has_profiled(self, worker: Any) -> None:
        config = worker.vllm_config
        given = config.cache_config.kv_cache_memory_bytes
        if not given:
            available = int(worker.available_kv_cache_memory_bytes)
            counted = {
                "weights": int(worker.model_runner.model_memory_usage),
                "activations": int(worker.peak_activation_memory),
                "outside_torch": int(worker.non_torch_memory),
            }
            counted["graphs"] = self._worker["requested"] - available - sum(counted.values())
            self._worker["counted"] = counted
        self._worker["available"] = given or available
        self._worker.update(_room(worker, config, self._worker["available"]))

    def _has_cache(self, worker: Any, cache: Any) -> None:
        from vllm.v1.core.kv_cache_utils import get_kv_cache_capacity

        tokens, concurrency = get_kv_cache_capacity(worker.vllm_config, cache)
        self._worker["cache"] = {
            "blocks": cache.num_blocks,
            "block_size": min(
                (group.kv_cache_spec.block_size for group in cache.kv_cache_groups), default=0
            ),
            "groups": len(cache.kv_cache_groups),
            "tokens": tokens,
            "concurrency": concurrency,
            "max_model_len": worker.model_config.max_model_len,
        }

    def _is_ready(self, worker: Any) -> None:
        self._worker["ready"] = True
        self._turn("serve")


def _nothing(*_: Any, **__: Any) -> None:
    """Is done before, or after."""


def _wrap(kind: Any, name: str, before: Callable[..., None], after: Callable[..., None]) -> None:
    """Both are called with the worker and its method's arguments."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def wrapped(worker: Any, *args: Any, **kwargs: Any) -> Any:
        before(worker, *args)
        result = method(worker, *args, **kwargs)
        after(worker, *args)
        return result

    setattr(kind, name, wrapped)


def _room(worker: Any, config: Any, available: int) -> Json:
    """What one request of `max_model_len` tokens needs, and the longest that has room."""
    from vllm.v1.core import kv_cache_utils

    groups = kv_cache_utils.get_kv_cache_groups(config, dict(worker.get_kv_cache_spec()))
    model = config.model_config
    needed = kv_cache_utils._max_memory_usage_bytes_from_groups(config, groups)
    asked = model.max_model_len
    try:
        derived = model.model_arch_config.derived_max_model_len_and_key[0]
        model.max_model_len = longest = asked if math.isinf(derived) else int(derived)
        if available > 0:
            longest = kv_cache_utils._estimate_max_model_len_from_groups(config, groups, available)
    finally:
        model.max_model_len = asked
    return {"needed": needed, "longest": longest if available > 0 else 0}
