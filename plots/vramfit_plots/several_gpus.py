"""Rows of several GPUs as `bench` names them: MultiGpu/llama2-13b/bf16/adamw/fsdp/batch:1/…"""

from dataclasses import dataclass, replace

FAMILY = "MultiGpu"
STRATEGIES = ("ddp", "zero1", "zero2", "fsdp", "pipeline")
NAMES = {
    "ddp": "DDP",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "fsdp": "FSDP / ZeRO-3",
    "pipeline": "pipeline",
}
# Bytes a parameter that weights, gradients and states come to, in 16 bits.
PER_PARAMETER = {"adamw-same": 8, "adamw": 12, "adamw-master": 16}
_POSITIONAL = ("model", "precision", "optimizer", "strategy")


@dataclass(frozen=True)
class Spread:
    """What is trained, and on how many GPUs by which strategy. Batch and tokens are each GPU's,
    but of a pipeline all GPUs'."""

    model: str
    precision: str
    optimizer: str
    strategy: str
    batch: int
    seq: int
    gpus: int
    more: tuple[str, ...] = ()  # further axes, "accumulate:8"

    @property
    def row(self) -> str:
        whose = [getattr(self, axis) for axis in _POSITIONAL]
        sizes = [f"batch:{self.batch}", f"seq:{self.seq}", f"gpus:{self.gpus}"]
        return "/".join([FAMILY, *whose, *sizes, *self.more])

    @property
    def alone(self) -> "Spread":
        """The same work of a GPU, done by one of them."""
        return replace(self, strategy="ddp", gpus=1)

    @property
    def training(self) -> str:
        """The same on one GPU, as rows of that family are named."""
        parts = [part for part in self.alone.row.split("/") if part not in {"ddp", "gpus:1"}]
        return "/".join(["Training", *parts[1:]])

    @property
    def form(self) -> tuple[str, ...]:
        """What is other than usual beside the number of micro-batches."""
        return tuple(one for one in self.more if not one.startswith("accumulate:"))

    @property
    def micro_batches(self) -> int:
        return next((int(one[11:]) for one in self.more if one.startswith("accumulate:")), 1)


def spread(row: str) -> Spread | None:
    """None where the row is of another family."""
    family, *parts = row.split("/")
    if family != FAMILY:
        return None
    keyed = dict(part.split(":", 1) for part in parts if ":" in part)
    sizes = {axis: int(keyed.pop(axis)) for axis in ("batch", "seq", "gpus")}
    return Spread(*parts[: len(_POSITIONAL)], **sizes, more=tuple(map(":".join, keyed.items())))
