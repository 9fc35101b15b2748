"""Ways to share a model among ranks, as PyTorch and transformers have them: each runs, and one rank
holds its share.
"""

import json

import pytest
from stood_in import EXACT, needs_torch

RANKS = 4

_JOIN = """
import functools, os, torch, torch.distributed as dist
from torch import nn
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
device = torch.device("cuda", torch.cuda.current_device())
"""
_MODEL = """
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer
def made():
    return LlamaForCausalLM(LlamaConfig(
        hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
        vocab_size=8000, use_cache=False))
def train(model, optimizer, ids):
    for _ in range(3):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
def ids():
    return torch.randint(0, 8000, (2, 128), device=device)
"""
LAYER = 4 * 512 * 512 + 3 * 512 * 1024
NORMS = 2 * 4 * 512 + 512
EMBEDDING = 8000 * 512
PARAMETERS = 4 * LAYER + NORMS + 2 * EMBEDDING
ROUNDING = 256 << 10  # what the allocator gives beyond, buffers and batches


def held(ran, *components: str) -> int:
    """Bytes of components as the peak has them."""
    assert ran.returncode == 0, ran.stderr
    at_peak = [each for each in ran.answer["holders"] if each["component"] in components]
    return sum(each["bytes"] for each in at_peak)


def loaded(ran) -> int:
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["rank"]["not_received"] == 0
    return ran.answer["stages"][0]["after"]


_FSDP1 = """
from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp import ShardingStrategy
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
dist.init_process_group("nccl", device_id=device)
model = FullyShardedDataParallel(
    made(), device_id=device, sync_module_states=True, use_orig_params=True,
    auto_wrap_policy=functools.partial(
        transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer}), **options)
loaded = torch.cuda.memory_allocated()
assert abs(loaded - expected) <= 1 << 20, (loaded, expected)  # blocks of the allocator's
optimizer = torch.optim.AdamW(model.parameters())
train(model, optimizer, ids())
model.clip_grad_norm_(1.0)
"""


@needs_torch
@pytest.mark.parametrize(
    ("options", "share"),
    [
        ("mixed_precision=MixedPrecision(torch.bfloat16, torch.float32)", 1 / RANKS),
        ("sharding_strategy=ShardingStrategy.SHARD_GRAD_OP", 1 / RANKS),
        ("sharding_strategy=ShardingStrategy.HYBRID_SHARD", 1 / RANKS),
        ("sharding_strategy=ShardingStrategy.NO_SHARD", 1),
        ("cpu_offload=CPUOffload(True)", 0),
    ],
)
def test_fsdp1(run_forked, as_rank, options, share):
    as_rank(0)
    fsdp1 = _FSDP1.replace("**options", options).replace("expected", str(4 * share * PARAMETERS))
    ran = run_forked(_JOIN + _MODEL + fsdp1, "--gpus", RANKS, gpu="h200")
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["steps"] == 3


@needs_torch
def test_transformers_tensor_parallel(run_forked, as_rank, tmp_path):
    as_rank(1)
    shape = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512,
        "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8,
        "vocab_size": 8000, "use_cache": False,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(shape))
    script = (
        _JOIN
        + _MODEL
        + f"""
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained({str(tmp_path)!r}, tp_plan="auto", dtype="float32")
train(model, torch.optim.SGD(model.parameters(), foreach=False), ids())
"""
    )
    ran = run_forked(script, "--gpus", RANKS, "--rank", 1, "--random-weights", gpu="h200")
    # Its plan for llama cuts projections and the head; embeddings and norms are each rank's.
    whole, cut = EMBEDDING + NORMS, 4 * LAYER + EMBEDDING
    assert held(ran, "parameters") == pytest.approx(4 * (whole + cut / RANKS), abs=ROUNDING)


@needs_torch
def test_dtensors_of_two_dimensions(run_forked, as_rank):
    as_rank(0)
    script = (
        _JOIN
        + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module)
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
model = nn.ModuleDict({
    "tokens": nn.Embedding(8000, 512), "norm": nn.LayerNorm(512), "up": nn.Linear(512, 2048),
    "down": nn.Linear(2048, 512), "head": nn.Linear(512, 8000)}).to(device)
parallelize_module(model, mesh["tensor"], {
    "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(output_layouts=Shard(1)),
    "head": ColwiseParallel(
        input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
for part in model.values():
    fully_shard(part, mesh=mesh["data"])
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.randint(0, 8000, (2, 256), device=device)
for _ in range(3):
    with loss_parallel():
        rows = model["tokens"](ids)
        for name in ("norm", "up", "down", "head"):
            rows = model[name](rows)
        nn.functional.cross_entropy(rows.flatten(0, 1), ids.flatten()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
    )
    parameters = 2 * 8000 * 512 + 8000 + 2 * 512 * 2048 + 2048
    assert loaded(run_forked(script, "--gpus", RANKS, gpu="h200")) == pytest.approx(
        parameters, abs=ROUNDING
    )


@needs_torch
@pytest.mark.parametrize("rotation", ["allgather", "alltoall"])
def test_context_parallel(run_forked, as_rank, rotation):
    """Queries, keys and values are a rank's part of the tokens, and so is what attention gives."""
    as_rank(0)
    script = (
        _JOIN
        + f"""
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard
from torch.distributed.tensor.experimental._attention import set_rotate_method
from torch.nn.attention import SDPBackend, sdpa_kernel
mesh = init_device_mesh("cuda", ({RANKS},))
set_rotate_method({rotation!r})
buffers = [torch.randn(1, 8, 4096, 64, device=device, dtype=torch.bfloat16) for _ in range(3)]
sharded = context_parallel(
    mesh, buffers=buffers, buffer_seq_dims=[2] * 3, no_restore_buffers={{*buffers}})
with sdpa_kernel(SDPBackend.FLASH_ATTENTION), sharded:
    for each in buffers:
        each.requires_grad_()
    out = nn.functional.scaled_dot_product_attention(*buffers, is_causal=True)
    out.sum().backward()
assert out.shape == (1, 8, 4096 // {RANKS}, 64)
assert buffers[0].grad.shape == out.shape
whole = context_parallel_unshard(mesh, [out], [2])[0]
assert whole.shape == (1, 8, 4096, 64)
"""
    )
    assert run_forked(script, "--gpus", RANKS, gpu="h200").returncode == 0


@needs_torch
def test_zero1_and_its_whole_state(run_forked, as_rank):
    as_rank(0)
    script = (
        _JOIN
        + """
from torch.distributed.optim import ZeroRedundancyOptimizer
dist.init_process_group("nccl", device_id=device)
model = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(6)]).to(device)
model = nn.parallel.DistributedDataParallel(model, device_ids=[device])
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW)
for _ in range(3):
    model(torch.ones(8, 1024, device=device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
optimizer.consolidate_state_dict()
states = optimizer.state_dict()["state"].values()
assert [len(states), {state["exp_avg"].shape for state in states}] == [6, {(1024, 1024)}]
"""
    )
    ran = run_forked(script, "--gpus", RANKS, gpu="h200")
    # Six matrices over four ranks: the first has two of them, with two states each.
    assert held(ran, "optimizer_state") == pytest.approx(2 * 2 * 4 << 20, abs=ROUNDING)


_PIPELINE = """
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
dist.init_process_group("nccl", device_id=device)
rank, ranks = dist.get_rank(), dist.get_world_size()
width = 256 * (rank + 1)  # which the next stage learns from this one
stage = nn.Sequential(nn.Linear(256 * max(rank, 1), width), nn.ReLU(), nn.Linear(width, width))
stage = PipelineStage(stage.to(device), rank, ranks, device)
optimizer = torch.optim.AdamW(stage.submod.parameters())
schedule = {schedule}(stage, n_microbatches=8, loss_fn=nn.functional.mse_loss)
for _ in range(3):
    rows = (torch.ones(64, 256, device=device),) if rank == 0 else ()
    end = torch.ones(64, width, device=device) if rank == ranks - 1 else None
    schedule.step(*rows, target=end)
    optimizer.step()
    optimizer.zero_grad()
assert stage.inputs_meta[0].shape == (8, 256 * max(rank, 1))
"""


@needs_torch
def test_the_first_stage_of_a_pipeline(run_forked, as_rank):
    as_rank(0)
    script = _JOIN + _PIPELINE.replace("{schedule}", "ScheduleGPipe")
    ran = run_forked(script, "--gpus", RANKS, gpu="h200")
    assert ran.answer["rank"]["peers"] == 0
    assert loaded(ran) == pytest.approx(4 * 2 * 256 * 256, abs=ROUNDING)


@needs_torch
def test_a_later_stage_is_told_its_shapes_by_those_before_it(run, as_rank):
    """They run as well."""
    as_rank(1, 2)
    script = _JOIN + _PIPELINE.replace("{schedule}", "Schedule1F1B")
    ran = run(script, "--gpus", 2, "--rank", 1, gpu="h200", before=(EXACT,))
    assert loaded(ran) == pytest.approx(4 * (256 * 512 + 512 * 512), abs=ROUNDING)
    assert ran.answer["rank"]["peers"] == 1
    assert ran.answer["processes"] == 1
    assert any("1 other rank ran as well" in note for note in ran.answer["notes"])


@needs_torch
def test_objects_that_others_send(run, as_rank):
    """Each arrives as its sender has it, in whichever way it goes."""
    as_rank(1, 2)
    script = """
import torch, torch.distributed as dist
torch.cuda.set_device(1)
dist.init_process_group("nccl")
rank = dist.get_rank()
for turn in range(2):
    objects = [{"from": rank, "turn": turn}, None]
    dist.broadcast_object_list(objects, src=0)
    assert objects == [{"from": 0, "turn": turn}, None], objects
part = [None]
dist.scatter_object_list(part, ["first", "second"] if rank == 0 else None, src=0)
assert part == [("first", "second")[rank]], part
if rank == 0:
    dist.send_object_list([torch.zeros(3, device="meta")], dst=1)
else:
    received = [None]
    dist.recv_object_list(received, src=0)
    assert received[0].shape == (3,)
torch.empty(1 << 20, device="cuda")
"""
    ran = run(script, "--gpus", 2, "--rank", 1, gpu="h200")
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["rank"] == {"rank": 1, "ranks": 2, "not_received": 0, "peers": 1}


@needs_torch
def test_constructors_may_be_others_for_a_while(run_forked):
    """DeepSpeed's ZeRO-3 has torch's make tensors of its own dtype on its own device."""
    script = """
import torch
def cast(make):
    def made(*args, **kwargs):
        tensor = make(*args, **kwargs)
        if tensor.is_floating_point():
            tensor.data = tensor.data.to(torch.bfloat16)
        return tensor
    return made
names = ("tensor", "empty", "zeros", "ones", "full", "arange")
torch_s = {name: getattr(torch, name) for name in names}
for name, make in torch_s.items():
    setattr(torch, name, cast(make))
weight = torch.nn.Parameter(torch.ones(64, 64, device="cuda", dtype=torch.float64))
for name, make in torch_s.items():
    setattr(torch, name, make)
assert torch.full((4,), 2.5, device="cuda").tolist() == [2.5] * 4
assert weight.dtype is torch.bfloat16 and weight.sum().item() == 4096
"""
    ran = run_forked(script)
    assert ran.returncode == 0, ran.stderr
