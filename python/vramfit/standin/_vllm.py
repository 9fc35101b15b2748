"""vLLM: the stages of its start, what it counts for its cache, and what it refuses.

Read off its own objects as they come to be; the names are those of vLLM 0.26 and 0.33 (v1/worker,
v1/core).
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

from vramfit.standin._steps import Steps
from vramfit.standin._vllm_releases import PLANNERS, tell, when_has
from vramfit.standin._vllm_traffic import WRITE
from vramfit.standin._vllm_traffic import attend as attend_traffic

Json = dict[str, Any]


class Vllm:
    """Of a process that has an engine's worker, or its core, or both. `steps` is told of each stage
    that begins; `write` writes down what was taken so far."""

    def __init__(self, steps: Steps, write: Callable[[], None]) -> None:
        self._steps, self._turn, self._write = steps, steps.turn_to, write
        self._worker: Json = {}
        self._refusal: str | None = None
        when_has(("vllm.v1.worker.gpu_worker",), "Worker", self._attend_worker)
        for modules, name, before in (
            (("vllm.v1.worker.utils",), "request_memory", self._asks),
            (PLANNERS, "get_kv_cache_configs", self._plans),
            (PLANNERS, "_check_enough_kv_cache_memory", self._checks),
        ):
            when_has(modules, name, functools.partial(self._attend, name, before))
        attend_traffic()

    def told(self) -> Json | None:
        """None: there was no engine."""
        if not self._worker and self._refusal is None:
            return None
        return {**self._worker, "refusal": self._refusal}

    def _attend(self, name: str, before: Callable[..., None], module: Any) -> None:
        """What raises ValueError where it has too little memory, and where it is asked for what
        there is not: the text tells which."""
        function = getattr(module, name)

        @functools.wraps(function)
        def attended(*args: Any, **kwargs: Any) -> Any:
            tell(before, *args, **kwargs)
            try:
                return function(*args, **kwargs)
            except ValueError as error:
                if "memory" in str(error):
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
            ("sleep", self._begins("sleep"), self._is_mapped_otherwise),
            ("wake_up", self._begins("wake_up"), self._is_mapped_otherwise),
        ):
            tell(_wrap, kind, name, self._steps, before, after)

    def _begins(self, stage: str) -> Callable[..., None]:
        return lambda *_: self._turn(stage)

    def _is_mapped_otherwise(self, *_: Any) -> None:
        """What comes after, in the same stage, has another part of PyTorch's memory."""
        self._steps.close()

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

    def _asks(self, start: Any, cache_config: Any, held_elsewhere: int = 0) -> None:
        """`held_elsewhere`: weights, by another process."""
        asked = math.ceil(start.total_memory * cache_config.gpu_memory_utilization)
        self._worker = {
            "card": start.total_memory,
            "free_at_start": start.free_memory,
            "requested": asked - held_elsewhere,
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
        given = worker.vllm_config.cache_config.kv_cache_memory_bytes
        self._worker["available"] = given or int(worker.available_kv_cache_memory_bytes)
        if not given:
            taken = self._worker["requested"] - self._worker["available"]
            self._worker["counted"] = _counted(worker, taken)

    def _plans(self, config: Any, *_: Any) -> None:
        self._planned = config

    def _checks(
        self,
        available: int,
        needed: Callable[[], int],
        max_model_len: int,
        longest: Callable[[int], int],
    ) -> None:
        """Whether one request of `max_model_len` tokens has room in `available`: the cache but for
        the block that vLLM keeps for itself, from 0.33 on. `longest` is that of a cache's bytes."""
        if self._planned.cache_config.num_gpu_blocks_override is None:
            self._worker["available"] = available
        self._worker["settings"]["max_model_len"] = max_model_len  # it may have been to be found
        self._worker["needed"] = needed()
        model = self._planned.model_config
        derived = model.model_arch_config.derived_max_model_len_and_key[0]
        try:
            # `longest` looks no further than that.
            model.max_model_len = max_model_len if math.isinf(derived) else int(derived)
            self._worker["longest"] = longest(available) if available > 0 else 0
        finally:
            model.max_model_len = max_model_len

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


def _wrap(
    kind: Any, name: str, steps: Steps, before: Callable[..., None], after: Callable[..., None]
) -> None:
    """Both are called with the worker and its method's arguments."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def wrapped(worker: Any, *args: Any, **kwargs: Any) -> Any:
        tell(before, worker, *args)
        with steps.of_engine():
            result = method(worker, *args, **kwargs)
        tell(after, worker, *args)
        return result

    setattr(kind, name, wrapped)


def _counted(worker: Any, taken: int) -> Json:
    """`taken`: all but the cache. 0.26 counts what its card lost outside of PyTorch and what it
    allocates beside weights; 0.33 what its card lost, buffers of PyTorch's among it, and what it
    allocates and gives back."""
    from vllm import envs

    counted = {"weights": int(worker.model_runner.model_memory_usage)}
    if hasattr(worker, "total_consumed"):
        counted["stays"] = int(worker.total_consumed) - counted["weights"]
    else:
        counted["outside_torch"] = int(worker.non_torch_memory)
    estimate = worker.cudagraph_memory_estimate
    counted["graphs"] = int(estimate) if envs.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS else 0
    return {**counted, "activations": taken - sum(counted.values())}
