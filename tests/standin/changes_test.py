"""Changes of --advise beside scripts that are written with them: equal to the byte."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import stood_in
from changed_scripts import BY_HAND, CONFIG, LOADER, LOOP, TAKES, TRAINER, written
from stood_in import EXACT, PACKAGE, needs_torch

sys.path.insert(0, str(PACKAGE))
from vramfit import _core
from vramfit._dry_run import _result
from vramfit._dry_run._adjustments import ADJUSTMENTS
from vramfit._dry_run._trials import Ran, Trials, judged

pytestmark = needs_torch

OF = {adjustment.name: adjustment for adjustment in ADJUSTMENTS}
OPTIONS = Namespace(
    strict=False,
    steps=None,
    longest=False,
    uploads=False,
    random_weights=False,
    rank=0,
    nodes=None,
    beside_real=False,
)

# What the scripts take as they are, each run once.
_PLAIN: dict[str, dict] = {}


FACTS = {**json.loads(_core.card_facts(json.dumps({"gpu": "h100-80gb"}))), "devices": 1}


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Runs a script with changes as --advise does, in a process of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))

    def trial(script, *names, python=None):
        file = tmp_path / "train.py"
        file.write_text(script)
        trials = Trials(OPTIONS, [str(python or stood_in.forked()), str(file)], FACTS)
        return trials.run([OF[name] for name in names])

    return trial


@pytest.fixture(scope="module")
def warm():
    """A process that has imported what scripts import: warm.py."""
    command = [sys.executable, "-m", "vramfit", "run", "--gpu", FACTS["gpu"], "--json", os.devnull]
    with subprocess.Popen(
        [*command, "--", str(EXACT), str(Path(__file__).with_name("warm.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)},
    ) as process:
        yield process


@pytest.fixture
def forked(warm, tmp_path):
    """Runs a script with changes in a process forked from the warm one."""

    def forked(script, *names):
        file = tmp_path / "train.py"
        file.write_text(script)
        warm.stdin.write(json.dumps({"script": str(file), "changes": names}) + "\n")
        warm.stdin.flush()
        ran = json.loads(warm.stdout.readline())
        took = ran["took"]
        assert took and ran["status"] == 0, (tmp_path / "output").read_text()
        answer = _result.answer(FACTS, str(file), 0, {**took, "processes": 1, "rank": None})
        return Ran(judged(answer), took["changes"])

    return forked


def taken(ran) -> dict:
    """What must be equal: all but where a script says it, and when it was said."""
    return {key: ran.answer[key] for key in ("levels", "stages", "total", "steps", "ended")}


@pytest.mark.parametrize("case", BY_HAND)
def test_a_change_takes_what_the_script_takes_that_is_written_with_it(forked, case):
    name, script, replaced, line = BY_HAND[case]
    by_hand = written(script, replaced)
    changed = forked(script, name)
    assert changed.changes == {name: {"made": {line: 1}, "lacks": None}}
    assert taken(changed) == taken(forked(by_hand))
    if script not in _PLAIN:
        _PLAIN[script] = taken(forked(script))
    assert taken(changed) != _PLAIN[script] or name == "no_cache"


def test_a_setting_of_the_allocator_is_one_of_the_environment(trial, forked):
    changed = trial(LOOP, "expandable_segments")
    line = "PYTORCH_ALLOC_CONF=expandable_segments:True"
    assert changed.changes == {"expandable_segments": {"made": {line: 1}, "lacks": None}}
    set_first = {"import os": f"import os\nos.environ.update([{line.split('=')}])\nimport os"}
    assert taken(changed) == taken(trial(written(LOOP, set_first))) != taken(forked(LOOP))


def test_changes_that_are_made_together(trial):
    changed = trial(TRAINER, "adamw_8bit", "micro_batch", "checkpointing", "lora")
    assert {name: sum(told["made"].values()) for name, told in changed.changes.items()} == {
        "adamw_8bit": 1, "micro_batch": 1, "checkpointing": 1, "lora": 1
    }  # fmt: skip
    arguments = (
        '"optim": "adamw_8bit", "gradient_checkpointing": True, "per_device_train_batch_size": 4, '
        '"gradient_accumulation_steps": 2,'
    )
    (adapted,) = BY_HAND["lora by the Trainer"][2].values()
    by_hand = TRAINER.replace("# arguments", arguments).replace("# model", adapted)
    assert taken(changed) == taken(trial(by_hand))


def test_what_meets_nothing_is_not_made(trial):
    changed = trial("import torch\ntorch.nn.Linear(8, 8).cuda()(torch.ones(8, device='cuda'))", *OF)
    assert [name for name, told in changed.changes.items() if told["made"]] == [
        "expandable_segments"
    ]
    assert [told["lacks"] for told in changed.changes.values()] == [None] * len(OF)


def test_a_package_that_is_lacking_is_named(trial):
    script = "import sys\nsys.modules['peft'] = None\nimport torch\ntorch.ones(3).cuda()"
    changed = trial(script, "lora", python=EXACT)
    assert changed.changes == {"lora": {"made": {}, "lacks": "peft"}}


# What evaluates: without gradients around the loop, which tells at once, or within it; or with
# gradients that nobody asks for.
EVALUATES = {
    "around": """
model.eval()
with torch.no_grad():
    sizes = [len(model(input_ids=ids.cuda()).logits) for ids in DataLoader(rows, batch_size=16)]
assert sizes == [16] * 4, sizes
model.train()
""",
    "within": """
model.eval()
sizes = []
for ids in DataLoader(rows, batch_size=16):
    with torch.no_grad():
        sizes.append(len(model(input_ids=ids.cuda()).logits))
assert sizes in ([16] * 4, [8, 16, 16, 16, 8]), sizes
model.train()
""",
    "workers": """
model.eval()
with torch.no_grad():
    held_out = DataLoader(rows, batch_size=16, num_workers=2, drop_last=True)
    sizes = [len(model(input_ids=ids.cuda()).logits) for ids in held_out]
assert sizes == [16] * 4, sizes
model.train()
""",
    "Accelerate": """
model.eval()
sizes = []
for ids in __import__("accelerate").Accelerator().prepare(DataLoader(rows, batch_size=16)):
    with torch.no_grad():
        sizes.append(len(model(input_ids=ids.cuda()).logits))
assert sizes in ([16] * 4, [8, 8, 16, 16, 16]), sizes
model.train()
""",
    "with gradients": """
model.eval()
sizes = [len(model(input_ids=ids.cuda()).logits) for ids in DataLoader(rows, batch_size=16)]
assert sizes in ([16] * 4, [8, 8, 16, 16, 16]), sizes
model.train()
""",
    "a batch": """
held_out = iter(DataLoader(rows, batch_size=16))
ids = next(held_out).cuda()
with torch.no_grad():
    model(input_ids=ids)
""",
    "one's own": """
with torch.no_grad():
    for ids in DataLoader(rows, batch_sampler=[[0, 1], [2, 3]]):
        assert len(model(input_ids=ids.cuda()).logits) == 2
""",
}
# Of which the first batches are halved before anything shows what they are for.
LATE = ("within", "Accelerate", "with gradients", "a batch")


@pytest.mark.parametrize("where", EVALUATES)
def test_loaders_that_feed_no_training_stay_as_they_are(forked, where):
    begins = "optimizer.zero_grad()\nfor"
    assert begins in LOOP
    both = LOOP.replace(begins, EVALUATES[where] + begins) + EVALUATES[where]
    _, _, replaced, line = BY_HAND["micro_batch"]
    changed = forked(both, "micro_batch")
    assert changed.changes["micro_batch"]["made"] == {line: 1}
    if where not in LATE:
        assert taken(changed) == taken(forked(written(both, replaced)))


def test_loaders_that_feed_training_together(forked):
    joined = f"others = iter({LOADER})\n{TAKES}    ids = torch.cat((ids, next(others)))\n"
    both = written(LOOP, {TAKES: joined})
    _, _, replaced, line = BY_HAND["micro_batch"]
    changed = forked(both, "micro_batch")
    assert changed.changes["micro_batch"]["made"] == {line: 2}
    assert taken(changed) == taken(forked(written(both, replaced)))


def test_an_evaluation_alone_accumulates_nothing(forked):
    alone = LOOP.replace("in enumerate(loader)", "in enumerate([torch.stack(rows[:8])] * 8)")
    alone = alone.replace("loader = DataLoader(rows, batch_size=8)", EVALUATES["around"])
    changed = forked(alone, "micro_batch")
    assert changed.changes["micro_batch"]["made"] == {}
    assert taken(changed) == taken(forked(alone))


def test_models_are_copied_as_they_are_with_adapters(forked):
    script = (
        CONFIG
        + """
import copy, pickle
model = LlamaForCausalLM(config).cuda()
assert type(model).__name__ == "PeftModel", type(model)
for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
    assert type(other.base_model.model) is LlamaForCausalLM
"""
    )
    assert sum(forked(script, "lora").changes["lora"]["made"].values()) == 1
