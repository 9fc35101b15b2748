"""What cases were measured with: the line `env` of their file, and the card that it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vramfit_plots.catalogues import Card
from vramfit_plots.files import BadInputError
from vramfit_plots.units import MIB, in_words

# An environment's programs, and how they are spelt.
_PROGRAMS = {
    "torch": "PyTorch",
    "transformers": "transformers",
    "bitsandbytes": "bitsandbytes",
    "peft": "PEFT",
    "accelerate": "accelerate",
}


@dataclass(frozen=True)
class Environment:
    path: Path
    said: Mapping[str, str]

    @property
    def _smi(self) -> list[str]:
        """The card's title, its driver and its memory, in MiB."""
        return self.said["smi"].split(", ")

    @property
    def title(self) -> str:
        return self._smi[0]

    @property
    def facts(self) -> dict[str, str]:
        """Under the names that a run's context has for them; what is not known is absent."""
        return {"gpu": self.title, "driver": self._smi[1], **self.said}

    @property
    def words(self) -> str:
        title, driver, memory = self._smi
        said = self.said
        programs = in_words(f"{word} {said[key]}" for key, word in _PROGRAMS.items() if key in said)
        return f"{programs} on an {title} ({memory}, driver {driver})"

    def card(self, cards: Mapping[str, Card]) -> str:
        """Its name in data/gpus.json: of cards of one title the nearest in size."""
        same = [card for card in cards.values() if self.title in card.titles]
        if not same:
            raise BadInputError(f"{self.path}: no card in data/gpus.json is titled {self.title}")
        mib = self._smi[2].split()[0]
        size = int(mib) * MIB if mib.isdecimal() else 0
        return min(same, key=lambda card: abs(card.vram - size)).name
