"""PyTorch on a GPU that is not there: a CUDA that does nothing but account for memory.

>>> import vramfit.standin
>>> vramfit.standin.start(facts)
>>> import torch

"""

from vramfit.standin._door import StandInError
from vramfit.standin._session import door, start

__all__ = ["StandInError", "door", "start"]
