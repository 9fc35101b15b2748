"""Parameters of models that `fit` knows by name, and of what transformers makes of their config."""

import json
import os
import subprocess
import sys

from stood_in import PACKAGE, ROOT, forked, needs_torch

pytestmark = needs_torch

_COUNTS = """
import json, sys
import torch
from transformers import AutoConfig, AutoModelForCausalLM
for file in sys.argv[1:]:
    config = AutoConfig.for_model(**json.load(open(file)))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    print(json.dumps([file, sum(each.numel() for each in model.parameters())]))
torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell
"""
# Whose text part alone is answered, or another class than AutoModelForCausalLM's.
_OTHERS = {"gemma3-4b", "gemma4-e2b", "ministral3-8b"}


def _said(name):
    """None where `fit` refuses it."""
    asked = [ROOT / "build" / "fit", name, "h200", "--json"]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    return json.loads(ran.stdout)["model"]["parameters"] if ran.returncode in (0, 1) else None


def test_models_have_as_many_parameters_as_transformers_makes(tmp_path):
    files = {file.parent.name: file for file in ROOT.glob("data/*models/*/config.json")}
    said = {name: _said(name) for name in files.keys() - _OTHERS}
    answered = {name: count for name, count in said.items() if count is not None}
    script = tmp_path / "counts.py"
    script.write_text(_COUNTS)
    dry = [sys.executable, "-m", "vramfit", "run", "--gpu", "h200", "--", forked(), script]
    ran = subprocess.run(
        [*dry, *(files[name] for name in sorted(answered))],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(PACKAGE)},
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    made = {name: count for name in answered for file, count in lines if file == str(files[name])}
    assert answered == made
    assert len(answered) > 40
