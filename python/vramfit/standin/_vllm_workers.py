"""vLLM over several GPUs: one worker runs, in its engine's own process, and answers for all.

Its process groups are of a lone rank (_lone.py); here is what vLLM's workers ask each other
elsewhere: through shared memory, and for addresses that they map. The names are those of vLLM 0.26.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vramfit.standin._door import StandInError
from vramfit.standin._vllm_releases import when_has

# What an engine may be split by beside tensors, and the flag that says so.
_NOT_STOOD_IN = {
    "pipeline_parallel_size": "a pipeline",
    "data_parallel_size": "several engines",
    "prefill_context_parallel_size": "context parallel prefill",
    "nnodes": "several machines",
}


def attend(rank: int, refuse: Callable[[StandInError], None]) -> None:
    """`rank`: the worker that runs. `refuse` ends the run."""
    layers = "vllm.distributed.device_communicators"
    for module, name, change in (
        ("vllm.engine.arg_utils", "EngineArgs", lambda it: _check_engines(it, rank, refuse)),
        (
            "vllm.v1.executor.multiproc_executor",
            "MultiprocExecutor",
            lambda it: _run_one_worker(it, rank),
        ),
        ("vllm.distributed.parallel_state", "in_the_same_node_as", _share_a_machine),
        (f"{layers}.shm_broadcast", "MessageQueue", _broadcast_to_nobody),
        (f"{layers}.custom_all_reduce", "CustomAllreduce", _map_own_graphs),
    ):
        when_has((module,), name, change)


def _check_engines(module: Any, rank: int, refuse: Callable[[StandInError], None]) -> None:
    kind = module.EngineArgs
    create = kind.create_engine_config

    def created(*args: Any, **kwargs: Any) -> Any:
        config = create(*args, **kwargs)
        try:
            _check(config.parallel_config, rank, module.current_platform.device_count())
        except StandInError as error:
            refuse(error)
        return config

    kind.create_engine_config = created


def _check(parallel: Any, rank: int, gpus: int) -> None:
    """Raises StandInError where a worker would need what another alone has, or a GPU that is not
    among so many."""
    for name, what in _NOT_STOOD_IN.items():
        if getattr(parallel, name, 1) > 1:
            raise StandInError(
                f"vLLM with {what} is not stood in for: leave out --{name.replace('_', '-')}"
            )
    workers = parallel.world_size
    if workers > gpus:
        raise StandInError(f"vLLM's {workers} workers have {gpus} GPUs: --gpus {workers}")
    if rank >= workers:
        raise StandInError(f"--rank {rank}: vLLM has {workers} workers, 0 to {workers - 1}")


def _run_one_worker(module: Any, rank: int) -> None:
    from vllm.v1.executor.uniproc_executor import UniProcExecutor

    class OneOfSeveral(UniProcExecutor):  # type: ignore[misc]
        """What the cache may take is the least of what workers tell, who tell the same here."""

        __module__ = module.__name__  # by which it is told to the engine's process
        __qualname__ = "MultiprocExecutor"

        def _distributed_args(self) -> tuple[str, int, int]:
            method, _, _ = super()._distributed_args()
            return method, rank, rank

    module.MultiprocExecutor = OneOfSeveral


def _share_a_machine(module: Any) -> None:
    """They would find out by a piece of shared memory."""

    def in_the_same_node_as(group: Any, source_rank: int = 0) -> list[bool]:
        return [True] * group.size()

    module.in_the_same_node_as = in_the_same_node_as


def _broadcast_to_nobody(module: Any) -> None:
    """Without a queue, workers broadcast through their process group."""

    def create_from_process_group(*_: Any, **__: Any) -> None:
        return None

    module.MessageQueue.create_from_process_group = staticmethod(create_from_process_group)


def _map_own_graphs(module: Any) -> None:
    """What a graph reads of other ranks lies where it lies here."""

    def register_graph_buffers(communicator: Any) -> None:
        handles, offsets = module.ops.get_graph_buffer_ipc_meta(communicator._ptr)
        ranks = communicator.world_size
        module.ops.register_graph_buffers(communicator._ptr, [handles] * ranks, [offsets] * ranks)

    module.CustomAllreduce.register_graph_buffers = register_graph_buffers
