"""A trace as a program: lines, those of layers that are alike kept once.

A line is a tuple of words; a whole number in it stays a number, for solve.py to say what it is.
"""

from dataclasses import dataclass, field
from trace import (
    Autocast,
    Bind,
    Enter,
    Free,
    Grad,
    Gradient,
    Held,
    Host,
    Leave,
    Op,
    Parameter,
    Register,
)  # fmt: skip

import torch
from spans import shared_in, spans_of

_MOST = 2**62  # beyond it a number means "to the end"


class CannotFoldError(Exception):
    """Why a trace is no program."""


@dataclass
class Part:
    """Lines of the program, or of one layer."""

    lines: list = field(default_factory=list)
    numbers: dict = field(default_factory=dict)  # registers made here: theirs

    def number(self, register):
        return self.numbers.setdefault(register, len(self.numbers))


@dataclass
class Folded:
    main: list
    layers: list  # lines of each layer


def fold(trace, layers_path, types):
    """The program of a trace. `types`: words for those that are the run's."""
    return _Fold(trace, layers_path, types).run()


def _renumbered(folded):
    """The program's registers that layers use come first, in the order in which they do: a layer
    that does the same has the same lines, whatever else the program makes."""
    numbers = {"%0": "%0"}  # the tokens'
    for lines in (*folded.layers, folded.main):
        for line in lines:
            for word in _words(line):
                numbers.setdefault(word, f"%{len(numbers)}")

    def named(word):
        if isinstance(word, tuple):
            return tuple(map(named, word))
        if not isinstance(word, str) or "%" not in word:
            return word
        return ",".join(numbers.get(each, each) for each in word.split(","))

    main, *layers = ([named(line) for line in lines] for lines in (folded.main, *folded.layers))
    return Folded(main, layers)


def _words(line):
    """Registers of the program that it names."""
    for word in line:
        if isinstance(word, tuple):
            yield from _words(word)
        elif isinstance(word, str):
            yield from (each for each in word.split(",") if each.startswith("%"))


def _is_tensor(value):
    if isinstance(value, (list, tuple)):
        return any(map(_is_tensor, value))
    return isinstance(value, (Register, Parameter))


def _plain_word(value):
    """Of what is of no tensor and no type; "_" of devices, layouts, other formats and names."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is torch.contiguous_format:
        return "true"
    if isinstance(value, Host):
        return "0.0" if value.dtype.is_floating_point else 0
    if isinstance(value, int):
        return value if abs(value) < _MOST else "end"
    return repr(value) if isinstance(value, float) else "_"


def _number(word):
    return int(word[1:])


class _Fold:
    def __init__(self, trace, layers_path, types):
        self._trace, self._path, self._types = trace, layers_path + ".", types
        self._main, self._layers = Part(), []
        self._layer = None  # the index of the one that runs
        self._owner = {}  # of registers: the part that made them
        self._carried = {}  # of layers: what they are handed
        self._given = {}  # and what they give
        self._state = {register: name for name, register in trace.state.items()}
        self._spans = spans_of(trace.events, self._path)
        self._shared = shared_in(trace.events, self._spans)  # what more than the next one use
        self._left = []  # numbers of a layer's tensors that the next one frees, or the program
        for name, register in trace.inputs.items():
            self._own(register, self._main)
            if name != "ids":
                self._main.lines.append((self._word(register), "=", "input", name))

    def run(self):
        events = self._trace.events
        begins = {span.begins: span for span in self._spans}
        last = self._spans[-1].leaves if self._spans else -1
        place = 0
        while place < len(events):
            if place in begins:
                self._begin(events[begins[place].enters])
            event = events[place]
            place += 1
            if self._enters(event) is not None:
                self._note_call(event)
            elif self._leaves(event) is not None:
                self._given[self._layer] = event.gives
                if place - 1 == last:
                    while place < len(events) and self._is_tail(events[place]):
                        self._add(events[place])
                        place += 1
                    self._end()
            else:
                self._add(event)
        if self._layers:
            self._keep()
            self._give()
        outputs = [self._word(each) for each in self._trace.outputs.values()]
        self._main.lines.append(("return", *outputs))
        return _renumbered(Folded(self._main.lines, [part.lines for part in self._layers]))

    def _enters(self, event):
        return self._index(event) if isinstance(event, Enter) else None

    def _leaves(self, event):
        return self._index(event) if isinstance(event, Leave) else None

    def _index(self, event):
        rest = event.path.removeprefix(self._path)
        return int(rest) if rest != event.path and rest.isdigit() else None

    def _begin(self, event):
        index = self._enters(event)
        if index != len(self._layers):
            raise CannotFoldError(f"layer {index} comes after {len(self._layers) - 1}")
        if index == 0:
            self._first = event.given
            self._at = len(self._main.lines)
        elif event.given is not self._given[index - 1]:
            raise CannotFoldError(f"layer {index} is not handed what the one before gives")
        self._carried[index] = event.given
        self._layers.append(Part())
        self._layer = index
        self._is_called = False

    def _note_call(self, event):
        self._is_called = True
        # What a layer is called with stays as long as checkpointing may call it again: PyTorch
        # saves what has a place, and holds by the call what has a name.
        for word, tensors in (("given", event.named), ("passed", event.passed)):
            main = {self._word(each) for each in tensors if self._owner.get(each) is self._main}
            if main:
                self._layers[self._layer].lines.append((word, *sorted(main, key=_number)))

    def _end(self):
        """Of the last layer."""
        given = self._given[self._layer]
        self._last = self._layer
        self._layer = None
        line = ["layers"]
        if self._first is not None:
            line.append(self._word(self._first))
        if given is not None:
            self._owner[given] = self._main
            line = [f"%{self._main.number(given)}", "=", *line]
        self._at = len(self._main.lines)
        self._main.lines.append(tuple(line))

    def _keep(self):
        """Lines for what a cache holds of a layer: its sizes as the layer begins, and what it holds
        when the layer has run."""
        state = self._trace.state
        for (layer, name), sizes in reversed(self._trace.sizes.items()):
            self._layers[layer].lines.insert(0, ("state", "!" + name, ("[", *sizes, "]")))
        for (layer, name), register in self._trace.kept.items():
            if state.get((layer, name)) is register:
                continue
            part, owner = self._layers[layer], self._owner.get(register)
            if register not in self._shared and owner is not part:
                raise CannotFoldError(f"layer {layer}'s {name} is made elsewhere")
            sign = "$" if owner is part else "%"
            part.lines.append(("keep", "!" + name, f"{sign}{owner.numbers[register]}"))

    def _give(self):
        """Lines that hand on what the next layer needs, or the program behind the last one."""
        for place, part in enumerate(self._layers):
            given = self._given.get(place)
            if given is None:
                continue
            words = [f"${part.numbers[given]}", *(f"${number}" for number in self._left)]
            part.lines.append(("give", *words))
        if self._left:
            results, *rest = self._main.lines[self._at]
            last = self._layers[self._last]
            by_number = {number: register for register, number in last.numbers.items()}
            more = [
                f"%{self._main.number(by_number[number])}" if number in by_number else "_"
                for number in self._left
            ]
            self._main.lines[self._at] = (",".join([results, *more]), *rest)

    def _is_tail(self, event):
        """Freed as the last layer returns, of what it was handed or, unless the one before it left
        such to the next, of what it had."""
        if not isinstance(event, Free) or event.register is self._given[self._layer]:
            return False
        owner = self._owner.get(event.register)
        if len(self._layers) > 1 and owner is self._layers[-2]:
            return True
        return owner is self._layers[-1] and owner.numbers[event.register] not in self._left

    def _part(self):
        return self._main if self._layer is None else self._layers[self._layer]

    def _own(self, register, part):
        self._owner[register] = part
        part.number(register)

    def _add(self, event):
        lines = self._part().lines
        if isinstance(event, Op):
            args = [self._word(each) for each in event.args]
            if event.name == "select.int" and self._layer is not None and not self._is_called:
                args[2] = 0  # a layer's own part of what is for all: which one, is of no size
            results = [self._result(each) for each in event.results]
            if set(results) == {"_"} and not any(map(_is_tensor, event.args)):
                return  # on the host
            lines.append((",".join(results), "=", event.name, *args))
        elif isinstance(event, Free):
            word = self._word(event.register)
            if lines and lines[-1][0] == "free":
                lines[-1] = (*lines[-1], word)
            else:
                lines.append(("free", word))
        elif isinstance(event, Held):
            tensor = self._word(event.tensor)
            lines.append((self._result(event.result), "=", "parameter", tensor))
        elif isinstance(event, (Enter, Leave)):
            pass
        elif isinstance(event, (Autocast, Grad)):
            word = type(event).__name__.lower()
            lines.append((word, "true" if event.enabled else "false"))
        elif isinstance(event, Bind):
            self._bind(event)
        elif isinstance(event, Gradient):
            self._gradient(event)

    def _gradient(self, event):
        self._own(event.gradient, self._part())
        words = [self._word(each) for each in (event.result, event.gradient)]
        given = [each for each in event.given if each is not None]
        gives = [each for each, of in zip(event.gives, event.given, strict=True) if of is not None]
        lines = self._part().lines
        lines.append(("gradient", *words, self._word(given), self._word(event.saved)))
        for each in event.events:
            self._add(each)
        lines.append(("gives", *map(self._result, gives)))

    def _bind(self, event):
        """In the part that made it."""
        owner = self._owner[event.register]
        layers = [place for place, part in enumerate(self._layers) if part is owner]
        name = event.path
        if layers:
            name = name.split(f".{layers[0]}.", 1)[1]
            name = "." + name
        sign = "$" if layers else "%"
        owner.lines.append(("bind", f"{sign}{owner.number(event.register)}", "@" + name))

    def _result(self, value):
        if not isinstance(value, Register):
            return "_"  # none, or a parameter as it was
        if value not in self._owner:
            self._own(value, self._main if value in self._shared else self._part())
        return self._word(value)

    def _word(self, value):
        if isinstance(value, (Register, Parameter)):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return ("[", *(self._word(each) for each in value), "]")
        if isinstance(value, torch.dtype):
            return self._types.get(value) or str(value).removeprefix("torch.")
        return _plain_word(value)

    def _tensor(self, value):
        if isinstance(value, Register):
            return self._register(value)
        layer = "" if self._layer is None else f"{self._path}{self._layer}"
        return "@" + value.path.removeprefix(layer)

    def _register(self, register):
        if register in self._state:
            layer, name = self._state[register]
            if layer != self._layer:
                raise CannotFoldError(f"layer {layer}'s {name} is used by {self._layer}")
            return "!" + name
        owner = self._owner.get(register)
        if self._layer is not None and register is self._carried[self._layer]:
            return "^0"
        if owner is self._main:
            return f"%{self._main.number(register)}"
        if self._layer is not None and owner is self._layers[self._layer]:
            return f"${owner.number(register)}"
        place = self._layers.index(owner)
        number = owner.numbers[register]
        if self._layer == place + 1:
            return f"^{1 + self._slot(number)}"
        if self._layer is None and place == len(self._layers) - 1:
            self._slot(number)
            return f"%{self._main.number(register)}"
        raise CannotFoldError(f"layer {place}'s tensor {number} is used by {self._layer}")

    def _slot(self, number):
        if number not in self._left:
            self._left.append(number)
        return self._left.index(number)
