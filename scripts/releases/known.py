"""The releases that are played, and what is kept of each, under data/releases/."""

from dataclasses import dataclass
from pathlib import Path

from exact.cases import Case, every_case
from programs import ROOT, BadInputError, read_json

KEPT = ROOT / "data" / "releases"
_BUILT = ROOT / "build" / "releases"


@dataclass(frozen=True)
class Release:
    """One set of wheels: torch's and, where it is not torch's environment's own, transformers'."""

    name: str
    environment: Path  # that has torch
    before: Path | None = None  # an environment whose packages go before

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    @property
    def packages(self) -> list[Path]:
        return [] if self.before is None else list(self.before.glob("lib/python3*/site-packages"))

    @property
    def folder(self) -> Path:
        return KEPT / self.name

    @property
    def cases(self) -> Path:
        return self.folder / "cases.jsonl"

    @property
    def was_played(self) -> bool:
        return self.cases.exists()


# In order; each is told of beside the one before it.
RELEASES = (
    Release("torch-2.9", _BUILT / "2.9"),
    Release("torch-2.11", _BUILT / "2.11"),
    Release("torch-2.13", _BUILT / "2.13"),
    Release("torch-2.15", _BUILT / "2.15"),
    Release("torch-2.15-transformers-5.24", _BUILT / "2.15", _BUILT / "transformers-5.24"),
)

# Cases of which all is kept that vramfit run says: who held what.
TOLD = {
    "step": "pytorch_single_gpu/llama2-7b/train/bf16/adamw/b:4/s:512",
    "lora": "pytorch_single_gpu/llama2-7b/train/bf16/adamw_fused/b:4/s:512/r:16/q_proj,v_proj",
    "generation": "pytorch_single_gpu/llama2-7b/infer/bf16/1x512,8x2048",
    "step-fp32": "pytorch_single_gpu/tinyllama-1.1b/train/fp32/adamw/b:2/s:1024",
    "step-gemma3": "pytorch_families/gemma3-1b/train/bf16/adamw_fused/b:2/s:512",
}


def chosen(names: str) -> list[Release]:
    """Of those names, all where there are none."""
    by_name = {release.name: release for release in RELEASES}
    for name in names.split():
        if name not in by_name:
            raise BadInputError(f"no release '{name}'; there are {', '.join(by_name)}")
    return [by_name[name] for name in names.split()] or list(RELEASES)


def pinned_cases() -> list[Case]:
    by_name = {case.name: case for case in every_case()}
    names = read_json(KEPT / "cases.json")
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise BadInputError(f"{KEPT}/cases.json: no case {unknown[0]} in data/reference")
    return [by_name[name] for name in names]
