"""One rank of many runs under `vramfit run`, and takes what it takes among the others."""

import json
import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
from stood_in import EXACT, PACKAGE, ROOT, needs_torch, run_script

sys.path.insert(0, str(PACKAGE))

from vramfit.standin._door import StandInError
from vramfit.standin._ranks import Ranks

REFERENCE = ROOT / "data" / "reference"


def _refuse(error: StandInError) -> None:
    raise error


@pytest.mark.parametrize(
    ("said", "looked_at", "nodes", "found"),
    [
        ({"RANK": "0", "WORLD_SIZE": "8"}, 0, None, ("0", "8")),
        ({"RANK": "3", "WORLD_SIZE": "8"}, 0, None, None),
        ({"RANK": "3", "WORLD_SIZE": "8"}, 3, None, ("3", "8")),
        ({"RANK": "3", "WORLD_SIZE": "8"}, None, None, ("3", "8")),
        ({"RANK": "3", "WORLD_SIZE": "8"}, 11, 2, ("11", "16")),
        ({"RANK": "3", "WORLD_SIZE": "8"}, 10, 2, None),
        ({"RANK": "3", "WORLD_SIZE": "8", "VRAMFIT_NODES": "4"}, 27, None, ("27", "32")),
        ({"RANK": "0", "WORLD_SIZE": "16", "VRAMFIT_RANKS": "16"}, 3, 2, ("0", "16")),
        ({}, 5, None, ()),
    ],
)
def test_which_process_runs(said, looked_at, nodes, found):
    variables = dict(said)
    runs = Ranks(looked_at, nodes).settle(variables, _refuse)
    assert runs == (found is not None)
    if found:
        assert (variables["RANK"], variables["WORLD_SIZE"]) == found
        assert Ranks(looked_at, nodes).settle(variables, _refuse), "one that it starts runs, too"


@pytest.mark.parametrize("launcher", ["OMPI_COMM_WORLD", "PMI"])
def test_mpi_says_it_by_other_names(launcher):
    rank, count = f"{launcher}_RANK", f"{launcher}_SIZE"
    variables = {rank: "1", count: "2"}
    assert not Ranks(0, None).settle(dict(variables), _refuse)
    assert Ranks(3, 2).settle(variables, _refuse)
    assert (variables[rank], variables[count]) == ("3", "4")


def test_a_rank_that_is_not_started_is_bad_input():
    with pytest.raises(StandInError, match=r"--rank 9: there are 8 ranks, 0 to 7"):
        Ranks(9, None).settle({"RANK": "1", "WORLD_SIZE": "8"}, _refuse)


@pytest.mark.parametrize(
    ("flags", "told", "says"),
    [
        ({"nodes": 2}, (3, 3, 8), "--nodes 2: the launcher is told of 3 machines"),
        ({"nodes": 4}, (2, 3, 8), "--nodes 4: the launcher is told of 2 to 3 machines"),
        ({"gpus": 4}, (1, 1, 8), "--gpus 4: the launcher starts 8 ranks on this machine"),
        ({"gpus": 8}, (2, 2, 4), "--gpus 8: the launcher starts 4 ranks on this machine"),
        ({"nodes": 2, "gpus": 8}, (1, 1, 8), None),
        ({"nodes": 2, "gpus": 8}, (1, 4, 8), None),
        ({"gpus": 8}, (1, 1, 1), None),
        ({}, (3, 3, 8), None),
    ],
)
def test_what_the_launcher_is_told_is_what_we_are(monkeypatch, flags, told, says):
    """torchrun's configuration: machines at least and at most, ranks of each."""
    config = SimpleNamespace(
        **dict(zip(("min_nodes", "max_nodes", "nproc_per_node"), told, strict=True)),
        rdzv_backend="", rdzv_endpoint="", rdzv_configs={},
    )  # fmt: skip
    launcher = SimpleNamespace(launch_agent=lambda config: config)
    monkeypatch.setattr(os, "environ", {})
    Ranks(0, flags.get("nodes"), flags.get("gpus"))._start_one_machine(launcher, _refuse)
    if says is None:
        assert launcher.launch_agent(config).min_nodes == 1
        assert os.environ == ({} if told[0] == 1 else {"VRAMFIT_NODES": str(told[0])})
    else:
        with pytest.raises(StandInError, match=says):
            launcher.launch_agent(config)


@needs_torch
def test_a_launcher_that_is_told_otherwise_is_refused_in_a_line(tmp_path):
    torchrun = (EXACT.parent / "torchrun", "--standalone", "--nproc_per_node", 4)
    ran = run_script(tmp_path, "import torch", "--gpus", 2, before=torchrun)
    assert ran.returncode == 2
    says = "--gpus 2: the launcher starts 4 ranks on this machine: take --gpus 4, or"
    assert says in ran.stderr.strip().splitlines()[-1]


@needs_torch
def test_a_store_of_the_scripts_own_waits_for_nobody(run_forked, tmp_path):
    script = """
import torch, torch.distributed as dist
store = dist.FileStore({store!r}, 4)
dist.init_process_group("nccl", store=store, rank=2, world_size=4)
dist.all_reduce(torch.ones(8, device="cuda"))
"""
    ran = run_forked(script.format(store=str(tmp_path / "store")), "--gpus", 4, "--rank", 2)
    assert ran.returncode == 0, ran.stderr
    assert (ran.answer["rank"]["rank"], ran.answer["rank"]["ranks"]) == (2, 4)


# Whatever a script asks of others is answered.
_TALKS = """
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", local))
rank, ranks = dist.get_rank(), dist.get_world_size()
model = DistributedDataParallel(torch.nn.Linear(1024, 1024).cuda())
for _ in range(2):
    model(torch.ones(8, 1024, device="cuda")).sum().backward()
cpu = dist.new_group(backend="gloo")
for group in (None, cpu):
    objects = [None] * ranks
    dist.all_gather_object(objects, {"rank": rank}, group=group)
    assert objects == [{"rank": rank}] * ranks, objects
    dist.barrier(group=group)
dist.monitored_barrier(group=cpu)
sent = [rank]
dist.broadcast_object_list(sent, src=0)
assert sent == [0], sent
gathered = [None] * ranks if rank == 1 else None
dist.gather_object(rank, gathered, dst=1)
assert gathered in (None, [1] * ranks)
part = [None]
dist.scatter_object_list(part, list(range(ranks)) if rank == 0 else None, src=0)
assert part == [rank], part
mesh = init_device_mesh("cuda", (ranks // 2, 2), mesh_dim_names=("replicas", "shards"))
assert mesh["shards"].size() == 2 and tuple(mesh.get_coordinate()) == (rank // 2, rank % 2)
two = torch.empty(2, device="cuda")
dist.all_gather_into_tensor(two, torch.full((1,), 7.0, device="cuda"), group=mesh.get_group(1))
assert two.tolist() == [7.0, 7.0]
dist.destroy_process_group()
"""


@needs_torch
@pytest.mark.parametrize(
    ("flags", "launcher", "found"),
    [
        ((), ("--standalone",), (0, 2)),
        (("--nodes", 3, "--rank", 5), ("--standalone",), (5, 6)),
        (("--rank", 1), ("--nnodes", 4, "--node_rank", 2, "--master_addr", "10.0.0.1"), (1, 8)),
    ],
)
def test_torchrun(tmp_path, flags, launcher, found):
    torchrun = (EXACT.parent / "torchrun", "--nproc_per_node", 2, *launcher)
    rank, ranks = found
    ran = run_script(tmp_path, _TALKS, "--gpus", 2, *flags, before=torchrun)
    assert ran.returncode == 0, ran.stderr
    assert ran.answer["processes"] == 1
    told = {"rank": rank, "ranks": ranks, "not_received": 0, "peers": int(rank > 0)}
    assert ran.answer["rank"] == told
    assert ran.answer["overhead_parts"]["libraries"] > 0
    assert any(note.startswith(f"figures are of rank {rank} of {ranks};") for note in
               ran.answer["notes"])  # fmt: skip


@needs_torch
def test_every_rank_by_itself_and_ranks_that_a_script_starts(run_forked):
    script = """
import torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, ranks):
    dist.init_process_group("nccl", init_method="tcp://10.0.0.1:1", rank=rank, world_size=ranks)
    torch.cuda.set_device(rank)
    torch.empty((rank + 1) << 28, device="cuda")
    dist.barrier()
    dist.broadcast_object_list([rank], src=0)  # the first cannot be run for it
if __name__ == "__main__":
    mp.spawn(work, (2,), nprocs=2)
"""
    for flags, rank, processes in (((), 0, 1), (("--rank", 1), 1, 1), (("--rank", "all"), 1, 2)):
        ran = run_forked(script, "--gpus", 2, *flags)
        assert ran.returncode == 0, ran.stderr
        assert ran.answer["rank"]["rank"] == ran.answer["rank"]["not_received"] == rank
        assert ran.answer["levels"]["allocated"] >= (rank + 1) << 28
        assert ran.answer["processes"] == processes


def _measured(strategy: str, precision: str) -> dict:
    """What the first of two H200s with NVLink was measured to take."""
    lines = (REFERENCE / "pytorch_multi_gpu_levels.jsonl").read_text().splitlines()
    for line in map(json.loads, lines):
        case = line.get("case", {})
        if case.get("gpus") == 2 and (case["strategy"], case["precision"]) == (strategy, precision):
            return line
    raise LookupError(strategy)


@needs_torch
@pytest.mark.parametrize(
    ("strategy", "precision"),
    [("ddp-view", "bf16"), ("fsdp", "mixed")],
)
def test_a_rank_takes_what_it_took_on_two_gpus(run, tmp_path, strategy, precision):
    """Allocated and reserved at each stage of two steps, to the byte; used within 4 MiB."""
    measured = _measured(strategy, precision)
    script = f"""
import json, sys
sys.path.insert(0, {str(REFERENCE)!r})
import measure_pytorch_multi_gpu as program
program.timed_step = lambda *_: 1.0
found = program.of_rank(0, json.loads({json.dumps(measured["case"])!r}))
open({str(tmp_path / "found")!r}, "w").write(json.dumps(found))
"""
    ran = run(script, "--gpus", 2, "--steps", 9, gpu="h200")
    assert ran.returncode == 0, ran.stderr
    stages = json.loads((tmp_path / "found").read_text())["stages"]
    assert len(stages) > 8
    for stage, reading in stages.items():
        there = measured["result"]["stages"][stage]
        for level in ("alloc", "peak", "reserved", "peak_reserved"):
            assert reading[level] == there[level], (stage, level)
        assert reading["device_used"] == pytest.approx(there["device_used"], abs=4 << 20), stage


@needs_torch
def test_symmetric_memory_takes_its_own_buffer(run_forked):
    """And signals behind it, as a card with a peer lost 66 MiB."""
    script = """
import torch, torch.distributed as dist, torch.distributed._symmetric_memory as symmetric
dist.init_process_group("nccl", init_method="tcp://10.0.0.1:1", rank=0, world_size=2)
torch.ones(1, device="cuda")
def used():
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()
before = used()
tensor = symmetric.empty(32 << 20, device="cuda", dtype=torch.bfloat16)
memory = symmetric.rendezvous(tensor, dist.group.WORLD)
assert used() - before == 66 << 20, used() - before
assert (memory.rank, memory.world_size) == (0, 2)
assert memory.get_buffer(1, (4, 8), torch.float32, 16).shape == (4, 8)
summed = torch.ops.symm_mem.two_shot_all_reduce_(tensor, "sum", dist.group.WORLD.group_name)
assert summed.data_ptr() == tensor.data_ptr()
"""
    ran = run_forked(script, "--gpus", 2, gpu="h200")
    assert ran.returncode == 0, ran.stderr


NCCL = REFERENCE / "nccl"
COMMUNICATORS = [
    line
    for line in map(json.loads, (NCCL / "communicators.jsonl").read_text().splitlines())
    if "sequence" in line and "P" not in line["sequence"]
]


@needs_torch
@pytest.mark.parametrize("measured", COMMUNICATORS, ids=lambda line: line["sequence"])
def test_communicators_take_what_they_took(run_forked, tmp_path, measured):
    """Step by step, within 6 MiB: an H200's first communicator took so much less than an H100's."""
    script = f"""
import json, sys
sys.path.insert(0, {str(NCCL)!r})
import measure_communicators as program
program.RANKS = 1
program.os._exit = lambda status: None
program.measure(0, {measured["sequence"]!r}, {str(tmp_path / "found")!r})
"""
    ran = run_forked(script, gpu="h200")
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "found").read_text())["used"]
    steps, there = (
        [after - before for before, after in pairwise(used)] for used in (found, measured["used"])
    )
    assert steps == pytest.approx(there, abs=6 << 20)
