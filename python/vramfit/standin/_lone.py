"""Process groups of which one rank is there. It finds whom it looks for: its rendezvous is over at
once, what is gathered is its own, and NCCL is the stand-in's (standin/libraries/nccl.cpp).
"""

from __future__ import annotations

import functools
import inspect
import os
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import FakeProcessGroup
from torch.distributed import distributed_c10d

from vramfit.standin._deepspeed import without_kernels
from vramfit.standin._peers import Asker, Peers, unpickled
from vramfit.standin._symmetric import attend as attend_symmetric_memory
from vramfit.standin._zero import consolidate_alone

Function = Callable[..., Any]


class _Store(dist.Store):
    """What ranks tell each other before they have a group. What others would have told is zeros, as
    long as NCCL's unique id."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, bytes] = {}

    def set(self, key: str, value: bytes) -> None:
        self._kept[key] = value

    def get(self, key: str) -> bytes:
        return self._kept.get(key, bytes(128))

    def add(self, key: str, number: int) -> int:
        total = int(self._kept.get(key, b"0")) + number
        self._kept[key] = str(total).encode()
        return total

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        if self._kept.get(key, b"") == expected:
            self._kept[key] = desired
        return self._kept.get(key, expected)

    def check(self, keys: list[str]) -> bool:
        return all(key in self._kept for key in keys)

    def wait(self, keys: list[str], timeout: Any = None) -> None:
        pass

    def num_keys(self) -> int:
        return len(self._kept)

    def delete_key(self, key: str) -> bool:
        return self._kept.pop(key, None) is not None

    def set_timeout(self, timeout: Any) -> None:
        pass


class _MadeUp(type):
    def __instancecheck__(cls, group: Any) -> bool:
        return isinstance(group, FakeProcessGroup)


class _Gloo(metaclass=_MadeUp):
    """PyTorch's own group of one rank, whose collectives give back what they are given."""

    def __new__(cls, store: Any, rank: int, size: int, **_: Any) -> Any:
        return FakeProcessGroup._create_internal(rank, size, FakeProcessGroup.Options())


def _leave_groups() -> None:
    """The store is Python's, and NCCL's monitor would go on asking it after Python has ended."""
    if dist.is_initialized():
        dist.destroy_process_group()


class LoneRank:
    """This process, in its groups. `leave`: ends it where it turns out to be of another `rank` than
    those that `are_others` leaves. `peers` know what others send; `asker` is the rank that this one
    is a peer of, if it is one."""

    def __init__(
        self,
        are_others: Callable[[int], bool],
        leave: Callable[[], None],
        peers: Peers,
        asker: Asker | None,
    ) -> None:
        self._are_others, self._leave = are_others, leave
        self._peers, self._asker = peers, asker
        self._store = _Store()
        self._rank = self._size = 0
        self._not_received = 0  # objects that ranks send which cannot be asked

    def attend(self) -> None:
        """For as long as the process lives."""
        # As Python ends, after what came later and leaves its own groups: vLLM's engine.
        weakref.finalize(distributed_c10d, _leave_groups)
        without_kernels()
        consolidate_alone()
        attend_symmetric_memory()
        distributed_c10d.rendezvous = self._rendezvous
        distributed_c10d.ProcessGroupGloo = _Gloo
        FakeProcessGroup._set_sequence_number_for_group = lambda _: None
        distributed_c10d._get_split_source = lambda _: None  # all groups are made anew
        _replace("init_process_group", self._initializing)
        _replace("split_group", self._splitting)
        _replace("monitored_barrier", lambda _: lambda *_args, **_kwargs: None)
        _replace("send_object_list", self._sending)
        _replace("broadcast_object_list", self._broadcasting)
        _replace("gather_object", self._gathering)
        _replace("scatter_object_list", self._scattering)
        _replace("recv_object_list", self._receiving)

    def told(self) -> dict[str, int] | None:
        """None: it is in no group."""
        if self._size == 0:
            return None
        return {
            "rank": self._rank,
            "ranks": self._size,
            "not_received": self._not_received,
            "peers": self._peers.count,
        }

    def _rendezvous(
        self, url: str, rank: int = -1, world_size: int = -1, **_: Any
    ) -> Iterator[tuple[_Store, int, int]]:
        """torch.distributed.rendezvous(): where ranks are not said, the environment has them."""
        rank, size = (
            _from_environment(name) if said < 0 else said
            for name, said in (("RANK", rank), ("WORLD_SIZE", world_size))
        )
        self._be(rank, size)
        yield self._store, rank, size

    def _be(self, rank: int, size: int) -> None:
        if self._are_others(rank):
            self._leave()
        self._rank, self._size = rank, size

    # Of one function each, what is called in its place.

    def _initializing(self, initialize: Function) -> Function:
        """With a store of the script's own there is no rendezvous."""
        takes = inspect.signature(initialize)

        @functools.wraps(initialize)
        def init_process_group(*args: Any, **kwargs: Any) -> None:
            given = takes.bind(*args, **kwargs)
            if given.arguments.get("store") is not None:
                self._be(given.arguments["rank"], given.arguments["world_size"])
                given.arguments["store"] = self._store
            initialize(*given.args, **given.kwargs)

        return init_process_group

    def _splitting(self, _: Function) -> Function:
        """As new groups: NCCL learns from all ranks how many go with this one."""

        def split_group(
            parent_pg: Any = None,
            split_ranks: Any = None,
            timeout: Any = None,
            pg_options: Any = None,
            group_desc: str | None = None,
        ) -> Any:
            parent = parent_pg or dist.group.WORLD
            of_all = dist.get_process_group_ranks(parent)
            groups = [
                dist.new_group(
                    [of_all[rank] for rank in ranks], timeout=timeout, group_desc=group_desc
                )
                for ranks in split_ranks
            ]
            mine = [group for group in groups if group is not dist.GroupMember.NON_GROUP_MEMBER]
            return mine[0] if mine else None

        return split_group

    def _sending(self, send: Function) -> Function:
        @functools.wraps(send)
        def send_object_list(
            object_list: Any, dst: Any = None, group: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            self._tell(object_list, "send", [_global_rank(dst, group, kwargs.get("group_dst"))])
            return send(object_list, dst, group, *args, **kwargs)

        return send_object_list

    def _broadcasting(self, broadcast: Function) -> Function:
        @functools.wraps(broadcast)
        def broadcast_object_list(
            object_list: Any,
            src: Any = None,
            group: Any = None,
            device: Any = None,
            group_src: Any = None,
        ) -> Any:
            source = _global_rank(src, group, group_src)
            if source == dist.get_rank():
                self._tell(object_list, "broadcast", dist.get_process_group_ranks(group))
                return broadcast(object_list, src, group, device, group_src)

            def receive(tensor: torch.Tensor) -> None:
                dist.broadcast(tensor, source, group)

            return self._receive(object_list, source, "broadcast", receive, _place(device, group))

        return broadcast_object_list

    def _gathering(self, _: Function) -> Function:
        def gather_object(
            obj: Any,
            object_gather_list: Any = None,
            dst: Any = None,
            group: Any = None,
            group_dst: Any = None,
        ) -> None:
            here = _global_rank(dst, group, group_dst) == dist.get_rank()
            size = dist.get_world_size(group)
            gathered = object_gather_list if here and object_gather_list else [None] * size
            dist.all_gather_object(gathered, obj, group)

        return gather_object

    def _scattering(self, _: Function) -> Function:
        def scatter_object_list(
            scatter_object_output_list: Any,
            scatter_object_input_list: Any = None,
            src: Any = None,
            group: Any = None,
            group_src: Any = None,
        ) -> None:
            source = _global_rank(src, group, group_src)
            if source == dist.get_rank():
                ranks = dist.get_process_group_ranks(group)
                for rank, part in zip(ranks, scatter_object_input_list, strict=True):
                    self._tell([part], "scatter", [rank])
                scatter_object_output_list[0] = scatter_object_input_list[dist.get_rank(group)]
                return
            part = [scatter_object_output_list[0]]

            def receive(tensor: torch.Tensor) -> None:
                dist.scatter(tensor, None, source, group)

            self._receive(part, source, "scatter", receive, _place(None, group))
            scatter_object_output_list[0] = part[0]

        return scatter_object_list

    def _receiving(self, _: Function) -> Function:
        def recv_object_list(
            object_list: Any,
            src: Any = None,
            group: Any = None,
            device: Any = None,
            group_src: Any = None,
            *,
            use_batch: bool = False,
        ) -> int:
            source = _global_rank(src, group, group_src)

            def receive(tensor: torch.Tensor) -> None:
                if use_batch:
                    batch = [dist.P2POp(dist.irecv, tensor, source, group)]
                    dist.batch_isend_irecv(batch).pop().wait()
                else:
                    dist.recv(tensor, source, group)

            self._receive(object_list, source, "send", receive, _place(device, group))
            return source

        return recv_object_list

    def _tell(self, objects: Any, how: str, to: list[int]) -> None:
        """The rank that this one runs for, if it is among those that objects go to."""
        if self._asker is not None and self._asker.rank in to:
            self._asker.send(objects, how)

    def _receive(
        self,
        objects: Any,
        source: int,
        how: str,
        receive: Callable[[torch.Tensor], None],
        place: Any,
    ) -> None:
        """Sizes first, then all of them in one tensor, as PyTorch does it."""
        found = self._peers.objects_of(source, dist.get_rank(), how)
        if found is None:
            self._not_received += len(objects)
            return
        receive(torch.empty(len(found), dtype=torch.long, device=place))
        receive(torch.empty(sum(map(len, found)), dtype=torch.uint8, device=place))
        objects[:] = map(unpickled, found)


def _from_environment(name: str) -> int:
    said = os.environ.get(name, "")
    if not said.isdecimal():
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return int(said)


def _global_rank(rank: int | None, group: Any, rank_in_group: int | None) -> int:
    """That a collective names, by default the first."""
    if rank_in_group is not None:
        return dist.get_global_rank(group or dist.group.WORLD, rank_in_group)
    return rank or 0


def _place(device: Any, group: Any) -> Any:
    """Where objects are received."""
    return device or distributed_c10d._get_object_coll_device(group)


def _replace(name: str, replaced: Callable[[Function], Function]) -> None:
    function = replaced(getattr(distributed_c10d, name))
    for module in (distributed_c10d, dist, dist.device_mesh):
        if hasattr(module, name):
            setattr(module, name, function)
