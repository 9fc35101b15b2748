"""What of a model LoRA adapts, by the names that target_modules have."""

import torch
from transformers.pytorch_utils import Conv1D


def target_lines(kind, layers):
    """`lora_targets`, PEFT's own; `expert_targets`, `no_targets` and `tuple_targets`, which are
    refused."""
    return (
        _lora_targets(kind) + _expert_targets(kind) + _no_targets(layers) + _tuple_targets(layers)
    )


def _lora_targets(kind):
    # It asks for the GPU as it is imported, which is not to be before a type's process is forked.
    from peft.utils.constants import (  # noqa: PLC0415
        TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING,
    )

    named = TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(kind, [])
    return [" ".join(["lora_targets", *named])] if named else []


def _expert_targets(kind):
    """LoRA's targets that PEFT takes for experts, whose weights lie in one tensor, or for what
    chooses among them."""
    from peft.utils import transformers_weight_conversion as conversion  # noqa: PLC0415

    like = conversion._MODEL_TO_CONVERSION_PATTERN.get(kind)
    named = sorted(conversion._MOE_TARGET_MODULE_MAPPING.get(like, ()))
    return [" ".join(["expert_targets", *named])] if named else []


def _no_targets(layers):
    """Modules that multiply by a weight, and are none that LoRA adapts: routers."""
    named = {
        path.rpartition(".")[2]
        for path, module in layers.named_modules()
        if getattr(module, "weight", None) is not None
        and module.weight.dim() == 2
        and not isinstance(module, (torch.nn.Linear, torch.nn.Embedding, Conv1D))
    }
    return [" ".join(["no_targets", *sorted(named)])] if named else []


def _tuple_targets(layers):
    """Linears that give more than a tensor, for which PEFT raises: routers."""
    tuples = [path for path, module in layers.named_modules() if _gives_a_tuple(module)]
    named = {path.rpartition(".")[2] for path in tuples}
    return [" ".join(["tuple_targets", *sorted(named)])] if named else []


@torch.no_grad()
def _gives_a_tuple(module):
    if not isinstance(module, torch.nn.Linear) or type(module) is torch.nn.Linear:
        return False
    return isinstance(module(module.weight.new_zeros(1, module.in_features)), tuple)
