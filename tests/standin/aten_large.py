"""Calls at the sizes that models have, where blocks share work, and beyond 2 GiB."""

from aten_draw import BF16, BOOL, FP32, LONG


def _tensor(sizes, dtype=BF16, grad=True, turned=False):
    strides, stride = [0] * len(sizes), 1
    for place in range(len(sizes)) if turned else reversed(range(len(sizes))):
        strides[place] = stride
        stride *= sizes[place]
    told = {"tensor": sizes, "strides": strides, "dtype": dtype}
    return {**told, "grad": True} if grad else told


def _reductions():
    small = [[8192, 4096], [4096, 11008], [16384, 33], [1000003], [7, 123457]]
    for sizes, dtype in [(s, d) for s in small for d in (BF16, FP32)] + [([40000, 32000], BF16)]:
        for dims in ([0], [-1], list(range(len(sizes)))):
            yield "sum.dim_IntList", _tensor(sizes, dtype), dims
        yield "sum.dim_IntList", _tensor(sizes, dtype, turned=True), [0]
        yield "mean", _tensor(sizes, dtype)
        yield "argmax", _tensor(sizes, dtype, grad=False), 0
        yield "max.dim", _tensor(sizes, dtype, grad=False), -1
    yield "add.Tensor", _tensor([4, 2048, 4096]), _tensor([4096])
    yield "mul.Tensor", _tensor([4, 2048, 4096]), _tensor([1, 1, 4096], FP32)
    yield "any", _tensor([4, 1, 2048, 2048], BOOL, grad=False)
    yield "sum", _tensor([8, 2048], BOOL, grad=False)


def _by_cub():
    yield "cumsum", _tensor([16384, 64], LONG, grad=False), 0
    yield "cumsum", _tensor([5_000_000], FP32), 0
    for count in (5000, 65_536, 1_000_000, 20_000_000):
        yield "sort", _tensor([count], LONG, grad=False)
        yield "sort", _tensor([count], FP32)
    for count, rows, width in (
        (8192, 32_000, 64),
        (16_384, 128_256, 64),
        (4097, 50_257, 8),
        (100_000, 1000, 8),
        (40_000, 520, 8),
    ):
        places = _tensor([count], LONG, grad=False)
        yield "embedding", _tensor([rows, width]), places
        yield "index.Tensor", _tensor([rows, width]), [places]


def _norms():
    for rows, width in ((70_000, 768), (70_000, 4096), (65_536, 64), (200_000, 2048)):
        weights = [_tensor([width]), _tensor([width])]
        yield "layer_norm", _tensor([rows, width]), [width], *weights


def large_calls():
    """Names and arguments."""
    for calls in (_reductions, _by_cub, _norms):
        for name, *arguments in calls():
            yield name, arguments
