"""PyTorch on a GPU that is not there: a CUDA that does nothing but account for memory.

>>> import vramfit.standin
>>> run = vramfit.standin.start(gpu="rtx4090")
>>> import torch

"""

from vramfit.standin._door import StandInError
from vramfit.standin._notebook import Run, start
from vramfit.standin._session import door

__all__ = ["Run", "StandInError", "door", "start"]
