"""gguf-parser-go's rules for llama.cpp on one GPU that holds every layer, written down anew from
its file_estimate__llamacpp.go (v0.28.1, MIT), and gpu_poor's for GGML. Bytes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

_MIB = 1 << 20
# Bytes of a block, and its elements, by ggml's name.
_BLOCKS = {
    "f32": (4, 1),
    "f16": (2, 1),
    "q4_0": (18, 32),
    "q4_1": (20, 32),
    "q5_0": (22, 32),
    "q5_1": (24, 32),
    "q8_0": (34, 32),
    "q2_K": (84, 256),
    "q3_K": (110, 256),
    "q4_K": (144, 256),
    "q5_K": (176, 256),
    "q6_K": (210, 256),
    "iq4_nl": (18, 32),
    "iq4_xs": (136, 256),
}
_INPUT, _OUTPUT = ("position_", "token_"), ("cls.", "output.", "output_", "rope_factors_")
PLATFORM = 250 * _MIB  # --platform-footprint's default for the card


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: tuple[int, ...]
    bytes: int


def tensors(model: Mapping[str, Any]) -> Iterator[Tensor]:
    """Of a line of data/reference/llamacpp/models.jsonl, each by itself."""
    for name, forms in model["tensors"].items():
        for shape, kind, *layers in forms:
            size, of = _BLOCKS[kind]
            count = prod(shape) * size // of
            runs = layers[0] if layers else [[None, None]]
            for first, last in runs if isinstance(runs[0], list) else [runs]:
                for layer in [None] if first is None else range(first, last + 1):
                    full = name if layer is None else name.replace("blk.N.", f"blk.{layer}.")
                    yield Tensor(full, tuple(shape), count)


def _row(kind: str, elements: int) -> int:
    size, of = _BLOCKS[kind]
    return elements * size // of


def _padded(value: int, to: int) -> int:
    return -(-value // to) * to


@dataclass(frozen=True)
class Ask:
    """How a run was started: data/reference/llamacpp/README.md's args."""

    ctx: int
    ubatch: int
    seqs: int
    flash: bool
    type_k: str
    type_v: str
    swa_full: bool


class Rules:
    def __init__(self, model: Mapping[str, Any], ask: Ask) -> None:
        self._ask = ask
        self._meta = model["metadata"]
        self._arch = self._meta["general.architecture"]
        self._tensors = list(tensors(model))
        self._hidden = self._read("embedding_length")
        self._heads = self._read("attention.head_count")
        self._layers = self._read("block_count")
        self._vocabulary = next(
            one.shape[-1] for one in self._tensors if one.name == "token_embd.weight"
        )
        self._align = 256 if ask.flash else 32
        self._cells = _padded(ask.ctx, self._align)
        self._tokens = min(self._cells, ask.ubatch)
        self._last = f"blk.{self._layers - 1}."

    def _read(self, key: str, default: int = 0) -> int:
        return int(self._meta.get(f"{self._arch}.{key}", default))

    @property
    def _key_value(self) -> tuple[int, int]:
        heads = self._read("attention.head_count_kv", self._heads)
        usual = self._hidden // self._heads
        lengths = (self._read(f"attention.{of}_length", usual) for of in ("key", "value"))
        key, value = (length * heads for length in lengths)
        return key, value

    def weights(self) -> int:
        on_card = sum(one.bytes for one in self._tensors if not one.name.startswith(_INPUT))
        if not any(one.name == "output.weight" for one in self._tensors):
            on_card += sum(one.bytes for one in self._tensors if one.name.startswith(_INPUT))
        return on_card

    def cache(self) -> int:
        def of(cells: int) -> int:
            key, value = self._key_value
            return _row(self._ask.type_k, key * cells) + _row(self._ask.type_v, value * cells)

        window = self._read("attention.sliding_window")
        pattern = 6 if self._arch == "gemma3" else 1  # what it knows of the cases' architectures
        if pattern == 1 or self._ask.swa_full:
            return self._layers * of(self._cells)
        cells = min(self._cells, _padded(window * self._ask.seqs + 2048, self._align))
        full = len(range(0, self._layers, pattern))
        return full * of(self._cells) + (self._layers - full) * of(cells)

    def _wide(self, *parts: str) -> int:
        """Rows of a step's tokens in fp32, as wide as these tensors of the last layer are long."""
        names = {f"{self._last}{part}.weight" for part in parts}
        widths = (one.shape[-1] for one in self._tensors if one.name in names)
        return sum(4 * width * self._tokens for width in widths)

    def _attention(self) -> int:
        query = next((o for o in self._tensors if o.name == f"{self._last}attn_q.weight"), None)
        found = self._wide("attn_norm")
        if self._ask.flash:
            key, value = self._key_value
            found += 2 * self._cells * self._tokens + (query.bytes if query else 0)
            found += _row(self._ask.type_k, key * self._cells)
            return found + _row(self._ask.type_v, value * self._cells)
        if query:
            found += 2 * 4 * query.shape[0] * self._tokens
            found += 4 * self._cells * self._tokens * self._heads
        return found

    def _feed_forward(self) -> int:
        found = self._wide("attn_norm", "ffn_norm", "ffn_gate", "ffn_up")
        experts, used = self._read("expert_count"), self._read("expert_used_count")
        if experts or used:
            found += 4 * experts * (self._hidden + self._tokens)
            found += 4 * self._hidden * used * self._tokens
        return found

    def compute(self) -> int:
        given = 4 * self._hidden * self._tokens + 4 * self._tokens + 4 * self._cells * self._tokens
        output = 4 * self._tokens * (self._hidden + self._vocabulary)
        return given + max(self._attention(), self._feed_forward(), output)

    def footprint(self) -> int:
        """Of the card: the logits' and embeddings' buffer."""
        return 4 * self._tokens * (self._hidden + self._vocabulary)

    def buffers(self) -> int:
        return self.weights() + self.cache() + self.compute() + self.footprint()


_GGML = {"Q4_0": (18, 32), "Q8_0": (34, 32), "Q6_K": (54, 64)}
_GGML_MIXED = {"Q4_K_M": (54, 38), "Q5_K_M": (54, 46)}  # of 64 elements: of v and down, of others


def gpu_poor(arch: Mapping[str, Any], kind: str, ctx: int) -> int | None:
    """Its total for GGML; None where it has no such type."""
    hidden, layers, inner = arch["hidden"], arch["layers"], arch["ffn"]
    count = 2 * arch["vocab"] * hidden + layers * (4 * hidden**2 + 3 * inner * hidden)
    if kind in _GGML:
        size, of = _GGML[kind]
        weights = count * size / of
    elif kind in _GGML_MIXED:
        high, low = _GGML_MIXED[kind]
        many = layers * hidden * (hidden + inner)
        weights = ((count - many) * low + many * high) / 64
    else:
        return None
    cache = ctx * 2 * 2 * hidden * layers
    activations = ctx * hidden * 5 * 2 + ctx**2 * arch["heads"] * 2
    overhead = (650 + 0.1 * ctx) * _MIB
    return int(weights + cache + activations + overhead)
