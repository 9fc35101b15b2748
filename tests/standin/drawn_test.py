"""Random integers of a GPU's, drawn without it."""

from stood_in import needs_torch, play

pytestmark = needs_torch


def test_philox():
    """Random123's known answers (kat_vectors: philox4x32 10)."""
    script = """
import torch
from vramfit.standin._drawn import philox

def words(seed, turn, thread):
    return philox(seed, torch.tensor([turn]), torch.tensor([thread])).flatten().tolist()

print(json.dumps([words(0, 0, 0), words(-1, -1, -1)]))
"""
    assert play(script) == [
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ]


def test_as_an_h100_drew_them():
    """First values and weighted sums, PyTorch 2.11.0+cu130 on one H100; both launch alike."""
    script = """
import torch

def told(tensor):
    numbers = tensor.cpu().flatten().long()
    weights = torch.arange(1, len(numbers) + 1)
    return [*numbers[:3].tolist(), int((numbers * weights % 1000003).sum())]

torch.manual_seed(0)
prompt = torch.randint(0, 50257, (8, 2048), device="cuda")
few = torch.randint(-5, 100, (3, 7), device="cuda")
torch.rand(3, 100, device="cuda")
many = torch.randint(1000, (900000,), device="cuda")  # more than threads
torch.manual_seed(12345678901234)
written = torch.empty(333, dtype=torch.int32, device="cuda").random_(7, 2000)
own = torch.Generator("cuda")
own.manual_seed(3)
by_own = torch.randint(0, 32000, (4, 1024), device="cuda", generator=own)
print(json.dumps([told(drawn) for drawn in (prompt, few, many, written, by_own)]))
"""
    assert play(script) == [
        [27327, 22262, 27781, 8167330231],
        [-1, 5, 58, 1009200],
        [825, 391, 674, 449411026220],
        [1690, 1252, 1993, 52602499],
        [18551, 30149, 9991, 2053398207],
    ]


def test_a_script_without_a_seed_draws_the_same_each_time():
    script = """
import torch
print(json.dumps(torch.randint(0, 50257, (3,), device="cuda").tolist()))
"""
    assert play(script) == play(script)
