"""What is read of objects and files: flags, and what is set and no part of the prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vramfit._bad_input import printable

Flags = dict[str, Any]

#: It does the same in less memory, or leaves some of it out: what is predicted is the most.
_TAKES_LESS = {
    "use_liger_kernel",
    "liger_cross_entropy",
    "liger_fused_linear_cross_entropy",
    "liger_rms_norm",
    "liger_layer_norm",
    "liger_glu_activation",
    "liger_swiglu",
    "cut_cross_entropy",
    "activation_offloading",
    "gradient_checkpointing",  # axolotl's "offload"
    "unfrozen_parameters",
    "unsloth_lora_mlp",
    "lora_mlp_kernel",
    "lora_qkv_kernel",
    "lora_o_kernel",
    "auto_find_batch_size",
    "torch_empty_cache_steps",
}
#: A training step is the same: how rows are filled, and what runs beside it.
_THE_SAME = {
    "sample_packing",
    "packing",
    "flash_attention",
    "liger_rope",
    "eval_sample_packing",
    "val_set_size",
    "fp16_full_eval",
    "bf16_full_eval",
    "num_machines",
}


class Reading:
    """Flags as they are read, and what is not honoured."""

    def __init__(self) -> None:
        self.flags: Flags = {}
        self.not_honoured: list[str] = []
        self.keys: list[str] = []  #: of what is not honoured

    def name(self, key: str, value: Any, why: str = "not part of the prediction") -> None:
        self.keys.append(key)
        shown = printable(str(value))
        self.not_honoured.append(
            f"{key}={shown if len(shown) <= 40 else shown[:37] + '...'}: {why}"
        )

    def train_in(self, precision: str) -> None:
        """A Trainer's own, which goes before Accelerate's."""
        self.flags.pop("autocast", None)
        self.flags[precision] = True

    def name_set(self, values: Callable[[str], Any], defaults: Mapping[str, Any]) -> None:
        """Names those that are not at their default."""
        for key, default in defaults.items():
            value = values(key)
            if value is not None and value != default and value not in ([], {}, ""):
                self.name(key, value)

    @property
    def is_the_most(self) -> bool:
        """Whether a run with what is set takes no more than is predicted, and perhaps less."""
        return not _TAKES_LESS.isdisjoint(self.keys) and {*self.keys} <= _TAKES_LESS | _THE_SAME
