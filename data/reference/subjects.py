"""What measure_pytorch_companions.py trains: language models, those that see, and diffusion.

A subject has `build(case)`, a model with random weights; `batch(case, config)`, what a step needs,
on the host; and `loss(model, batch)`, of a batch on the GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import measure_pytorch_more as more
import torch
from measure_pytorch import DTYPES
from transformers import AutoModelForImageTextToText
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

WORDS = 1000  # tokens are drawn below it, so that none of a model's special ones is among them


@dataclass(frozen=True)
class Subject:
    build: Callable[[dict[str, Any]], Any]
    batch: Callable[[dict[str, Any], Any], dict[str, Any]]
    loss: Callable[[Any, dict[str, Any]], torch.Tensor]


def build_text(case):
    if case.get("liger"):
        from liger_kernel.transformers import _apply_liger_kernel  # noqa: PLC0415

        _apply_liger_kernel(case["arch"]["model_type"])
    return more.build(case)


def text(case, config):
    ids = torch.randint(0, min(WORDS, config.vocab_size), (case["b"], case["s"]))
    return {"input_ids": ids, "labels": ids}


def loss_of_text(model, batch):
    return model(**batch).loss


def build_vision(case):
    arch = dict(case["arch"])
    config = CONFIG_MAPPING[arch.pop("model_type")](**arch)
    torch.manual_seed(0)
    with torch.device("cuda"):
        return AutoModelForImageTextToText.from_config(config, dtype=DTYPES[case["dtype"]])


def patches(case, vision):
    """Of Qwen's models: an image of `image` pixels' sides in rows of patches, and their grid."""
    side = case["image"] // vision.patch_size
    row = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    return {
        "pixel_values": torch.rand(case["b"] * side**2, row),
        "image_grid_thw": torch.tensor([[1, side, side]] * case["b"]),
    }, side**2 // vision.spatial_merge_size**2


def pixels(case, vision):
    images = torch.rand(case["b"], 3, vision.image_size, vision.image_size)
    return {"pixel_values": images}, (vision.image_size // vision.patch_size) ** 2


def vision(case, config):
    """Rows of `s` tokens, each of an image and words, as a processor makes them. What was seen is
    no label."""
    has_grid = hasattr(config.vision_config, "spatial_merge_size")
    seen, tokens = (patches if has_grid else pixels)(case, config.vision_config)
    ids = torch.randint(0, WORDS, (case["b"], case["s"]))
    ids[:, 1 : 1 + tokens] = config.image_token_id
    is_image = ids == config.image_token_id
    if has_grid:
        seen["mm_token_type_ids"] = is_image.long()
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "labels": ids.masked_fill(is_image, -100),
        **seen,
    }


def build_diffusion(case):
    import diffusers  # noqa: PLC0415

    arch = dict(case["arch"])
    torch.manual_seed(0)
    made = getattr(diffusers, arch.pop("model_type"))(**arch)
    return made.to("cuda", DTYPES[case["dtype"]])


def latents(case, config):
    side, width = case["latent"], config.in_channels
    batch = {"noisy": torch.randn(case["b"], width, side, side)}
    batch["noise"] = torch.randn_like(batch["noisy"])
    batch["timestep"] = torch.randint(0, 1000, (case["b"],))
    condition = getattr(config, "cross_attention_dim", None) or config.joint_attention_dim
    batch["encoder_hidden_states"] = torch.randn(case["b"], case["s"], condition)
    if hasattr(config, "pooled_projection_dim"):
        batch["pooled_projections"] = torch.randn(case["b"], config.pooled_projection_dim)
    return batch


def loss_of_noise(model, batch):
    """As diffusers' train_text_to_image_lora.py computes it."""
    rest = {key: value for key, value in batch.items() if key not in {"noisy", "noise"}}
    said = model(batch["noisy"], return_dict=False, **rest)[0]
    return torch.nn.functional.mse_loss(said.float(), batch["noise"].float())


SUBJECTS = {
    "text": Subject(build_text, text, loss_of_text),
    "vision": Subject(build_vision, vision, loss_of_text),
    "diffusion": Subject(build_diffusion, latents, loss_of_noise),
}
