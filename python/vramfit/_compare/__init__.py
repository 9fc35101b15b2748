"""`vramfit-compare OLD NEW`: what moved between two runs of `vramfit run`, and at which line."""

from vramfit._compare._command import compare, main

__all__ = ["compare", "main"]
