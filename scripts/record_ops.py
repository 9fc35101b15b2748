"""Record which tensors a training step of transformers makes, op by op, without a GPU.

Runs steps of a case of data/reference/measure_pytorch.py under FakeTensorMode: shapes without
memory. A dispatch mode sees every ATen op below autograd; weak references to storages tell when
each is freed. What is recorded is thereby PyTorch's own order of allocations and frees: what to
read before a family or an op is added to runtimes/pytorch. Two things differ from a card: what
kernels allocate within is not seen, and gradients of fake tensors are never added in place.

The engine does not run backward on a cuda device that is not there, so the device is the CPU, made
to take the decisions of a card: which attention kernel, which form of the optimizer.

usage: record_ops.py CASES.json OUT.txt
"""

import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "data" / "reference"))

from programs import Arguments, cases_to_record, file_or_folder, program, writing

try:
    import measure_pytorch as measure
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten
    from transformers import masking_utils
except ImportError as missing:
    print(f"record_ops: error: this Python has no {missing.name}", file=sys.stderr)
    sys.exit(2)


class Recorder(TorchDispatchMode):
    """Notes "number +bytes op" and "number -bytes" as storages are born and die."""

    def __init__(self):
        super().__init__()
        self.lines = []
        self.live = {}
        self.born = 0

    def free(self, key):
        number, size = self.live.pop(key)
        self.lines.append(f"{number:6d} {-size:+14d}")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(out)[0]:
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self.live or storage.nbytes() == 0:
                continue
            self.live[key] = (self.born, storage.nbytes())
            op = str(func).removeprefix("aten.")
            self.lines.append(f"{self.born:6d} {storage.nbytes():+14d} {op}")
            self.born += 1
            weakref.finalize(storage, self.free, key)
        return out


def attention(  # noqa: PLR0917 (PyTorch's own signature)
    q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """scaled_dot_product_attention as a card since Ampere runs it, cuDNN apart."""
    aten = torch.ops.aten
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        q, k, v = (t.to(dtype) if t.dtype == torch.float32 else t for t in (q, k, v))
    if q.dtype != torch.float32 and attn_mask is None:
        return aten._scaled_dot_product_flash_attention(
            q, k, v, dropout_p, is_causal, False, scale=scale
        )[0]
    if enable_gqa:
        return aten._scaled_dot_product_attention_math(
            q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True
        )[0]
    return aten._scaled_dot_product_efficient_attention(
        q, k, v, attn_mask, torch.is_grad_enabled(), dropout_p, is_causal, scale=scale
    )[0]


def find_packed_sequences(position_ids):
    """Fake tensors count as traced, and a traced model takes no decision that depends on data."""
    first = position_ids[:, :1] - 1
    difference = torch.diff(position_ids, prepend=first, dim=-1)
    mask = (difference != 1).cumsum(-1)
    (mask[:, -1] == 0).all()


def adamw(params, **options):
    options.setdefault("foreach", not options.get("fused"))
    return torch.optim.AdamW(params, **options)


def decide_as_on_a_card():
    """What measure_pytorch.py and transformers ask of torch is answered for a card."""
    torch.nn.functional.scaled_dot_product_attention = attention
    torch.nn.Module.cuda = lambda self: self
    masking_utils.find_packed_sequence_indices = find_packed_sequences
    masking_utils.is_tracing = lambda tensor=None: False

    class Torch:
        device = staticmethod(lambda _: torch.device("cpu"))
        randint = staticmethod(lambda *a, **k: torch.randint(*a, **{**k, "device": "cpu"}))
        autocast = staticmethod(lambda _, dtype: torch.autocast("cpu", dtype=dtype))
        cuda = SimpleNamespace(reset_peak_memory_stats=lambda: None)
        optim = SimpleNamespace(
            AdamW=adamw, SGD=lambda params, **k: torch.optim.SGD(params, foreach=True, **k)
        )

        def __getattr__(self, name):
            return getattr(torch, name)

    measure.torch = Torch()


def record(case):
    with FakeTensorMode(allow_non_fake_inputs=True), Recorder() as recorder:

        def mark():
            recorder.lines.append("stage")
            return {}

        measure.memory = mark
        model, config = measure.build(case)
        optimizer = measure.prepare_training(model, case)
        ids = measure.random_tokens(config, case["b"], case["s"])
        for _ in range(case.get("steps", 2)):
            measure.train_step(model, optimizer, ids, case, stages={})
        return list(recorder.lines)


@program("record_ops")
def main(argv=None):
    parser = Arguments(description=__doc__.splitlines()[0])
    parser.add_argument("cases", metavar="CASES.json", type=file_or_folder)
    parser.add_argument("out", metavar="OUT.txt", type=file_or_folder)
    given = parser.parse_args(argv)
    cases = cases_to_record(given.cases)
    decide_as_on_a_card()
    with writing(), given.out.open("w") as f:
        for case in cases:
            f.write("\n".join([case["model"], *record(case), ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
