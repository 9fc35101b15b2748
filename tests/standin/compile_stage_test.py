"""What a compiler does to modules is not taken for the script's own."""

from stood_in import needs_torch, run_script

pytestmark = needs_torch

_SCRIPT = """
import torch
from torch._dynamo.callback import CallbackTrigger, callback_handler
model = torch.nn.Linear(64, 64, device="cuda")
with callback_handler.install_callbacks(CallbackTrigger.DYNAMO, "0"):
    torch.fx.symbolic_trace(torch.nn.Linear(2, 2))  # as Inductor does of its patterns
model(torch.ones(8, 64, device="cuda"))
"""


def test_a_forward_after_a_compile_is_a_forward(tmp_path):
    ran = run_script(tmp_path, _SCRIPT)
    assert ran.returncode == 0, ran.stderr
    names = [(stage["step"], stage["name"]) for stage in ran.answer["stages"]]
    assert names == [(0, "load"), (0, "compile"), (1, "forward")]
