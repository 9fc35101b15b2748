"""Where layers begin and end in a trace, and which of their tensors others use."""

from dataclasses import dataclass
from itertools import pairwise
from trace import Enter, Free, Leave, Op, Register


@dataclass
class Span:
    """Places of events: a layer's first, which is before its call where something is made for it
    alone; its call, and its end."""

    begins: int
    enters: int
    leaves: int


def spans_of(events, path):
    """Of each layer, in the order in which they run. `path`: of their list."""
    enters = _places(events, Enter, path)
    leaves = _places(events, Leave, path)
    spans = [Span(place, place, end) for place, end in zip(enters, leaves, strict=True)]
    counts = set()
    for earlier, later in pairwise(spans):
        made = _ops_in(events, earlier.leaves, later.enters)
        later.begins = made[0] if made else later.enters
        counts.add(tuple(events[place].name for place in made))
    names = counts.pop() if len(counts) == 1 else ()
    if not names or not _alike(events, spans[0], names):
        for span in spans:
            span.begins = span.enters
    return spans


def _alike(events, first, names):
    """Whether that is made for the first one, too, where it then begins."""
    made = _ops_in(events, -1, first.enters)[-len(names) :]
    if tuple(events[place].name for place in made) != names:
        return False
    first.begins = made[0]
    return True


def _places(events, kind, path):
    return [
        place
        for place, each in enumerate(events)
        if isinstance(each, kind) and each.path.removeprefix(path).isdigit()
    ]


def _ops_in(events, begin, end):
    """Those on the GPU: whether a layer is dropped is drawn on the host."""
    ops = [place for place in range(begin + 1, end) if isinstance(events[place], Op)]
    return [place for place in ops if list(_registers(events[place]))]


def shared_in(events, spans):
    """Registers of a layer that others than the next one use; so what the last one leaves, where
    those before leave theirs to later ones: it goes where theirs went."""
    made, shared, left = {}, set(), set()
    handed = {events[span.leaves].gives for span in spans}
    end = _end(events, spans)
    for place, event in enumerate(events):
        layer = _layer_at(spans, place, end)
        for register in _registers(event):
            if register not in made:
                made[register] = layer
            of = made[register]
            if of is not None and layer not in (of, of + 1):
                (left if _is_last(spans, of, layer) else shared).add(register)
    shared -= handed
    return shared | (left - handed) if shared else shared


def _end(events, spans):
    """The last place that is of layers: what is dropped as the last one returns is of it, too."""
    place = spans[-1].leaves if spans else -1
    while place + 1 < len(events) and isinstance(events[place + 1], Free):
        place += 1
    return place


def _layer_at(spans, place, end):
    """None: of the program. What is dropped between two is the first one's."""
    if not spans or place < spans[0].begins or place > end:
        return None
    return sum(place >= span.begins for span in spans) - 1


def _is_last(spans, of, layer):
    """What the last one leaves the program has, whether for others or as what it returned."""
    return layer is None and of == len(spans) - 1


def _registers(event):
    if isinstance(event, Op):
        yield from _registers_in([event.args, event.results])
    elif isinstance(event, Free):
        yield event.register


def _registers_in(values):
    for value in values:
        if isinstance(value, list):
            yield from _registers_in(value)
        elif isinstance(value, Register):
            yield value
