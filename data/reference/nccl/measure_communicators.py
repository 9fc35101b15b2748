"""Record what NCCL's communicators take of a card, of the first of two GPUs.

A sequence names what is done in turn, a letter each; after each the card is read by
cudaMemGetInfo, less what PyTorch's allocator holds:

    K  PyTorch's first kernel           S  a stream beside the default one
    I  ncclCommInitRank, another one    R  an all-reduce by the last of those
    E  init_process_group(device_id=)   N  new_group
    B  a broadcast by the last group    A  an all-reduce by it
    M  cudaMalloc of 8 MiB and 4 kB     P  the other GPU's is opened (cudaIpcOpenMemHandle)
    Y  64 MiB of symmetric memory (torch.distributed._symmetric_memory)

usage: measure_communicators.py OUT.jsonl
"""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
import torch.multiprocessing as mp

SEQUENCES = (
    "KIRSIRIR", "SKIRIR", "IRKS", "KEBANBANBA", "SKEBANBA", "EBKS", "KIRENBANBA", "MPMPYKS",
)  # fmt: skip
RANKS = 2
FLOAT32, SUM = 7, 0  # NCCL's


class UniqueId(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_byte * 128),)


class Handle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_byte * 64),)


class Rank:
    def __init__(self, rank):
        self._rank, self._met = rank, 0
        torch.cuda.set_device(rank)
        torch.cuda.init()
        self._store = dist.TCPStore("127.0.0.1", 29514, RANKS, rank == 0)
        # PyTorch's, which are loaded.
        self._nccl, self._cuda = ctypes.CDLL("libnccl.so.2"), ctypes.CDLL("libcudart.so.13")
        self._communicators, self._groups, self._kept = [], [], []
        self._tensor = torch.empty(1024, device="cuda")

    def used(self):
        """Once all have come here."""
        torch.cuda.synchronize()
        self._met += 1
        self._store.add(f"met{self._met}", 1)
        while self._store.add(f"met{self._met}", 0) < RANKS:
            pass
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    def do(self, letter):
        getattr(self, f"_{letter.lower()}")()

    def _k(self):
        self._tensor.add_(1)

    def _s(self):
        torch.cuda.Stream()

    def _i(self):
        unique = UniqueId()
        key = f"id{len(self._communicators)}"
        if self._rank == 0:
            self._nccl.ncclGetUniqueId(ctypes.byref(unique))
            self._store.set(key, bytes(unique))
        unique = UniqueId.from_buffer_copy(self._store.get(key))
        communicator = ctypes.c_void_p()
        self._nccl.ncclCommInitRank(ctypes.byref(communicator), RANKS, unique, self._rank)
        self._communicators.append(communicator)

    def _r(self):
        place = ctypes.c_void_p(self._tensor.data_ptr())
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._nccl.ncclAllReduce(
            place, place, ctypes.c_size_t(1), FLOAT32, SUM, self._communicators[-1], stream
        )

    def _e(self):
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29513"}
        device = torch.device("cuda", self._rank)
        dist.init_process_group("nccl", rank=self._rank, world_size=RANKS, device_id=device)
        self._groups.append(None)

    def _n(self):
        self._groups.append(dist.new_group())

    def _b(self):
        dist.broadcast(self._tensor, 0, group=self._groups[-1])

    def _a(self):
        dist.all_reduce(self._tensor, group=self._groups[-1])

    def _m(self):
        pointer = ctypes.c_void_p()
        self._cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t((8 << 20) + 4096))
        handle = Handle()
        self._cuda.cudaIpcGetMemHandle(ctypes.byref(handle), pointer)
        self._store.set(f"handle{self._rank}", bytes(handle))

    def _p(self):
        handle = Handle.from_buffer_copy(self._store.get(f"handle{1 - self._rank}"))
        opened = ctypes.c_void_p()
        self._cuda.cudaIpcOpenMemHandle(ctypes.byref(opened), handle, 1)
        assert opened.value

    def _y(self):
        self._kept.append(symmetric.empty(32 << 20, device="cuda", dtype=torch.bfloat16))


def measure(rank, sequence, out):
    process = Rank(rank)
    used = [process.used()]
    for letter in sequence:
        process.do(letter)
        used.append(process.used())
    if rank == 0:
        with Path(out).open("a") as file:
            file.write(json.dumps({"sequence": sequence, "used": used}) + "\n")
    os._exit(0)


def environment():
    query = "--query-gpu=name,driver_version", "--format=csv,noheader"
    told = subprocess.run(["nvidia-smi", *query], capture_output=True, text=True, check=True)
    gpu, driver = told.stdout.splitlines()[0].split(", ")
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    multicast = os.environ.get("NCCL_NVLS_ENABLE") != "0"
    return {
        "gpu": gpu,
        "driver": driver,
        "torch": torch.__version__,
        "nccl": nccl,
        "multicast": multicast,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({"env": environment()}) + "\n")
    for each in SEQUENCES:
        mp.spawn(measure, (each, sys.argv[1]), nprocs=RANKS)
