"""Which rank of many a process is, as its launcher says. One of them runs; the processes of others
end as they come to torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NoReturn

from vramfit.standin._door import StandInError
from vramfit.standin._imports import when_imported

# Where launchers say a rank, and how many there are: torchrun, Accelerate and DeepSpeed; Open MPI;
# MPICH and Intel's MPI.
_SAID = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)
# What torchrun says beside them: the rank and how many, by other names; the machine, and how many.
_ROLE = ("ROLE_RANK", "ROLE_WORLD_SIZE")
_MACHINE = ("GROUP_RANK", "GROUP_WORLD_SIZE")
# Which rank of its machine a process is, and how many that has, by the same launchers.
_LOCAL = (
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
# How many machines torchrun was told of, for the processes that it starts on the one that is there.
_NODES = "VRAMFIT_NODES"
# How many ranks there are in all, once a process has found itself among them.
_WIDENED = "VRAMFIT_RANKS"


def environment_of(rank: int, variables: Mapping[str, str]) -> dict[str, str]:
    """Of another rank than the one whose variables these are; empty where none says one."""
    changed = {name: rank for name, _ in (*_SAID, _ROLE) if name in variables}
    if not changed:
        return {}
    for name, count in _LOCAL:
        if name in variables and variables.get(count, "").isdecimal():
            here = int(variables[count])
            changed |= {name: rank % here, _MACHINE[0]: rank // here}
    return {**variables, **{name: str(value) for name, value in changed.items()}}


class Ranks:
    """Of a run: the one that is looked at, None: each, by itself; over how many machines the ranks
    are, None: as the launcher says, of which the first is there; and how many GPUs that has, None:
    not known."""

    def __init__(self, looked_at: int | None, nodes: int | None, gpus: int | None = None) -> None:
        self._looked_at, self._nodes, self._gpus = looked_at, nodes, gpus

    def are_others(self, rank: int) -> bool:
        """Whether a rank is not looked at."""
        return self._looked_at not in (None, rank)

    def settle(
        self, variables: MutableMapping[str, str], refuse: Callable[[StandInError], NoReturn]
    ) -> bool:
        """Whether this process runs. One that does finds itself among the ranks of all machines;
        one that starts ranks starts those of a single machine, unless what it is told is not what
        `vramfit run` is told: it is to `refuse` that.

        Raises StandInError where no such rank is started.
        """
        for rank, count in _SAID:
            if variables.get(rank, "").isdecimal() and variables.get(count, "").isdecimal():
                return self._is_run(variables, rank, count)
        when_imported(
            "torch.distributed.launcher.api",
            lambda launcher: self._start_one_machine(launcher, refuse),
        )
        return True

    def _is_run(self, variables: MutableMapping[str, str], rank: str, count: str) -> bool:
        if variables.get(_WIDENED) == variables[count]:
            return True  # the process that started this one runs
        here = int(variables[count])
        nodes = self._nodes or int(variables.get(_NODES, 1))
        looked_at = self._looked_at
        if looked_at is None:
            looked_at = int(variables[rank])
        if looked_at >= here * nodes:
            raise StandInError(
                f"--rank {looked_at}: there are {here * nodes} ranks, 0 to {here * nodes - 1}"
            )
        if int(variables[rank]) != looked_at % here:
            return False
        for name, value in (
            *((name, looked_at) for name in (rank, _ROLE[0]) if name in variables),
            *((name, here * nodes) for name in (count, _ROLE[1]) if name in variables),
            (_MACHINE[0], looked_at // here),
            (_MACHINE[1], nodes),
            (_WIDENED, here * nodes),
        ):
            variables[name] = str(value)
        return True

    def _start_one_machine(self, launcher: Any, refuse: Callable[[StandInError], NoReturn]) -> None:
        """torchrun waits for the agents of all machines before it starts anything."""
        launch = launcher.launch_agent

        def launched(config: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                self._check(config)
            except StandInError as error:
                refuse(error)
            if config.min_nodes > 1:
                os.environ[_NODES] = str(config.min_nodes)
                config.min_nodes = config.max_nodes = 1
                config.rdzv_backend, config.rdzv_endpoint = "c10d", "localhost:0"
                config.rdzv_configs = {}
            return launch(config, *args, **kwargs)

        launcher.launch_agent = launched

    def _check(self, config: Any) -> None:
        """Raises StandInError where torchrun's configuration is of other machines. One machine is
        also what it has where nobody told it, and one rank may use all GPUs."""
        nodes, ranks = self._nodes, config.nproc_per_node
        least, most = config.min_nodes, config.max_nodes
        if nodes is not None and most > 1 and not least <= nodes <= most:
            told = least if least == most else f"{least} to {most}"
            raise StandInError(
                f"--nodes {nodes}: the launcher is told of {told} machines: leave out --nodes, or "
                f"tell it of {nodes} (torchrun --nnodes, accelerate launch --num_machines)"
            )
        if self._gpus is not None and ranks not in (1, self._gpus):
            raise StandInError(
                f"--gpus {self._gpus}: the launcher starts {ranks} ranks on this machine: take "
                f"--gpus {ranks}, or have it start {self._gpus} (torchrun --nproc_per_node, "
                "accelerate launch --num_processes)"
            )
