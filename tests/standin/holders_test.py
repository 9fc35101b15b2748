"""Who holds what at the peak: told of scripts whose tensors have sizes that tell them apart."""

import pytest
from stood_in import needs_torch, run_script

pytestmark = needs_torch

TRAINING = """
import torch
model = torch.nn.Sequential(
    torch.nn.Embedding(1000, 512), torch.nn.Linear(512, 512), torch.nn.Linear(512, 1000)
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
ids = torch.randint(1000, (32, 128), device="cuda")
for _ in range(3):
    logits = model(ids)
    torch.nn.functional.cross_entropy(logits.view(-1, 1000), ids.view(-1)).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
# DDP over one rank.
WRAPPED = """
import os
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(model)
"""
PARAMETERS = 4 * (1000 * 512 + 512 * 512 + 512 + 512 * 1000 + 1000)
LOGITS = 4 * 32 * 128 * 1000


def by_component(answer) -> dict[str, int]:
    found: dict[str, int] = {}
    for held in answer["holders"]:
        found[held["component"]] = found.get(held["component"], 0) + held["bytes"]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The training as it is, run once."""
    return run_script(tmp_path_factory.mktemp("plain"), TRAINING).answer


def test_components_of_a_training_step(plain):
    found = by_component(plain)
    assert plain["peak"] == {"stage": "backward", "step": 2}
    assert found["parameters"] == pytest.approx(PARAMETERS, abs=4096)
    assert found["optimizer_state"] == pytest.approx(2 * PARAMETERS, abs=16384)
    assert found["inputs"] == 8 * 32 * 128
    assert found["logits"] >= 2 * LOGITS  # their log-softmax, and gradients
    # What no tensor asked for is what the allocator did not split off.
    assert 0 <= plain["levels"]["allocated"] - sum(found.values()) < 2 << 20


def test_warnings_may_be_errors(run, plain):
    """Of what tells holders, which is looked at when the script is over."""
    ran = run(f"{TRAINING}\nimport warnings\nwarnings.simplefilter('error')\n")
    assert ran.returncode == 0, ran.stderr
    assert by_component(ran.answer) == by_component(plain)


def test_lines_of_script_and_forward(plain):
    lines = {
        (each["component"], each["in_backward"], each["line"].split("train.py:")[1])
        for each in plain["holders"]
    }
    assert {("parameters", False, "5"), ("logits", False, "9"), ("logits", True, "10")} <= lines
    assert ("optimizer_state", False, "11") in lines


def test_gradients_that_stay(run_forked):
    answer = run_forked(TRAINING.replace("    optimizer.zero_grad()\n", "")).answer
    assert by_component(answer)["gradients"] == pytest.approx(PARAMETERS, abs=4096)


def test_where_it_runs_out(run_forked):
    ran = run_forked(TRAINING, "--vram", "1.52GB", gpu=None)
    assert ran.answer["ended"] == "memory"
    assert by_component(ran.answer)["parameters"] == pytest.approx(PARAMETERS, abs=4096)


def test_a_script_that_keeps_the_history_itself(run_forked):
    answer = run_forked(
        "import torch\ntorch.cuda.memory._record_memory_history()\n" + TRAINING
    ).answer
    assert answer["holders"] is None


def test_averages_of_diffusers_are_parameters(run_forked):
    averages = """
from diffusers.training_utils import EMAModel
average = EMAModel(model.parameters())
for _ in"""
    answer = run_forked(TRAINING.replace("for _ in", averages, 1)).answer
    assert by_component(answer)["parameters"] == pytest.approx(2 * PARAMETERS, abs=8192)


def test_without_a_vocabulary_there_are_no_logits(run_forked):
    """What cuDNN's batch norm reserves has no elements here."""
    script = """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)).cuda()
optimizer = torch.optim.SGD(model.parameters())
for _ in range(3):
    model(torch.randn(8, 3, 64, 64, device="cuda")).sum().backward()
    optimizer.step()
"""
    components = by_component(run_forked(script).answer)
    assert components["activations"] > 0
    assert "logits" not in components


def test_a_backward_from_an_edge_of_the_graph(run_forked, plain):
    """Which stands for a tensor that nobody keeps."""
    kept = TRAINING.replace(").backward()", ")\n    loss.backward()")
    kept = kept.replace("    torch.nn.f", "    loss = torch.nn.f")
    from_edge = (
        "edge = torch.autograd.graph.get_gradient_edge(loss)\n"
        "    torch.autograd.backward(edge, torch.ones_like(loss))"
    )
    edge = kept.replace("loss.backward()", from_edge)
    within = run_forked(edge).answer
    assert by_component(within)["activations"] == by_component(plain)["activations"]


def test_what_a_wrapper_calls_is_not_the_wrappers(run_forked, plain):
    """As DDP's forward is around all of a model's."""
    wrapped = TRAINING.replace("for _ in", WRAPPED + "for _ in")
    within = run_forked(wrapped).answer
    assert by_component(within)["activations"] == by_component(plain)["activations"]
    assert by_component(within)["logits"] == by_component(plain)["logits"]


def test_compiling_is_a_stage_of_its_own(run_forked):
    answer = run_forked(
        TRAINING.replace("for _ in", "model = torch.compile(model)\nfor _ in")
    ).answer
    stages = {stage["name"] for stage in answer["stages"]}
    assert {"compile", "forward", "backward", "optimizer"} <= stages
    assert answer["compile"]["compiles"] >= 1
    assert answer["compile"]["seconds"] > 0
    assert any("torch.compile ran" in note for note in answer["notes"])
