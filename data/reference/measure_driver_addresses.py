"""Record where cudaMalloc puts what is allocated, and what the card loses for it.

Each sequence runs in a forked child, so that it finds the driver as a program does that has only
made a context. Events are [bytes, address less the lowest address of the sequence, bytes that the
card uses] of an allocation, [index] of a freed one, the index being that of its allocation.

usage: measure_driver_addresses.py OUT.jsonl
"""

import ctypes
import json
import os
import random
import sys
from pathlib import Path

MIB = 1 << 20

LARGE = (
    (20, 32, 64),
    (2, 4, 20, 22, 30, 34),
    (20, 100, 300, 500),
    (416, 420, 300, 150, 64, 32, 62),
    (2, 20, 22, 64, 128, 500, 1000, 1500, 3000),
)  # MiB
SMALL = (1, 256, 512, 1000, 4096, 65536, 100000, 524288, MIB, MIB + 1, 3 * MIB // 2, 2 * MIB - 1)
ROUNDS = (
    [20] * 30,
    [20] * 10 + [64] * 5 + [500] * 2,
    [1000] * 3,
    [34] * 20,
    [2] * 40 + [130] * 4,
)  # MiB


class Driver:
    """cudaMalloc and cudaFree of this process, and a record of them."""

    def __init__(self):
        self._runtime = ctypes.CDLL("libcudart.so.13")
        self._runtime.cudaFree(None)
        self._addresses = {}
        self.events = []

    def live(self):
        return list(self._addresses)

    def allocate(self, size):
        pointer = ctypes.c_void_p()
        if self._runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) != 0:
            return
        self._addresses[len(self.events)] = pointer.value
        self.events.append([size, pointer.value, self._used()])

    def free(self, index):
        self._runtime.cudaFree(ctypes.c_void_p(self._addresses.pop(index)))
        self.events.append([index])

    def _used(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value


def at_random(driver, sizes, seed):
    """Allocations and frees in turn, more frees towards the end."""
    draws = random.Random(seed)
    for turn in range(120):
        if driver.live() and draws.random() < (0.35 if turn < 80 else 0.6):
            driver.free(draws.choice(driver.live()))
        else:
            driver.allocate(draws.choice(sizes))


def in_rounds(driver, seed):
    """As a generation that empties its cache between prompts does."""
    for turn in range(4):
        before = set(driver.live())
        for size in ROUNDS[(seed + turn) % len(ROUNDS)]:
            driver.allocate(size * MIB * (1 + turn % 2))
        made = [index for index in driver.live() if index not in before]
        kept = made[::7] if seed % 2 else []
        for index in made if seed % 3 else reversed(made):
            if index not in kept:
                driver.free(index)


def sequences():
    for seed in range(25):
        sizes = [size * MIB for size in LARGE[seed % len(LARGE)]]
        yield "large", lambda driver, sizes=sizes, seed=seed: at_random(driver, sizes, seed)
    for seed in range(10):
        yield "rounds", lambda driver, seed=seed: in_rounds(driver, seed)
    for seed in range(4):
        sizes = [*SMALL, 2 * MIB, 3 * MIB, 5 * MIB + 77]
        yield "small", lambda driver, sizes=sizes, seed=seed: at_random(driver, sizes, seed)


def record(run):
    driver = Driver()
    run(driver)
    lowest = min(event[1] for event in driver.events if len(event) > 1)
    return [
        [event[0], event[1] - lowest, *event[2:]] if len(event) > 1 else event
        for event in driver.events
    ]


def main():
    out = Path(sys.argv[1])
    for kind, run in sequences():
        pid = os.fork()
        if pid == 0:
            with out.open("a") as file:
                file.write(json.dumps({"kind": kind, "events": record(run)}) + "\n")
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
