"""Calls of ops that look at tensors otherwise, put them together or make them."""

from aten_draw import BF16, COMPLEX, FP32, LONG, binary, each, plain


def one(draw):
    return [draw.tensor(draw.sizes())]


def reshaped(draw):
    """Some dimensions made one, or apart; -1 says what is left."""
    sizes = draw.sizes(2, 4)
    place = draw.random.randrange(len(sizes) - 1)
    merged = [*sizes[:place], sizes[place] * sizes[place + 1], *sizes[place + 2 :]]
    a, to = (sizes, merged) if draw.maybe() else (merged, sizes)
    if draw.maybe():
        to = [*to]
        to[draw.random.randrange(len(to))] = -1
    return [draw.tensor(a), to]


def viewed(draw):
    a, to = reshaped(draw)
    return [{**a, "strides": draw.tensor(a["tensor"], layout="plain")["strides"]}, to]


def flattened(draw):
    sizes = draw.sizes(2, 4)
    first = draw.random.randrange(len(sizes))
    return [draw.tensor(sizes), first, draw.random.randrange(first, len(sizes))]


def transposed(draw):
    sizes = draw.sizes(2)
    return [draw.tensor(sizes), draw.dim(sizes), draw.dim(sizes)]


def permuted(draw):
    sizes = draw.sizes()
    order = list(range(len(sizes)))
    draw.random.shuffle(order)
    return [draw.tensor(sizes), order]


def unsqueezed(draw):
    sizes = draw.sizes()
    return [draw.tensor(sizes), draw.random.randrange(-len(sizes) - 1, len(sizes) + 1)]


def along(draw):
    sizes = draw.sizes()
    return [draw.tensor(sizes), draw.dim(sizes)]


def expanded(draw):
    sizes = draw.sizes()
    wide = [draw.size() if size == 1 else draw.random.choice([size, -1]) for size in sizes]
    if draw.maybe(0.3):
        wide = [draw.size(), *wide]
    return [draw.tensor(sizes), wide]


def expanded_as(draw):
    sizes = draw.sizes()
    return [draw.tensor(draw.broadcast(sizes)), draw.tensor(sizes)]


def sliced(draw):
    sizes = draw.sizes()
    dim = draw.dim(sizes)
    start = draw.random.choice([0, 0, 1, -1])
    return [
        draw.tensor(sizes),
        dim,
        start,
        draw.random.choice([2**63 - 1, 3, -1]),
        draw.random.choice([1, 2]),
    ]


def selected(draw):
    return [*along(draw), 0]


def joined(draw):
    sizes = draw.sizes()
    dim = draw.dim(sizes)
    parts = []
    for _ in range(draw.random.choice([1, 2, 3, 5, 9])):
        own = list(sizes)
        own[dim] = draw.size()
        parts.append(draw.tensor(own, draw.random.choice([draw.type, draw.type, FP32])))
    if draw.maybe(0.2):
        parts.append(draw.tensor([0], layout="plain", grad=False))
    return [parts, dim]


def stacked(draw):
    sizes = draw.sizes()
    count = draw.random.choice([1, 2, 5, 9])
    return [[draw.tensor(sizes) for _ in range(count)], draw.dim([*sizes, 1])]


def chunked(draw):
    sizes = draw.sizes(largest=20)
    return [draw.tensor(sizes), draw.random.randint(1, 7), draw.dim(sizes)]


def split_with_sizes(draw):
    sizes = draw.sizes()
    dim = draw.dim(sizes)
    parts = [draw.size(4) for _ in range(draw.random.choice([1, 2, 3, 8]))]
    sizes[dim] = sum(parts)
    return [draw.tensor(sizes), parts, dim]


def cloned(draw):
    return [draw.tensor(draw.sizes()), *draw.random.choice([[], ["torch.contiguous_format"]])]


def repeated(draw):
    sizes = draw.sizes(1, 3)
    times = [draw.random.randint(1, 3) for _ in range(len(sizes) + draw.random.choice([0, 0, 1]))]
    return [draw.tensor(sizes), times]


def interleaved(draw):
    sizes = draw.sizes()
    return [
        draw.tensor(sizes),
        draw.random.randint(1, 4),
        *([draw.dim(sizes)] if draw.maybe(0.8) else []),
    ]


def pairs_of_floats(draw):
    return [plain(draw, [*draw.sizes(1, 3), 2], FP32)]


def complex_numbers(draw):
    return [{**plain(draw, draw.sizes(1, 3), COMPLEX), "grad": True}]


VIEWS = {
    "view_as_complex": [pairs_of_floats],
    "view_as_real": [complex_numbers],
    "view": [viewed],
    "reshape": [reshaped],
    "reshape_as": [lambda draw: [draw.tensor([4, 6]), draw.tensor([2, 12])]],
    "flatten.using_ints": [flattened],
    "unflatten.int": [lambda draw: [draw.tensor([3, 12, 5]), -2, [4, -1]]],
    "transpose.int": [transposed],
    "permute": [permuted],
    "numpy_T": [lambda draw: [draw.tensor(draw.sizes(2, 2))]],
    "unsqueeze": [unsqueezed],
    "squeeze": [one],
    "squeeze.dim": [along],
    "expand": [expanded],
    "broadcast_to": [expanded],
    "expand_as": [expanded_as],
    "broadcast_tensors": [lambda draw: [binary(draw)]],
    "slice.Tensor": [sliced],
    "select.int": [selected],
    **each(["cat", "concat", "concatenate"], [joined]),
    "stack": [stacked],
    "chunk": [chunked],
    "split.Tensor": [chunked],
    "split_with_sizes": [split_with_sizes],
    "unbind.int": [along],
    "contiguous": [one],
    "clone": [cloned],
    "repeat": [repeated],
    "repeat_interleave.self_int": [interleaved],
    **each(["alias", "detach", "resolve_conj", "resolve_neg"], [one]),
    **each(["lift_fresh", "detach_"], [lambda draw: [draw.tensor([3], grad=False)]]),
}


def like(draw):
    return [draw.tensor(draw.sizes()), *draw.random.choice([[], [{"dtype": FP32}]])]


def full_like(draw):
    return [draw.tensor(draw.sizes()), 1.0, *draw.random.choice([[], [{"dtype": FP32}]])]


def sized(draw):
    return [draw.sizes(), *draw.random.choice([[], [{"dtype": BF16}]])]


def full(draw):
    types = [[], [{"dtype": BF16}]]
    return [draw.sizes(), draw.random.choice([1, 1.0, True]), *draw.random.choice(types)]


def new_sized(draw):
    return [draw.tensor([3]), draw.sizes(), *draw.random.choice([[], [{"dtype": BF16}]])]


def new_full(draw):
    return [draw.tensor([3]), draw.sizes(), 1.0, *draw.random.choice([[], [{"dtype": BF16}]])]


def ranged(*numbers):
    return lambda draw: [*numbers, *draw.random.choice([[], [{"dtype": FP32}]])]


def padded(draw):
    sizes = [size + 2 for size in draw.sizes(1, 3)]
    count = draw.random.randint(1, len(sizes))
    return [draw.tensor(sizes), [draw.random.randint(-1, 2) for _ in range(2 * count)]]


CREATION = {
    "arange": [ranged(7), ranged(7.5)],
    "arange.start": [ranged(2, 9)],
    "arange.start_step": [ranged(1, 10, 2), ranged(0, 9, 2.0)],
    **each(
        ["empty_like", "zeros_like", "ones_like", "rand_like"],
        [like],
    ),
    "full_like": [full_like],
    **each(["zeros", "ones", "rand", "empty.memory_format"], [sized]),
    "full": [full],
    **each(["new_zeros", "new_ones", "new_empty"], [new_sized]),
    "new_full": [new_full],
    "eye": [ranged(5)],
    "scalar_tensor": [ranged(2.0)],
    "one_hot": [lambda draw: [draw.tensor(draw.sizes(1, 3), LONG), 7]],
    "pad": [padded],
    **each(["tril", "triu"], [lambda draw: [draw.tensor(draw.sizes(2))]]),
    **each(["uniform_", "exponential_"], [lambda draw: [plain(draw, [5], grad=False)]]),
}
