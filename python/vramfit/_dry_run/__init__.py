"""`vramfit run`: people's own scripts, on a GPU that is not there."""

from vramfit._dry_run._command import run

__all__ = ["run"]
