"""What a model's own code asks of PyTorch, op by op, above autograd: ops as Python calls them, how
long Python holds what they give, and where a layer begins and ends."""

import weakref
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Register:
    """A tensor that an op gave, by the order in which they were given."""

    number: int


@dataclass(frozen=True)
class Parameter:
    """A parameter or buffer of the model."""

    path: str


@dataclass(frozen=True)
class Host:
    """A tensor in the host's memory."""

    sizes: tuple
    dtype: torch.dtype


@dataclass
class Op:
    name: str  # without "aten."
    args: list
    results: list  # registers; None: no tensor on the GPU


@dataclass
class Free:
    register: Register


@dataclass
class Enter:
    path: str
    given: object = None  # the first tensor that the module takes
    passed: list = field(default_factory=list)  # and the others, by their places
    named: list = field(default_factory=list)  # or by keywords


@dataclass
class Leave:
    path: str
    gives: object = None  # the first tensor that it gives
    count: int = 0  # how many it gives


@dataclass
class Held:
    """A tensor becomes a parameter, which is another tensor of its memory."""

    tensor: Register
    result: Register


@dataclass
class Bind:
    """It is a parameter or buffer of the model from now on."""

    register: Register
    path: str


@dataclass
class Grad:
    """Autograd notes what ops do from here on, or does not, where the run has it do so."""

    enabled: bool


@dataclass
class Gradient:
    """Of a torch.autograd.Function of the model's own: what it makes of its result's gradient."""

    result: Register
    gradient: Register
    given: list  # what it is a function of
    saved: list  # what it keeps
    events: list
    gives: list  # a gradient of each that is given, or None


@dataclass
class Autocast:
    """On or off from here on, where the run has it on."""

    enabled: bool


@dataclass
class Trace:
    events: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)  # names: registers
    outputs: dict = field(default_factory=dict)
    # What a cache holds of a layer, (layer, name): registers, before and after.
    state: dict = field(default_factory=dict)
    kept: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)  # of state


class _Mode(SchemaCheckMode):
    """Sees ops before autograd and autocast take them apart. PyTorch lets no other class there."""

    def __init__(self, tracer):
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self._tracer = tracer

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.einsum.default:  # whose words no tape has: as what it is made of
            with self:
                return func.decompose(*args, **(kwargs or {}))
        return self._tracer.op(func, args, kwargs or {})


class Tracer:
    def __init__(self, model):
        self.trace = Trace()
        self._known = {}  # id of a tensor: what it is
        self._by_memory = {}  # the latest register of an address
        self._count = 0
        self._autocast = torch.is_autocast_enabled("cuda")
        self._training = self._grad = torch.is_grad_enabled()
        self._learned = {Parameter(path) for path, _ in model.named_parameters()}
        self._open = True
        self._apart = set()  # what gradients are of, whose ends nobody sees
        tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        for path, tensor in reversed(tensors.items()):
            self._known[id(tensor)] = Parameter(path)
        self._alive = tensors  # so that no id is another's

    def give(self, name, tensor):
        """An input of what is traced."""
        self.trace.inputs[name] = self._register(tensor)

    def take(self, name, tensor):
        """An output of it."""
        if tensor is not None:
            self.trace.outputs[name] = self._known[id(tensor)]

    def hold(self, state):
        """What layers left behind, which they go on from: tensors by (layer, name)."""
        for name, tensor in state.items():
            self.trace.state[name] = self._known.get(id(tensor)) or self._register(tensor)
            self.trace.sizes[name] = list(tensor.shape)

    def keep(self, state):
        """What they leave behind themselves."""
        self.trace.kept = {name: self._known[id(tensor)] for name, tensor in state.items()}

    def op(self, func, args, kwargs):
        self._note_autocast()
        given = [self._argument(each) for each in _by_schema(func, args, kwargs)]
        learns = self._note_grad(given)
        result = func(*args, **kwargs)
        self._name_dtype(func, given, result)
        results = result if isinstance(result, (list, tuple)) else [result]
        event = Op(str(func).removeprefix("aten.").removesuffix(".default"), given, [])
        if event.name == "lift_fresh":  # what it is given
            return result
        if event.name.startswith("to.") and isinstance(given[0], Host):  # from the host's memory
            event = Op("fresh", [list(given[0].sizes), result.dtype], [])
        self.trace.events.append(event)
        event.results += [self._result(each) for each in results]
        if learns:
            self._learned.update(event.results)
        return result

    def becomes_parameter(self, parameter):
        """A module takes it in: nn.Parameter(tensor) is another tensor of the same memory."""
        if parameter is None or not parameter.is_cuda or id(parameter) in self._known:
            return
        events = self.trace.events
        made = self._by_memory.get(parameter.data_ptr())
        if made is None:  # by a function that asks no op of its own
            made = Register(self._count)
            self._count += 1
            events.append(Op("fresh", [list(parameter.shape), parameter.dtype], [made]))
            events.append(Free(made))
        held = Held(made, self._register(parameter))
        freed = Free(made)  # what nn.Parameter(…) was given, before the module has it
        place = len(events) - 1 - events[::-1].index(freed) if freed in events else len(events)
        events.insert(place, held)

    def bind(self, model):
        """What is the model's from now on."""
        tensors = [*model.named_parameters(), *model.named_buffers()]
        for path, tensor in tensors:
            self.trace.events.append(Bind(self._known[id(tensor)], path))

    def close(self):
        self._open = False

    @contextmanager
    def tracing(self, boundaries):
        """`boundaries`: modules by their paths, whose calls are noted."""
        with ExitStack() as stack:
            for path, module in boundaries.items():
                before = module.register_forward_pre_hook(
                    lambda _, args, kwargs, path=path: self._enter(path, args, kwargs),
                    with_kwargs=True,
                )
                after = module.register_forward_hook(
                    lambda _module, _args, result, path=path: self._leave(path, result)
                )
                stack.callback(before.remove)
                stack.callback(after.remove)
            stack.enter_context(_functions(self))
            stack.enter_context(enable_python_dispatcher())
            stack.enter_context(_Mode(self))
            yield

    def function(self, cls, args):
        """A torch.autograd.Function's result, by ops; and its gradient, noted apart."""
        context = _FunctionContext()
        with torch.no_grad():
            result = cls.forward(context, *args)
        known = [self._known.get(id(each)) for each in args]
        if torch.is_grad_enabled() and not self._learned.isdisjoint(_flat(known)):
            if not isinstance(result, torch.Tensor):
                raise NotImplementedError(f"{cls.__name__} has several results")
            self._note_grad()
            self.trace.events.append(self._gradient(cls, context, known, result))
            self._learned.add(self._known[id(result)])
        return result

    def _gradient(self, cls, context, given, result):
        """Outside autocast, and without gradients of its own, as backward() runs it."""
        before = self.trace.events, self._training, self._autocast
        with torch.no_grad(), torch.autocast("cuda", enabled=False):
            self.trace.events, self._training, self._autocast = [], False, False
            gradient = torch.empty_like(result)
            self.trace.events = []  # which is no op of its own
            made = cls.backward(context, gradient)
            events = self.trace.events
        self.trace.events, self._training, self._autocast = before
        gives = [self._known.get(id(each)) for each in _tuple(made)]
        saved = [self._known[id(each)] for each in context.saved_tensors]
        own = self._known[id(result)], self._known[id(gradient)]
        self._apart.update([own[1], *gives])
        return Gradient(*own, given, saved, events, gives)

    def _name_dtype(self, func, given, result):
        """What a factory makes is of torch's default type where none is named."""
        names = [each.name for each in func._schema.arguments]
        if "dtype" not in names or not isinstance(result, torch.Tensor):
            return
        if any(isinstance(each, (Register, Parameter, Host)) for each in given):
            return
        place = names.index("dtype")
        given += [None] * (place + 1 - len(given))
        given[place] = result.dtype

    def _note_autocast(self):
        enabled = torch.is_autocast_enabled("cuda")
        if enabled != self._autocast:
            self._autocast = enabled
            self.trace.events.append(Autocast(enabled))

    def _note_grad(self, given=()):
        """Where it matters: of what hangs on parameters. Returns whether autograd sees such."""
        learned = not self._learned.isdisjoint(_flat(given))
        enabled = torch.is_grad_enabled()
        if self._training and enabled != self._grad and (enabled or learned):
            self._grad = enabled
            self.trace.events.append(Grad(enabled))
        return learned and enabled

    def _known_in(self, values):
        return [self._known[id(each)] for each in _tensors_in(values) if id(each) in self._known]

    def _enter(self, path, args, kwargs):
        self._note_autocast()
        self._note_grad()
        passed, named = self._known_in(args), self._known_in(kwargs.values())
        first = next(iter([*passed, *named]), None)
        self.trace.events.append(Enter(path, first, passed[1:], named if passed else named[1:]))

    def _leave(self, path, result):
        found = _tensors_in([result])
        gives = self._known.get(id(found[0])) if found else None
        self.trace.events.append(Leave(path, gives, len(found)))

    def _argument(self, value):
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                return Host(tuple(value.shape), value.dtype)
            if id(value) not in self._known:  # torch.tensor(…): what it makes comes by lift_fresh
                register = self._register(value)
                self.trace.events.append(Op("fresh", [list(value.shape), value.dtype], [register]))
            return self._known[id(value)]
        if isinstance(value, (list, tuple)):
            return [self._argument(each) for each in value]
        return value

    def _result(self, value):
        if not isinstance(value, torch.Tensor) or not value.is_cuda:
            return None
        return self._known.get(id(value)) or self._register(value)

    def _register(self, tensor):
        register = Register(self._count)
        self._count += 1
        self._known[id(tensor)] = register
        self._by_memory[tensor.data_ptr()] = register
        weakref.finalize(tensor, self._dies, id(tensor), register)
        return register

    def _dies(self, key, register):
        if self._known.get(key) is register:
            del self._known[key]
        if self._open and register not in self._apart:
            self.trace.events.append(Free(register))


@contextmanager
def _functions(tracer):
    """Gradients of a model's own code, which autograd does not know by an op."""

    def apply(cls, *args):
        return tracer.function(cls, args)

    with patch.object(torch.autograd.Function, "apply", classmethod(apply)):
        yield


class _FunctionContext:
    """A Function's ctx."""

    saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


def _flat(values):
    """Registers and parameters, also of lists."""
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        elif isinstance(value, (Register, Parameter)):
            yield value


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _tensors_in(values):
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors_in(value)
    return found


_PLACES = ("layout", "device", "pin_memory")


def _by_schema(func, args, kwargs):
    """Arguments in the order of the op's schema, without what says nothing at the end: defaults,
    and where the memory is."""
    names = func._schema.arguments
    values = [
        args[place] if place < len(args) else kwargs.get(each.name, each.default_value)
        for place, each in enumerate(names)
    ]
    given = {names[place].name for place in range(len(args))} | kwargs.keys()
    while values:
        last = names[len(values) - 1]
        says_nothing = last.name in _PLACES or last.name not in given or _same(values[-1], last)
        if not says_nothing:
            break
        values.pop()
    return values


def _same(value, argument):
    default = argument.default_value
    return argument.has_default_value() and type(value) is type(default) and value == default
