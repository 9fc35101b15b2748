"""The article's will_it_fit as it stands, for cases measured in PyTorch. Bytes."""

from dataclasses import dataclass

_BYTES_PER_WEIGHT = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "int8": 1.0, "int4": 0.5}
OPTIMIZER_BYTES = {"adam": 12.0, "sgd": 4.0}
_ACTIVATION_FACTOR = 12


@dataclass(frozen=True)
class Question:
    """What will_it_fit asks, with its defaults."""

    parameters: float
    precision: str = "fp16"
    training: bool = True
    optimizer: str = "adam"
    batch: int = 1
    seq: int = 2048
    hidden: int = 4096
    layers: int = 32

    @property
    def bytes_per_weight(self) -> float:
        return _BYTES_PER_WEIGHT[self.precision]


def its_optimizer(name: str) -> str:
    """Optimizers that the article does not know are its Adam, as it has no other with moments."""
    return "sgd" if name.startswith("sgd") else "adam"


@dataclass(frozen=True)
class Answer:
    parameters: float
    gradients: float
    optimizer: float
    activations: float
    kv_cache: float

    @property
    def fixed(self) -> float:
        """What does not grow with the batch."""
        return self.parameters + self.gradients + self.optimizer

    @property
    def total(self) -> float:
        return self.fixed + self.activations + self.kv_cache


def will_it_fit(q: Question) -> Answer:
    weights = q.parameters * q.bytes_per_weight
    layer_tokens = q.hidden * q.layers * q.seq * q.batch * q.bytes_per_weight
    if not q.training:
        return Answer(weights, 0, 0, 0, kv_cache=2 * layer_tokens)
    return Answer(
        parameters=weights,
        gradients=weights,
        optimizer=q.parameters * OPTIMIZER_BYTES[q.optimizer],
        activations=_ACTIVATION_FACTOR * layer_tokens,
        kv_cache=0,
    )
