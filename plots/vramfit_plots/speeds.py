"""How fast training was measured to be. Speeds have no prediction."""

from vramfit_plots.inputs import Inputs
from vramfit_plots.sources import MEASURED, TORCH_MEASURED, Source

_COUNTERS = {
    MEASURED: "tokens_per_second",
    TORCH_MEASURED: f"{TORCH_MEASURED.prefix}tokens_per_second",
}


def speeds(inputs: Inputs, row: str) -> dict[Source, float]:
    """Tokens a second, of those who were timed."""
    found = {source: inputs.value(row, counter) for source, counter in _COUNTERS.items()}
    return {source: value for source, value in found.items() if value}
