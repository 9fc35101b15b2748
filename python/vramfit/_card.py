"""An answer for one card."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False  # typing itself takes long to import
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True)
class Levels:
    """What a run takes at most, in bytes. Formulas (runtime "article") know `allocated` alone."""

    allocated: int  #: by tensors
    reserved: int | None = None  #: by the allocator
    device_used: int | None = None  #: by the process, context and libraries included
    managed: int | None = None  #: of that, what the driver moves to the host where others need room
    host: int | None = None  #: in the host's memory, beside all that


@dataclass(frozen=True)
class Peak:
    """When most is allocated."""

    stage: str
    step: int  #: from 1; 0: before the first


@dataclass(frozen=True)
class Stage:
    """A stage of the run; sizes in bytes, allocated ones where nothing else is said."""

    step: int
    name: str
    before: int
    after: int
    peak: int
    reserved: int | None = None
    peak_reserved: int | None = None
    device_used: int | None = None


@dataclass(frozen=True)
class Uncertainty:
    """What figures may be off by, in bytes."""

    reserved: int
    overhead: int  #: what may turn the verdict: more of what fits, less of what does not
    overhead_less: int
    overhead_more: int
    total: int  #: reserved and overhead


@dataclass(frozen=True)
class Largest:
    """What a search found: the largest size that fits, 0 where none does."""

    size: int  #: predicted to fit
    surely: int  #: fits whatever figures may be off by
    possibly: int  #: may fit


@dataclass(frozen=True)
class DeviceParts:
    """What one of a run's devices, or the host, holds."""

    device: str  #: "GPU 0", "host"
    parts: dict[str, int]  #: bytes


@dataclass(frozen=True)
class CardAnswer:
    """The answer for one card. Sizes are integers in bytes."""

    gpu: str | None  #: as the flag spells it; None: a size alone, or this machine's
    title: str
    vram: int
    fits: bool
    verdict: str  #: FITS, TIGHT or OOM
    total: int  #: what the card must have
    margin: int  #: what it has beyond that; negative: what it lacks
    overhead: int  #: context, libraries and the driver's share
    levels: Levels
    components: dict[str, int]  #: what `levels.allocated` is made of at the peak
    peak: Peak
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    uncertainty: Uncertainty | None  #: None: nobody knows
    largest: Largest | None  #: of a search
    devices: tuple[DeviceParts, ...] = ()  #: where a run is told of device by device: llama.cpp's
    #: under vllm: what it counts, its blocks and requests at once, why it would not start
    serving: dict[str, Any] | None = None
    own_choice: dict[str, str] | None = None  #: keywords that its runtime would set by itself


def _known(of: type, values: dict[str, Any]) -> dict[str, Any]:
    """Later releases add keys."""
    return {name: values[name] for name in of.__dataclass_fields__ if name in values}  # type: ignore[attr-defined]


def card_of(values: dict[str, Any]) -> CardAnswer:
    uncertainty = values.get("uncertainty")
    searched = "largest" in values
    return CardAnswer(
        gpu=values["gpu"].get("name"),
        title=values["gpu"].get("title") or "",
        vram=values["vram"],
        fits=values["fits"],
        verdict=values["verdict"],
        total=values["total"],
        margin=values["margin"],
        overhead=values["overhead"],
        levels=Levels(**_known(Levels, values["levels"])),
        components=dict(values["components"]),
        peak=Peak(**_known(Peak, values["peak"])),
        stages=tuple(Stage(**_known(Stage, stage)) for stage in values["stages"]),
        notes=tuple(values["notes"]),
        uncertainty=Uncertainty(**_known(Uncertainty, uncertainty)) if uncertainty else None,
        largest=Largest(values["largest"], values["largest_surely"], values["largest_possibly"])
        if searched
        else None,
        devices=tuple(DeviceParts(**one) for one in values.get("devices", ())),
        serving=values.get("serving"),
        own_choice=values.get("own_choice"),
    )
