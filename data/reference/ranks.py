"""Runs a function in a process for each rank of a process group, and leaves none behind."""

import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from multiprocessing import connection

TIMED_OUT = {"timeout": True}

Work = Callable[[int, dict], dict]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _rank(work: Work, rank: int, case: dict, port: int, sender: connection.Connection) -> None:
    """Where PyTorch and torchrun look for it, the group's address is said."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    sender.send(work(rank, case))
    sender.close()
    os._exit(0)  # what else there is to end may wait for ranks that are no more


def _first_of(receivers: dict[connection.Connection, int], deadline: float) -> dict:
    """What rank 0 says once all have; of one that failed, or of none in time, why."""
    results = {}
    while receivers:
        ready = connection.wait(receivers, max(0.0, deadline - time.monotonic()))
        if not ready:
            return TIMED_OUT
        for receiver in ready:
            rank = receivers.pop(receiver)
            try:
                results[rank] = receiver.recv()
            except EOFError:
                return {"error": f"GPU {rank}: its process died"}
            if {"oom", "error"} & results[rank].keys():
                return results[rank]
    return results[0]


def of_all_ranks(work: Work, case: dict, count: int, seconds: float) -> dict:
    """What `work(0, case)` says once all ranks are done. A rank that says `oom` or `error`, or that
    dies, ends the others. Processes are not forked: imports may have asked for a GPU."""
    spawn = multiprocessing.get_context("spawn")
    port, processes, receivers = _free_port(), [], {}
    deadline = time.monotonic() + seconds
    try:
        for rank in range(count):
            receiver, sender = spawn.Pipe(duplex=False)
            process = spawn.Process(target=_rank, args=(work, rank, case, port, sender))
            process.start()
            processes.append(process)
            sender.close()  # or nobody notices that the rank died
            receivers[receiver] = rank
        return _first_of(receivers, deadline)
    finally:
        for process in processes:
            process.kill()
            process.join()
