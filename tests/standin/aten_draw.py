"""Arguments of ATen's ops, drawn: sizes, types, layouts and which inputs want a gradient."""

import random

BF16, FP32, LONG, BOOL = "bfloat16", "float32", "int64", "bool"
COMPLEX = "complex64"


class Draw:
    """Arguments of one call."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type = self.random.choice([BF16, FP32])

    def size(self, most=9):
        return self.random.choice([1, *range(2, most), *range(2, most)])

    def sizes(self, least=1, most=4, largest=9):
        return [self.size(largest) for _ in range(self.random.randint(least, most))]

    def maybe(self, chance=0.5):
        return self.random.random() < chance

    def tensor(self, sizes, dtype=None, grad=None, layout=None):
        """Dense, in whichever order; now and then broadcast, or a part of a wider one."""
        dtype = dtype or self.type
        layout = layout or self.random.choice(["plain", "plain", "permuted", "wide", "expanded"])
        order = list(range(len(sizes)))
        if layout == "permuted":
            self.random.shuffle(order)
        strides, stride = [0] * len(sizes), 1
        for place in reversed(order):
            strides[place] = stride
            stride *= max(sizes[place], 1)
            if layout == "wide" and place == order[-1]:
                stride += 3
        if layout == "expanded" and sizes:
            strides[self.random.randrange(len(sizes))] = 0
        grad = self.maybe(0.7) if grad is None else grad
        told = {"tensor": list(sizes), "strides": strides, "dtype": dtype}
        return {**told, "grad": True} if grad and dtype in (BF16, FP32, "float16") else told

    def broadcast(self, sizes):
        """What broadcasts with those sizes."""
        other = [1 if self.maybe(0.3) else size for size in sizes]
        return other[self.random.randint(0, len(other)) :] if self.maybe(0.3) else other

    def dim(self, sizes):
        return self.random.randrange(-len(sizes), len(sizes))


def binary(draw):
    sizes = draw.sizes()
    a, b = draw.tensor(sizes), draw.tensor(draw.broadcast(sizes))
    return [a, b] if draw.maybe(0.8) else [b, a]


def plain(draw, sizes, dtype=None, grad=None):
    return draw.tensor(sizes, dtype, grad=grad, layout="plain")


def turned(draw, sizes):
    """Row-major, or its last two dimensions the other way round."""
    told = plain(draw, sizes)
    strides = told["strides"]
    if len(sizes) > 1 and draw.maybe():
        strides[-2:] = [1, sizes[-2]]
    return told


def some_index(draw, sizes=None):
    return draw.tensor(sizes or draw.sizes(1, 2), LONG, layout="plain")


def each(names, makers):
    """Calls of several ops that are drawn alike."""
    return dict.fromkeys(names, makers)
