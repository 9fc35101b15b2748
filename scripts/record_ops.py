"""Record which tensors a transformers model makes, op by op, without a GPU.

Runs training steps (or a generation) of a case of data/reference/measure_pytorch.py under
FakeTensorMode: shapes without memory. A dispatch mode sees every ATen op below autograd; weak
references to storages tell when each is freed. What is recorded is thereby PyTorch's own order of
allocations and frees, apart from what kernels allocate within.

The engine does not run backward on a cuda device that is not there, so the device is the CPU, made
to take the decisions of a card: which attention kernel, which form of the optimizer, which ops
autocast keeps in fp32.

usage: record_ops.py CASES.json OUT.jsonl [--text]
"""

import gc
import json
import sys
import weakref
from pathlib import Path

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "reference"))

import measure_pytorch as measure


class Recorder(TorchDispatchMode):
    """Appends [+bytes, op, id] and [-bytes, "", id] as storages are born and die."""

    def __init__(self):
        super().__init__()
        self.events = []
        self.live = {}
        self.next_id = 0

    def free(self, key):
        number, size = self.live.pop(key)
        self.events.append([-size, "", number])

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in tree_flatten(out)[0]:
            if not isinstance(t, torch.Tensor):
                continue
            storage = t.untyped_storage()
            key = storage._cdata
            if key in self.live or storage.nbytes() == 0:
                continue
            self.live[key] = (self.next_id, storage.nbytes())
            self.events.append([storage.nbytes(), str(func).removeprefix("aten."), self.next_id])
            self.next_id += 1
            weakref.finalize(storage, self.free, key)
        return out

    def mark(self, name):
        self.events.append([0, name, -1])


def decide_as_on_a_card():
    """Without a GPU the choice of sdpa's backend cannot be made: 16-bit inputs go to flash,
    fp32 to the memory-efficient kernel, as on any card since Ampere."""
    aten = torch.ops.aten

    def sdpa(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if torch.is_autocast_enabled("cpu"):
            dtype = torch.get_autocast_dtype("cpu")
            q, k, v = (t.to(dtype) if t.dtype == torch.float32 else t for t in (q, k, v))
        if q.dtype != torch.float32 and attn_mask is None and q.shape[-1] % 8 == 0:
            return aten._scaled_dot_product_flash_attention(
                q, k, v, dropout_p, is_causal, False, scale=scale)[0]
        if enable_gqa:
            return aten._scaled_dot_product_attention_math(
                q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True)[0]
        return aten._scaled_dot_product_efficient_attention(
            q, k, v, attn_mask, torch.is_grad_enabled(), dropout_p, is_causal, scale=scale)[0]

    torch.nn.functional.scaled_dot_product_attention = sdpa

    device, autocast, randint, adamw, sgd = (
        torch.device, torch.autocast, torch.randint, torch.optim.AdamW, torch.optim.SGD)

    measure.torch = Torch = type("Torch", (), {"__getattr__": lambda self, name: getattr(torch, name)})()
    Torch.device = lambda name: device("cpu")
    Torch.randint = lambda *a, **k: randint(*a, **{**k, "device": "cpu"})
    Torch.autocast = lambda name, dtype: autocast("cpu", dtype=dtype)

    class Optim:
        Adafactor = torch.optim.Adafactor

        @staticmethod
        def AdamW(params, **k):
            k.setdefault("foreach", not k.get("fused"))
            return adamw(params, **k)

        @staticmethod
        def SGD(params, **k):
            return sgd(params, foreach=True, **k)

    Torch.optim = Optim
    torch.nn.Module.cuda = lambda self: self

    # Fake tensors count as traced, and a traced model takes no decision that depends on data.
    masking = transformers.masking_utils

    def find_packed_sequence_indices(position_ids):
        first = position_ids[:, :1] - 1
        difference = torch.diff(position_ids, prepend=first, dim=-1)
        mask = (difference != 1).cumsum(-1)
        (mask[:, -1] == 0).all()

    masking.find_packed_sequence_indices = find_packed_sequence_indices
    masking.is_tracing = lambda tensor=None: False


def record(case):
    decide_as_on_a_card()
    with FakeTensorMode(allow_non_fake_inputs=True), Recorder() as recorder:
        model, config = measure.build(case)
        recorder.mark("load")
        if case["mode"] == "train":
            optimizer = measure.prepare_training(model, case)
            ids = measure.random_tokens(config, case["b"], case["s"])
            def memory():
                recorder.mark("stage")
                return {}
            measure.memory = memory
            measure.torch.cuda = type('Cuda', (), {'reset_peak_memory_stats': staticmethod(lambda: None)})
            for step in range(case.get("steps", 1)):
                measure.train_step(model, optimizer, ids, case, stages={})
        else:
            model.eval()
            for batch, seq in case["points"]:
                ids = measure.random_tokens(config, batch, seq)
                with torch.no_grad():
                    model.generate(ids, max_new_tokens=case.get("new_tokens", 1), do_sample=False, pad_token_id=0)
                recorder.mark("point")
        events = list(recorder.events)
    return events


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    with Path(arguments[1]).open("a") as f:
        for case in json.loads(Path(arguments[0]).read_text()):
            events = record(case)
            if "--text" in sys.argv:
                for b, op, i in events:
                    f.write(f"{i:5d} {b:+14d} {op}\n")
            else:
                f.write(json.dumps({"case": case, "events": events}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
