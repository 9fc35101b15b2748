"""`vramfit model`: transformers' own code of a causal language model, on a GPU not there."""

from vramfit._model._command import model

__all__ = ["model"]
