"""What cases take from release to release of PyTorch and transformers: data/releases/, played on
the stand-in by `make releases`. Nothing of it is measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vramfit_plots.files import read_json, read_jsonl

LEVELS = ("peak", "peak_reserved")  # of a reading: allocated, reserved

Readings = Mapping[str, Mapping[str, int]]  # levels in bytes, by stage


@dataclass(frozen=True)
class Release:
    name: str
    versions: Mapping[str, str]
    readings: Mapping[str, Readings]  # of each case that ran to its end
    failed: Mapping[str, str]  # why others did not

    def highest(self, case: str) -> tuple[int, int] | None:
        """Allocated and reserved at most; None: it did not run to its end."""
        found = self.readings.get(case)
        if found is None:
            return None
        allocated, reserved = (max(read[level] for read in found.values()) for level in LEVELS)
        return allocated, reserved


@dataclass(frozen=True)
class Releases:
    in_order: list[Release]
    changes: list[Mapping[str, Any]]  # of each from the one before it, as vramfit-compare has it


def load_release(folder: Path) -> Release:
    """Of the folder that `make releases` writes."""
    env: Mapping[str, str] = {}
    readings: dict[str, Readings] = {}
    failed: dict[str, str] = {}
    for line in read_jsonl(folder / "cases.jsonl"):
        if "env" in line:
            env = line["env"]
        elif "failed" in line:
            failed[line["case"]] = line["failed"]
        else:
            readings[line["case"]] = line["readings"]
    return Release(folder.name, env, readings, failed)


def load_releases(folder: Path) -> Releases:
    """Those that changes.json has, in its order."""
    changes = read_json(folder / "changes.json")
    names = [changes[0]["old"], *(change["new"] for change in changes)]
    return Releases([load_release(folder / name) for name in names], changes)
