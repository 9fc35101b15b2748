"""Calls of products, convolutions, attention, norms and losses."""

from aten_draw import BF16, BOOL, FP32, plain, some_index, turned


def linear(draw):
    rows, width, out = draw.sizes(1, 3), draw.size(), draw.size()
    bias = [plain(draw, [out])] if draw.maybe() else []
    return [draw.tensor([*rows, width]), plain(draw, [out, width]), *bias]


def multiplied(draw):
    n, k, m = draw.size(), draw.size(), draw.size()
    batch = draw.sizes(0, 2)
    left, right = draw.random.choice(
        [(batch, batch), (batch, []), ([], batch), (batch, draw.broadcast(batch))]
    )
    return [turned(draw, [*left, n, k]), turned(draw, [*right, k, m])]


def stacks(draw):
    b, n, k, m = draw.size(), draw.size(), draw.size(), draw.size()
    return [turned(draw, [b, n, k]), turned(draw, [b, k, m])]


def added_stacks(draw):
    a, b = stacks(draw)
    sizes = [*a["tensor"][:2], b["tensor"][2]]
    return [plain(draw, draw.random.choice([sizes, [1, *sizes[1:]]])), a, b]


def added_product(draw):
    n, k, m = draw.size(), draw.size(), draw.size()
    c = draw.random.choice([[m], [n, m]])
    return [plain(draw, c), turned(draw, [n, k]), turned(draw, [k, m])]


def grouped(draw):
    groups, rows = draw.size(), 16 * draw.size()
    width, out = 16, 32
    return [
        plain(draw, [rows, width], BF16),
        {**turned(draw, [groups, width, out]), "dtype": BF16},
        plain(draw, [groups], "int32"),
    ]


def convolved(draw):
    channels, taps = draw.size() + 1, 4
    bias = plain(draw, [channels]) if draw.maybe() else None
    x = turned(draw, [draw.size(), channels, draw.size() + taps])
    return [x, plain(draw, [channels, 1, taps]), bias, [1], [taps - 1], [1], channels]


def triangular(draw):
    batch, size = draw.random.choice([[], draw.sizes(1, 2), [9]]), draw.random.choice([5, 64])
    other = [*batch, size, draw.size()]
    return [turned(draw, [*batch, size, size]), plain(draw, other)]


MATRICES = {
    "linear": [linear],
    "matmul": [multiplied],
    "bmm": [stacks],
    "addmm": [added_product],
    "baddbmm": [added_stacks],
    "_grouped_mm": [grouped],
    "conv1d": [convolved],
    "linalg_solve_triangular": [
        lambda draw: [*({**each, "dtype": FP32} for each in triangular(draw)), draw.maybe()]
    ],
}


def embedded(draw):
    count = draw.random.choice([[draw.size()], draw.sizes(2, 2), [3073], [20_000]])
    return [plain(draw, [draw.random.choice([5, 40, 9000]), draw.size()]), some_index(draw, count)]


def attended(draw):
    """Heads as a model has them: (batch, tokens, heads, width), transposed."""
    batch, groups = draw.size(4), draw.random.choice([1, 1, 2, 4])
    # Few, of many keys: flash attention splits them.
    queries = draw.random.choice([1, draw.size() + 1, draw.size() + 1, 400])
    keys = queries if draw.maybe(0.6) else queries + draw.random.choice([draw.size(), 900])
    heads = groups * draw.random.choice([1, 2, 3])
    width = draw.random.choice([32, 64, 80, 112, 128, 208, 256])
    of_values = width if draw.maybe(0.8) else draw.random.choice([16, 128, 192])
    dtype, grad = draw.random.choice([BF16, BF16, FP32]), draw.maybe()

    def rows(heads, tokens, width=width):
        told = plain(draw, [batch, heads, tokens, width], dtype, grad=grad)
        if draw.maybe(0.2):  # put together anew, as rotary embeddings of a part leave them
            return told
        return {**told, "strides": [tokens * heads * width, width, heads * width, 1]}

    own = heads // groups
    qkv = [rows(heads, queries), rows(own, keys), rows(own, keys, of_values)]
    mask = draw.random.choice([None, BOOL, dtype])
    if mask is not None:
        learned = mask == dtype and draw.maybe(0.5)
        own = draw.random.choice([1, heads])
        mask = plain(draw, [batch, own, queries, keys], mask, grad=learned)
        if draw.maybe(0.2):  # of columns
            mask["strides"] = [own * queries * keys, queries * keys, 1, queries]
    causal = mask is None and queries == keys
    return [*qkv, mask, 0.0, causal, None, groups > 1 or draw.maybe(0.2)]


def softmax(draw):
    sizes = draw.sizes()
    told = draw.tensor(sizes)
    types = [[], [{"dtype": FP32}], [{"dtype": told["dtype"]}]]
    return [told, draw.dim(sizes), *draw.random.choice(types)]


def layer_norm(draw):
    sizes = [*draw.random.choice([draw.sizes(1, 3), [70_000]]), draw.size() + 1]
    more = draw.random.choice([[], [plain(draw, sizes[-1:]) for _ in "wb"]])
    return [draw.tensor(sizes), sizes[-1:], *more]


def loss(draw):
    rows, classes = draw.size(), draw.size() + 1
    reduction = draw.random.choice([[], [None, 0], [None, 2]])
    return [plain(draw, [rows, classes]), some_index(draw, [rows]), *reduction]


NETWORK = {
    "embedding": [embedded],
    "scaled_dot_product_attention": [attended],
    "softmax.int": [softmax],
    "log_softmax.int": [softmax],
    "layer_norm": [layer_norm],
    "cross_entropy_loss": [loss],
    "nll_loss_nd": [loss],
}
