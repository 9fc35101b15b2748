"""Calls of elementwise ops."""

from aten_draw import BF16, BOOL, COMPLEX, FP32, LONG, binary, each, plain


def unary(draw):
    return [draw.tensor(draw.sizes())]


def unary_in_place(draw):
    return [draw.tensor(draw.sizes(), grad=draw.maybe(), layout="plain")]


def mixed(draw):
    """Of two types, one of them perhaps a number's."""
    sizes = draw.sizes()
    types = [BF16, FP32, LONG, "int32", BOOL]
    a = draw.tensor(sizes, draw.random.choice(types))
    if draw.maybe(0.3):
        return [a, draw.random.choice([2, 0.5])]
    other = [] if draw.maybe(0.2) else draw.broadcast(sizes)
    return [a, draw.tensor(other, draw.random.choice(types))]


def of_types(*types):
    """Of one tensor of one of these types."""
    return lambda draw: [draw.tensor(draw.sizes(), draw.random.choice(types))]


def pair_of(*types):
    def two(draw):
        sizes = draw.sizes()
        dtype = draw.random.choice(types)
        return [draw.tensor(sizes, dtype), draw.tensor(draw.broadcast(sizes), dtype)]

    return two


def by_number(*numbers):
    return lambda draw: [draw.tensor(draw.sizes()), draw.random.choice(numbers)]


def integers_by_number(draw):
    types = [LONG, "int32"]
    return [draw.tensor(draw.sizes(), draw.random.choice(types)), draw.random.choice([3, 1.5])]


def compared(draw):
    return [draw.tensor(draw.sizes(), draw.random.choice([BF16, FP32, LONG, BOOL]), grad=False), 2]


def in_place(draw):
    """The second may be broadcast to the first, whose type both have at the end."""
    sizes = draw.sizes()
    a = draw.tensor(sizes, layout=draw.random.choice(["plain", "permuted"]))
    if draw.maybe(0.3):
        return [a, 0.5]
    return [a, draw.tensor(draw.broadcast(sizes), draw.random.choice([BF16, FP32]))]


def fill(draw):
    return [draw.tensor(draw.sizes(), layout="plain"), 0.5]


def cast(draw):
    return [draw.tensor(draw.sizes()), {"dtype": draw.random.choice([BF16, FP32, LONG])}]


def moved(draw):
    return [draw.tensor(draw.sizes()), "cuda", {"dtype": draw.random.choice([BF16, FP32])}]


def laid_out(draw):
    return [draw.tensor(draw.sizes()), {"dtype": draw.random.choice([BF16, FP32])}]


def masked(draw):
    sizes = draw.sizes()
    return [draw.tensor(sizes), draw.tensor(draw.broadcast(sizes), BOOL), 0.5]


def masked_in_place(draw):
    a, mask, number = masked(draw)
    strides = draw.tensor(a["tensor"], layout="plain")["strides"]
    return [{**a, "strides": strides}, mask, number]


def clamped(draw):
    a = draw.tensor(draw.sizes())
    return [a, *draw.random.choice([[0.5], [0.5, 1.5], [None, 1.5]])]


def clamped_in_place(draw):
    return [draw.tensor(draw.sizes(), layout="permuted"), *clamped(draw)[1:]]


def chosen(draw):
    sizes = draw.sizes()
    return [
        draw.tensor(draw.broadcast(sizes), BOOL),
        draw.tensor(draw.broadcast(sizes), draw.random.choice([BF16, FP32])),
        draw.tensor(draw.broadcast(sizes), draw.random.choice([BF16, FP32])),
    ]


def chosen_or_number(draw):
    sizes = draw.sizes()
    return [draw.tensor(draw.broadcast(sizes), BOOL), draw.tensor(sizes), 0.0]


def number_or_chosen(draw):
    condition, a, number = chosen_or_number(draw)
    return [condition, number, a]


def dropout(draw):
    return [draw.tensor(draw.sizes()), draw.random.choice([0.0, 0.1]), draw.maybe(0.8)]


def complex_product(draw):
    """Of what rotary embeddings turn, and by how much."""
    sizes = draw.sizes(2)
    turned = {**plain(draw, sizes, COMPLEX), "grad": True}
    return [turned, plain(draw, draw.broadcast(sizes), COMPLEX)]


def polar(draw):
    sizes = draw.sizes()
    return [plain(draw, sizes, FP32, grad=False), plain(draw, sizes, FP32, grad=False)]


def clamped_by_tensor(draw):
    sizes = draw.sizes()
    return [draw.tensor(sizes, grad=False), draw.tensor(draw.broadcast(sizes), grad=False)]


ELEMENTWISE = {
    "add.Tensor": [binary, mixed],
    "sub.Tensor": [binary, binary, integers_by_number],
    "mul.Tensor": [binary, mixed, complex_product],
    "polar": [polar],
    "multiply.Tensor": [binary],
    "div.Tensor": [binary, integers_by_number],
    "div.Tensor_mode": [lambda draw: [*pair_of(LONG)(draw), "floor"]],
    "rsub.Scalar": [by_number(1, 0.5)],
    **each(["add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor"], [in_place]),
    "copy_": [lambda draw: [*in_place(draw)[:1], draw.tensor([1])]],
    "fill_.Scalar": [fill],
    **each(["maximum", "max.other", "min.other"], [binary]),
    "pow.Tensor_Scalar": [by_number(2, 3, 0.5)],
    "pow.Tensor_Tensor": [lambda draw: [binary(draw)[0], draw.tensor([], grad=False)]],
    "pow.Scalar": [lambda draw: [2.0, draw.tensor(draw.sizes(), grad=False)]],
    **each(
        [
            "square", "neg", "abs", "sqrt",
            "rsqrt", "reciprocal", "exp", "expm1", "log",
            "log1p", "erfinv", "cos", "sin", "silu",
            "gelu", "relu", "tanh", "sigmoid",
            "log_sigmoid", "softplus", "floor",
        ],
        [unary],
    ),
    "dropout": [dropout],
    "to.dtype": [cast, lambda draw: [*cast(draw), False, False, "torch.contiguous_format"]],
    "to.device": [moved],
    "to.dtype_layout": [laid_out],
    "type_as": [lambda draw: [draw.tensor(draw.sizes()), draw.tensor([2], BF16)]],
    **each(
        [
            "eq.Scalar", "ne.Scalar", "ge.Scalar", "gt.Scalar", "greater.Scalar", "le.Scalar",
            "lt.Scalar",
        ],
        [compared],
    ),
    **each(
        ["eq.Tensor", "ne.Tensor", "ge.Tensor", "gt.Tensor", "le.Tensor", "lt.Tensor"],
        [pair_of(BF16, FP32, LONG)],
    ),
    "logical_or": [pair_of(BOOL, LONG)],
    "logical_not": [of_types(BOOL, LONG, FP32)],
    "__or__.Tensor": [pair_of(BOOL, LONG)],
    "__and__.Tensor": [pair_of(BOOL, LONG)],
    "bitwise_not": [of_types(BOOL, LONG)],
    "bitwise_xor.Tensor": [pair_of(BOOL, LONG)],
    "floor_divide": [pair_of(LONG, "int32"), integers_by_number],
    "clamp": [clamped],
    "clamp_": [clamped_in_place],
    "clamp.Tensor": [clamped_by_tensor],
    "masked_fill.Scalar": [masked],
    "masked_fill_.Scalar": [masked_in_place],
    "where.self": [chosen],
    "where.ScalarOther": [chosen_or_number],
    "where.ScalarSelf": [number_or_chosen],
    "where.Scalar": [lambda draw: [draw.tensor(draw.sizes(), BOOL), 1.0, 0.0]],
    "clamp_min": [by_number(0.5)],
    "remainder.Scalar": [by_number(2, 0.5), integers_by_number],
}  # fmt: skip
