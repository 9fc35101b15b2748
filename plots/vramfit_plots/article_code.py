"""What the article's code answers to what its own tables ask: bench's rows Article/…, in bytes."""

from dataclasses import dataclass

from vramfit_plots.inputs import Inputs


@dataclass(frozen=True)
class Answer:
    """What will_it_fit answers, in bytes."""

    fixed: float  # weights, gradients and optimizer states: what does not grow with the batch
    activations: float
    kv_cache: float


def _will_it_fit(inputs: Inputs, row: str) -> Answer:
    def part(name: str) -> float:
        return inputs.need(row, f"article_formula_{name}")

    fixed = sum(part(name) for name in ("parameters", "gradients", "optimizer_state"))
    return Answer(fixed, part("activations"), part("kv_cache"))


def training(inputs: Inputs, batch: int, seq: int) -> Answer:
    """Training of 7 billion parameters in fp16 with Adam."""
    return _will_it_fit(inputs, f"Article/will_it_fit/7B/fp16/adam/batch:{batch}/seq:{seq}")


def inference(inputs: Inputs, precision: str, batch: int, seq: int) -> Answer:
    """Inference of 7 billion parameters."""
    return _will_it_fit(inputs, f"Article/will_it_fit/7B/{precision}/batch:{batch}/seq:{seq}")


def largest_batch(inputs: Inputs, precision: str, seq: int, vram_gb: int) -> float:
    """By find_max_batch_size, training 7 billion parameters."""
    row = f"Article/find_max_batch_size/7B/{precision}/seq:{seq}/vram:{vram_gb}GB"
    return inputs.need(row, "article_max_batch")


def on_each_gpu(inputs: Inputs, strategy: str, gpus: int) -> float:
    """By estimate_multi_gpu_memory, training 13 billion parameters."""
    row = f"Article/estimate_multi_gpu_memory/13B/{strategy}/gpus:{gpus}"
    return inputs.need(row, "article_formula")
