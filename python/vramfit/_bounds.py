"""What is known of what is set and not predicted: whether a run can take more for it."""

from __future__ import annotations

from collections.abc import Collection

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


def is_the_most(keys: Collection[str]) -> bool:
    """Whether a run with these set takes no more than is predicted, and perhaps less."""
    return not _TAKES_LESS.isdisjoint(keys) and {*keys} <= _TAKES_LESS | _THE_SAME
