"""The stand-in in a Jupyter kernel, run headless."""

import json
import os
import subprocess

import pytest
from stood_in import EXACT, PACKAGE, needs_torch

CLIENT = """
import json, sys, nbformat
from jupyter_core.utils import ensure_async, run_sync
from nbclient import NotebookClient

def told(output):
    if output.output_type == "error":
        return output.ename + ": " + output.evalue
    return output.text if "text" in output else output.data["text/plain"]

def played(client, cells):
    for at, cell in enumerate(cells, start=len(client.nb.cells)):
        client.nb.cells.append(nbformat.v4.new_code_cell(cell))
        client.execute_cell(client.nb.cells[at], at)
    return ["".join(map(told, cell.outputs)) for cell in client.nb.cells[-len(cells):]]

async def restart(client):
    await ensure_async(client.km.restart_kernel())
    await ensure_async(client.kc.wait_for_ready(timeout=100))

client = NotebookClient(nbformat.v4.new_notebook(), allow_errors=True, timeout=200)
with client.setup_kernel():
    shown = [played(client, cells) for cells in json.loads(sys.argv[1])
             if cells or run_sync(restart)(client)]
print(json.dumps(shown))
"""
START = "import vramfit.standin; run = vramfit.standin.start(gpu={!r}); run"
TRAIN = """
import torch
model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range({steps}):
    model(torch.ones(8, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE)}


def has(modules) -> bool:
    line = [EXACT, "-c", f"import {modules}"]
    return (
        EXACT.exists()
        and not subprocess.run(line, env=environment(), capture_output=True, check=False).returncode
    )


pytestmark = [
    needs_torch,
    pytest.mark.skipif(
        not has("vramfit._core, nbclient, ipykernel"),
        reason="no Jupyter beside torch, or vramfit is built for another Python",
    ),
]


def played(*cells: list[str]) -> list[list[str]]:
    """What each cell shows; between lists of cells the kernel is restarted."""
    apart = [part for some in cells for part in (some, [])][:-1]
    ran = subprocess.run(
        [EXACT, "-c", CLIENT, json.dumps(apart)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_a_run_is_shown_as_a_cells_output_and_a_restarted_kernel_has_another():
    train = TRAIN.format(steps=3)
    (start, _, run, big, out), (other, _, second) = played(
        [START.format("rtx4090"), train, "run", "torch.empty(1 << 40, device='cuda')", "run"],
        [START.format("t4"), train, "run"],
    )
    assert start == "on NVIDIA GeForce RTX 4090, which is not there: import torch"
    assert "so far, after 3 optimizer steps" in run
    assert "FITS: " in run
    assert big.startswith("OutOfMemoryError: CUDA out of memory")
    assert "OOM: " in out
    assert other == "on Tesla T4, which is not there: import torch"
    assert "on t4: Tesla T4, sm_75" in second


def test_a_start_that_is_too_late_says_so_in_a_line():
    late = "import sys; sys.modules['torch'] = sys"
    again = START.format("t4")
    (_, torch_first), (_, twice) = played([late, again], [again, again])
    assert torch_first.startswith("StandInError: torch was imported already: start the stand-in be")
    assert twice.startswith("StandInError: the stand-in was started already")
    assert "\n" not in torch_first + twice


def test_a_notebook_under_vramfit_run(run, tmp_path):
    cells = [TRAIN.format(steps=99), "raise RuntimeError('it went on')"]
    shown = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": [],
              "execution_count": None} for cell in cells]  # fmt: skip
    notebook = {"cells": shown, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    execute = "from nbclient.cli import main; main(['train.ipynb'])"
    ran = run(f"import os; os.chdir({str(tmp_path)!r})\n{execute}")
    assert ran.returncode == 0, ran.stderr
    assert (ran.answer["ended"], ran.answer["steps"]) == ("steady", 3)
