"""What a vLLM engine is served where nobody asks it: one batch that fills it, twice.

As the script ends, or as a server has started, the client asks the engine's core, in its process or
another: an engine that served requests of the script's own is left alone.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import signal
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from vramfit.standin._vllm_releases import LAUNCHERS, tell, when_has

WRITE = "vramfit_write"  # a method of its workers'
_NEW_TOKENS = 4  # of each request: a prefill, and some steps of decode
# The second time: what most clients send, and so much more than the likeliest token takes.
_SAMPLED = {"temperature": 0.8, "top_p": 0.95, "top_k": 50}
_SHUTDOWN = 30  # seconds
_NAME = "vramfit_fill"  # of the method of its core's


def attend() -> None:
    when_has(("vllm.v1.engine.core",), "EngineCore", _attend_core)
    when_has(("vllm.v1.engine.core_client",), "InprocClient", _attend_clients)
    when_has(LAUNCHERS, "serve_http", _attend_server)


def _attend_core(module: Any) -> None:
    kind = module.EngineCore
    add_request = kind.add_request

    @functools.wraps(add_request)
    def added(core: Any, *args: Any, **kwargs: Any) -> None:
        core.vramfit_was_asked = True
        add_request(core, *args, **kwargs)

    kind.add_request = added
    kind.vramfit_was_asked = False
    setattr(kind, _NAME, _fill)


def _fill(core: Any) -> None:
    """As many requests as may run at once, of as many tokens as a step takes; to their end. Then
    its workers write down what they took: they are not always given the time for it."""
    if not core.vramfit_was_asked and not core.is_pooling_model:
        tell(_serve, core)
    core.model_executor.collective_rpc(WRITE)


def _serve(core: Any) -> None:
    for number, sampling in enumerate(({"temperature": 0.0}, _SAMPLED)):
        for request in _requests(core.vllm_config, number, sampling):
            core.add_request(*core.preprocess_add_request(request))
        while core.scheduler.has_requests() or core.batch_queue:
            _, executed = core.step_fn()
            core.post_step(executed)


def _requests(config: Any, number: int, sampling: dict[str, float]) -> Iterator[Any]:
    """No two begin alike, so that none is found in the cache of prefixes."""
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine import EngineCoreRequest

    most, tokens = (
        config.scheduler_config.max_num_seqs,
        config.scheduler_config.max_num_batched_tokens,
    )
    requests = min(most, tokens)
    longest = config.model_config.max_model_len - _NEW_TOKENS
    length = max(1, min(tokens // requests, longest))
    vocabulary = config.model_config.get_vocab_size()
    for index in range(requests):
        first = number * requests + index
        yield EngineCoreRequest(
            request_id=f"vramfit-{first}",
            prompt_token_ids=[(first + at) % vocabulary for at in range(length)],
            mm_features=None,
            sampling_params=SamplingParams(**sampling, max_tokens=_NEW_TOKENS, ignore_eos=True),
            pooling_params=None,
            arrival_time=0.0,
            lora_request=None,
            cache_salt=None,
            data_parallel_rank=None,
        )


def _attend_clients(module: Any) -> None:
    _at_exit(module.InprocClient, lambda client: getattr(client.engine_core, _NAME)())
    _at_exit(module.SyncMPClient, lambda client: client.call_utility(_NAME))


def _at_exit(kind: Any, ask: Any) -> None:
    initialize = kind.__init__

    @functools.wraps(initialize)
    def initialized(client: Any, *args: Any, **kwargs: Any) -> None:
        initialize(client, *args, **kwargs)
        still = weakref.ref(client)

        def at_exit() -> None:
            there = still()
            if there is not None and getattr(sys, "last_value", None) is None:
                ask(there)

        atexit.register(at_exit)

    kind.__init__ = initialized


def _attend_server(module: Any) -> None:
    """It would wait for ever: once it could answer it is filled, and ended as by its user."""
    serve_http = module.serve_http

    @functools.wraps(serve_http)
    async def served(app: Any, *args: Any, **kwargs: Any) -> Any:
        ending = asyncio.get_running_loop().create_task(_fill_and_end(app.state.engine_client))
        result = await serve_http(app, *args, **kwargs)
        await ending
        return result

    module.serve_http = served


async def _fill_and_end(client: Any) -> None:
    try:
        await client.engine_core.call_utility_async(_NAME)
    finally:
        client.vllm_config.shutdown_timeout = _SHUTDOWN  # otherwise its core is killed at once
        os.kill(os.getpid(), signal.SIGTERM)
