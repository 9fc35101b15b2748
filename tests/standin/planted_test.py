"""A tensor that a copy of transformers keeps too long is found at its line: two runs of one script
are compared.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stood_in import EXACT, PACKAGE, needs_torch, run_script

pytestmark = needs_torch

LAYERS, WIDTH, INNER, ROWS, TOKENS = 4, 256, 704, 4, 128

SCRIPT = f"""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    hidden_size={WIDTH}, intermediate_size={INNER}, num_hidden_layers={LAYERS},
    num_attention_heads=4, num_key_value_heads=4, vocab_size=1000,
)
model = LlamaForCausalLM(config).cuda()
optimizer = torch.optim.AdamW(model.parameters())
ids = torch.randint(1000, ({ROWS}, {TOKENS}), device="cuda")
for _ in range(3):
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""

PRODUCT = "down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))"
OF_MLP = "hidden_states = self.mlp(hidden_states)"


def line_of(text: str, code: str) -> int:
    (number,) = [at for at, line in enumerate(text.splitlines(), 1) if line.strip() == code]
    return number


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Transformers with a llama of its own, which may be changed; the rest is linked."""
    where = "import importlib.util as u; print(u.find_spec('transformers').origin)"
    asked = subprocess.run([EXACT, "-c", where], capture_output=True, text=True, check=True)
    installed = Path(asked.stdout.strip()).parent
    copy = tmp_path_factory.mktemp("copied") / "site-packages" / "transformers"
    linked(installed, copy, but="models")
    linked(installed / "models", copy / "models", but="llama")
    linked(installed / "models" / "llama", copy / "models" / "llama", but="modeling_llama.py")
    modeling = copy / "models" / "llama" / "modeling_llama.py"
    modeling.write_text((installed / "models" / "llama" / "modeling_llama.py").read_text())
    return modeling


def linked(folder: Path, copy: Path, *, but: str) -> None:
    copy.mkdir(parents=True)
    for path in folder.iterdir():
        if path.name != but:
            (copy / path.name).symlink_to(path)


@pytest.fixture(scope="module")
def old(copied):
    """Its text, and what it takes."""
    return copied.read_text(), run_with(copied, "old")


def run_with(copied, name: str) -> Path:
    site_packages, folder = copied.parents[3:5]
    packages = os.pathsep.join([str(PACKAGE), str(site_packages)])
    ran = run_script(folder, SCRIPT, environment={"PYTHONPATH": packages})
    assert ran.returncode == 0, ran.stderr
    file = folder / f"{name}.json"
    file.write_text(json.dumps(ran.answer))
    return file


def compare(*arguments):
    line = [sys.executable, "-m", "vramfit", "compare", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, env={"PYTHONPATH": str(PACKAGE)}, check=False
    )


@pytest.mark.parametrize(
    ("change", "made_in", "more"),
    [
        # A tensor of its own, of each layer until the next forward.
        (
            (PRODUCT, f"self.kept = x.double()\n        {PRODUCT}"),
            "self.kept = x.double()",
            8 * LAYERS * ROWS * TOKENS * WIDTH,
        ),
        # One that is there anyway and would go: it is told where it was made.
        (
            (OF_MLP, f"{OF_MLP}\n        self.kept = hidden_states"),
            PRODUCT,
            4 * LAYERS * ROWS * TOKENS * WIDTH,
        ),
    ],
    ids=["of_its_own", "there_anyway"],
)
def test_a_tensor_that_is_kept_too_long(copied, old, change, made_in, more):
    text, old = old
    assert text.count(f"        {change[0]}\n") == 1
    planted = text.replace(*change)
    copied.write_text(f"# Another line.\n{planted}")  # so that all others move
    new = run_with(copied, "new")

    ran = compare(old, new, "--format", "json")
    assert ran.returncode == 1, ran.stderr
    (row,) = json.loads(ran.stdout)["rows"]
    assert row["facts"] == {}
    stage = row["moved"][0]
    line = stage["lines"][0]
    assert line["text"] == made_in
    assert line["line"] == f"{copied}:{line_of(copied.read_text(), made_in)}"
    assert line["new"] - line["old"] == more
    assert stage["peak"][1] - stage["peak"][0] == more
    assert len(stage["lines"]) == 1  # nothing else moved

    back = compare(new, old)
    assert back.returncode == 0
    assert "better" in back.stdout
    assert compare(old, new, "--tolerance", "99%").returncode == 0
