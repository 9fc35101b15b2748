"""Calls of reductions, scans and sorts, and of ops by an index."""

from aten_draw import BF16, BOOL, FP32, LONG, binary, each, some_index


def reduced(draw):
    """Over some dimensions of what may be much."""
    sizes = draw.sizes(largest=7) if draw.maybe(0.6) else large(draw)
    count = draw.random.randint(1, len(sizes))
    dims = sorted(draw.random.sample(range(len(sizes)), count))
    return [draw.tensor(sizes), dims, draw.maybe()]


def deviation(draw):
    a, dims, keepdim = reduced(draw)
    return [a, dims, draw.maybe(), keepdim]


def large(draw):
    return draw.random.choice([[300_000], [4000, 300], [7, 30_000], [20_000, 33], [2, 9, 20_000]])


def summed_as(draw):
    a, dims, keepdim = reduced(draw)
    types = [[], [], [{"dtype": FP32}]]
    return [
        {**a, "dtype": draw.random.choice([BF16, FP32])},
        dims,
        keepdim,
        *draw.random.choice(types),
    ]


def of_all(draw):
    sizes = draw.sizes() if draw.maybe() else large(draw)
    return [draw.tensor(sizes)]


def whole_of_all(draw):
    sizes = draw.random.choice([draw.sizes(), [1], large(draw)])
    return [draw.tensor(sizes, draw.random.choice([LONG, BOOL, FP32]), grad=False)]


def over_one(draw, dtype=None, grad=None):
    sizes = draw.sizes(largest=7) if draw.maybe(0.6) else large(draw)
    return [draw.tensor(sizes, dtype, grad=grad), draw.dim(sizes), draw.maybe()]


def whole_over_one(draw):
    return over_one(draw, draw.random.choice([LONG, BOOL]))


def argmax(draw):
    return (
        over_one(draw, grad=False) if draw.maybe(0.8) else [draw.tensor(draw.sizes(), grad=False)]
    )


def isin(draw):
    return [draw.tensor(draw.sizes(), LONG), draw.tensor([draw.size(7)], LONG, layout="plain")]


def scanned(draw):
    sizes = draw.random.choice([draw.sizes(), [5000], [1, 40_000], [300_000]])
    return [draw.tensor(sizes, draw.random.choice([BF16, FP32, LONG, BOOL])), draw.dim(sizes)]


def differences(draw):
    sizes = draw.sizes()
    a = draw.tensor([*sizes[:-1], sizes[-1] + 1], LONG)
    return [a, 1, -1, draw.tensor([*sizes[:-1], 1], LONG)] if draw.maybe() else [a]


def topk(draw):
    sizes = [*draw.sizes(0, 2), draw.size(20) + 3]
    return [draw.tensor(sizes), draw.random.randint(1, 3), -1, True, draw.maybe(0.8)]


def sorted_rows(draw):
    if draw.maybe(0.4):
        types = [LONG, "int32", FP32]
        size = draw.random.choice([4096, 4097, 5000, 30_000, 300_000])
        return [draw.tensor([size], draw.random.choice(types), layout="plain")]
    sizes = draw.sizes()
    return [draw.tensor(sizes, draw.random.choice([LONG, BF16, FP32])), draw.dim(sizes)]


def norm(draw):
    return [draw.tensor(draw.sizes(), grad=False), 2.0, [-1], draw.maybe()]


REDUCTIONS = {
    "mean": [of_all],
    "mean.dim": [reduced],
    "std.dim": [deviation],
    "sum": [of_all, whole_of_all],
    "sum.dim_IntList": [summed_as],
    **each(["all", "any"], [whole_of_all]),
    **each(["all.dim", "any.dim"], [whole_over_one]),
    "_is_all_true": [lambda draw: [draw.tensor(draw.sizes(), BOOL)]],
    "max": [whole_of_all],
    **each(["max.dim", "min.dim"], [over_one]),
    "argmax": [argmax],
    "logsumexp": [reduced],
    "linalg_vector_norm": [norm],
    "isin.Tensor_Tensor": [isin],
    "is_nonzero": [lambda draw: [draw.tensor([1], BOOL)]],
    "_has_compatible_shallow_copy_type": [binary],
    "item": [lambda draw: [draw.tensor([1], LONG)]],
    "cumsum": [scanned],
    "diff": [differences],
    "topk": [topk],
    "sort": [sorted_rows],
    "argsort": [sorted_rows],
    "histc": [lambda draw: [draw.tensor([draw.size()], FP32, grad=False), 8, 0, 7]],
}


def indexed(draw):
    sizes = draw.sizes(1, 4)
    if draw.maybe(0.2):
        return [draw.tensor([4000, 9], layout="plain"), [some_index(draw, [5000])]]
    shape = draw.sizes(1, 2)
    indices = [
        some_index(draw, draw.random.choice([shape, shape[-1:], [1]])) if draw.maybe(0.6) else None
        for _ in range(draw.random.randint(1, len(sizes)))
    ]
    if not any(indices):
        indices[-1] = some_index(draw, shape)
    return [draw.tensor(sizes), indices]


def put(draw):
    n, width = draw.size(), draw.size()
    grad = draw.maybe()
    a = draw.tensor([draw.size(), width], layout="plain", grad=grad)
    return [a, [some_index(draw, [n])], draw.tensor([n, width], grad=grad), draw.maybe(0.3)]


def placed(draw, *, source=None, layout=None):
    """(self, dim, index) of as many dimensions."""
    sizes = draw.sizes()
    places = [draw.random.randint(1, size) for size in sizes]
    a = draw.tensor(sizes, layout=layout)
    more = {None: [], "number": [0.0], "tensor": [draw.tensor(places)]}[source]
    return [a, draw.dim(sizes), some_index(draw, places), *more]


def of_a_row(draw, *, source=False, layout=None):
    sizes = draw.sizes()
    dim, count = draw.dim(sizes), draw.size()
    given = list(sizes)
    given[dim] = count
    more = [draw.tensor(given)] if source else []
    return [draw.tensor(sizes, layout=layout), dim, some_index(draw, [count]), *more]


INDEXING = {
    "index.Tensor": [indexed],
    "index_put_": [put],
    "gather": [placed],
    "scatter.value": [lambda draw: placed(draw, source="number")],
    "scatter.src": [lambda draw: placed(draw, source="tensor")],
    "scatter_.value": [lambda draw: placed(draw, source="number", layout="plain")],
    **each(
        ["scatter_.src", "scatter_add_"],
        [lambda draw: placed(draw, source="tensor", layout="plain")],
    ),
    "index_select": [of_a_row],
    "index_add": [lambda draw: of_a_row(draw, source=True)],
    "index_add_": [lambda draw: of_a_row(draw, source=True, layout="plain")],
    "index_copy_": [lambda draw: of_a_row(draw, source=True, layout="plain")],
}
