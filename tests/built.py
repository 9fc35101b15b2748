"""The programs that tests run."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def program(name: str) -> Path:
    """The one that was built last."""
    built = [ROOT / "build" / preset / "bin" / name for preset in ("cuda", "cpu")]
    newest = max((p for p in built if p.exists()), key=lambda p: p.stat().st_mtime, default=None)
    assert newest is not None, f"no {name} was built: run `make test`, or `make build` first"
    return newest
