"""Calls of each op in ATen's table: of some several kinds, drawn in turn."""

from aten_elementwise import ELEMENTWISE
from aten_network import MATRICES, NETWORK
from aten_reductions import INDEXING, REDUCTIONS
from aten_views import CREATION, VIEWS

CALLS = {**ELEMENTWISE, **REDUCTIONS, **INDEXING, **VIEWS, **CREATION, **MATRICES, **NETWORK}
