"""The programs that tests run, and what is built in."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def program(name: str) -> Path:
    """The one that was built last."""
    built = [ROOT / "build" / preset / "bin" / name for preset in ("cuda", "cpu")]
    newest = max((p for p in built if p.exists()), key=lambda p: p.stat().st_mtime, default=None)
    assert newest is not None, f"no {name} was built: run `make test`, or `make build` first"
    return newest


def releases() -> list[dict[str, Any]]:
    """PyTorch's, as data/releases.json has them."""
    return json.loads((ROOT / "data" / "releases.json").read_text())["releases"]


def measured_release() -> dict[str, Any]:
    """The one that figures hold for where nobody names one."""
    return [release for release in releases() if not release.get("simulated")][-1]
