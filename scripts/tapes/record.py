"""Records the tape of a type: how its model is made, and what it does, at several sizes."""

import gc
import inspect
import re

import torch
import transformers
from flags import flag_lines
from fold import fold
from generation import generated
from held import held_lines, null_lines
from kinds import cycles_of, rule_of
from lora import target_lines
from models import built, layers_of, trained
from modes import Mode, generation_modes, training_modes
from points import COUNT, LAST_LAYER, HeadsAre, config_at, inputs_at, symbols, windows_of
from roll import rolled
from shorten import Parts
from solve import NoSizeError, Solver, merged, values_apart
from spans import shared_in, spans_of
from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from variants import told_of, variants_of, whole

_LAYERS = 3
_SHORT = (40, 120)  # tokens, of which no window here hides any
_GENERATION = ("prefill", "decode")
_TASKS = ("train", *_GENERATION)


def record(name):
    """A tape's text, by its file's name. Heads have a dimension of their own where the type's code
    allows it, and are powers of two in number where others run more code."""
    gc.disable()
    for how in _ways(name):
        try:
            return _Recording(name, how).text()
        except Exception as error:  # whatever it is that a model makes of such a config
            last = error
    raise last


def _ways(name):
    """Where longer sequences run more code, all are long."""
    for how in HeadsAre:
        try:
            model, _ = built(_config(name, 0, how), torch.bfloat16, None)
            ran = [len(trained(model, 2, seq, None, {}).events) for seq in _SHORT]
        except Exception:  # as record() has it
            continue
        if len(set(ran)) > 1:
            return [HeadsAre.LONG]
        break
    return [how for how in HeadsAre if how is not HeadsAre.LONG]


def _config(name, point, how, tied=False, beyond=False):
    config = AutoConfig.for_model(**config_at(name, point, _LAYERS, how, beyond))
    config.use_cache = False
    config.tie_word_embeddings = tied
    return config


class _Recording:
    """Of a type at all sizes."""

    def __init__(self, name, heads_are):
        self._name, self._heads_are = name, heads_are
        self._programs, self._points = {}, {}  # of each program, at each size
        self._not_plain = set()  # whether eager attention was asked for, where layers are not
        self._without = None  # why there is no generation
        for point in range(COUNT):
            self._at(point)

    def _at(self, point):
        tied, init = built(self._config(point, tied=True), torch.bfloat16, None)
        self._add("init tied", point, tied.config, init, Mode())
        slides = bool(windows_of(tied.config))
        del tied
        models = {}
        for mode in training_modes(slides, self._heads_are is HeadsAre.LONG):
            self._train(models, mode, point)
        try:
            for mode in generation_modes(slides):
                if self._without is None and mode.attention != self._usual:
                    self._generate(self._model_of(models, mode, point)[0], mode, point)
        except Exception as error:  # whatever it is that a model does with such a cache
            self._leave_generation(error)

    def _leave_generation(self, error):
        self._without = " ".join(str(error).split())[:200] or repr(error)
        for name in [name for name in self._programs if name.startswith(_GENERATION)]:
            del self._programs[name]

    def _model_of(self, models, mode, point):
        key = (mode.dtype, mode.attention, mode.beyond)
        if key not in models:
            config = self._config(point, beyond=mode.beyond)
            models[key] = built(config, mode.dtype, mode.attention)
        return models[key]

    def _train(self, models, mode, point):
        model, init = self._model_of(models, mode, point)
        if mode == Mode():
            self._model, self._usual = model, model.config._attn_implementation
            self._frozen = {at for at, each in model.named_parameters() if not each.requires_grad}
            self._add("init", point, model.config, init, mode)
        if mode.attention == self._usual:
            return
        batch, seq = inputs_at(point, self._heads_are)
        trace = trained(model, batch, seq, mode.autocast, {"": model} | _boundaries(model))
        spans = spans_of(trace.events, layers_of(model)[0] + ".")
        is_plain = not shared_in(trace.events, spans) and all(
            span.begins == span.enters and trace.events[span.leaves].count == 1 for span in spans
        )
        if not is_plain:
            self._not_plain.add(mode.attention == "eager")
        self._add(mode.name("train"), point, model.config, trace, mode)
        gc.collect()

    def _generate(self, model, mode, point):
        batch, seq = inputs_at(point, self._heads_are)
        traces = generated(model, batch, seq, mode.padded, _boundaries(model))
        for task, trace in traces.items():
            self._add(mode.name(task), point, model.config, trace, mode)
        gc.collect()

    def _add(self, name, point, config, trace, mode):
        batch, seq = inputs_at(point, self._heads_are)
        # In a token's forward, so many came before it.
        lengths = {"P": seq + 1} if name.startswith("decode") else {"S": seq}
        path = "layers" if name.startswith("init") else layers_of(self._model)[0]
        folded = fold(trace, path, mode.types())
        folded.layers = told_of(self._name, folded.layers)
        self._programs.setdefault(name, []).append(folded)
        self._points.setdefault(name, []).append(symbols(config, {"B": batch, **lengths}))

    def _config(self, point, tied=False, beyond=False):
        return _config(self._name, point, self._heads_are, tied, beyond)

    def _solved(self):
        solvers, solved = {}, {}
        for name, folded in list(self._programs.items()):
            if name not in self._programs:
                continue
            points = self._points[name]
            key = repr(points)
            if key not in solvers:
                solvers[key] = Solver(points)
            try:
                solved[name] = _solved(folded, solvers[key])
            except NoSizeError as error:
                if not name.startswith(_GENERATION):
                    raise
                self._leave_generation(error)
        return {name: each for name, each in solved.items() if name in self._programs}

    def text(self):
        solved = self._solved()
        told, bodies = _kinds(solved)
        kind, model = self._name.partition(".")[0], self._model
        path = layers_of(model)[0]
        lines = ["vramfit tape 1", f"model_type {kind}"]
        others = variants_of(kind) if self._name == kind else []
        lines += [" ".join(["variants", *others])] if others else []
        lines += [f"made torch {torch.__version__} transformers {transformers.__version__}"]
        names = whole(told, len(layers_of(model)[1]))
        rule = rule_of(names, model.config)
        lines += [f"layers num_hidden_layers {path}", rule]
        lines += [f"without generation: {self._without}"] if self._without else []
        lines += [] if model.supports_gradient_checkpointing else ["without checkpointing"]
        # What such a checkpoint takes and gives beside hidden states has gradients of its own.
        if self._not_plain:
            others = "" if False in self._not_plain else " eager"  # eager attention's weights
            lines.append("without reentrant checkpointing" + others)
        code = inspect.getsource(inspect.getmodule(type(model)))
        lines += ["without fp16"] if "dtype == torch.float16:" in code else []
        scales = type(model.get_input_embeddings()).forward is not torch.nn.Embedding.forward
        lines += ["embedding scaled"] if scales else []
        lines += [*cycles_of(kind, rule), f"attention {self._usual}", *flag_lines(model.config)]
        lines += held_lines(self._points["train"], model.config, rule, self._heads_are)
        windows = windows_of(model.config)
        lines += [" ".join(["windows", *windows])] if windows else []
        aliases = type(model.config).attribute_map.items()
        lines += [f"alias {other} {own}" for other, own in sorted(aliases)]
        lines += _defaults(self._name, self._points["train"])
        lines += null_lines(kind, model.config, self._config(COUNT - 1))
        lines += target_lines(kind, layers_of(model)[1])
        lines += _parameters(model, path, names, self._frozen)
        lines += _programs(solved, bodies)
        return "\n".join(lines) + "\n"


def _boundaries(model):
    path, layers = layers_of(model)
    return {f"{path}.{i}": each for i, each in enumerate(layers)}


def _programs(solved, bodies):
    """Of each its parts, or the name of an earlier program that has the same."""
    shared = {word for does in bodies.values() for body in does.values() for word in _shared(body)}
    lines, known, told = [], {}, Parts(shared)
    for name, (main, _) in solved.items():
        parts = {f"layer {letter}": bodies[letter][name] for letter in sorted(bodies)}
        parts["main"] = main
        written = []
        for part, body in parts.items():
            earlier = known.setdefault((part, *body), name)
            is_new = earlier == name
            written += told.told(part, name, body) if is_new else [f"{part} as {earlier}"]
        task = name.split()[0]
        if task in _TASKS and all(line.endswith(f" as {task}") for line in written):
            continue  # which is what a run without one of its own takes
        lines += [f"program {name}", *written, "end"]
    return lines


def _shared(body):
    """Registers of its program that a layer names."""
    return re.findall(r"%\d+", " ".join(body))


def _solved(folded, solver):
    """The program's lines, and those of each layer."""
    layers = [
        _merged([each.layers[i] for each in folded], "$", solver)
        for i in range(len(folded[0].layers))
    ]
    return _merged([each.main for each in folded], "%", solver), layers


def _merged(programs, sign, solver):
    if len({len(lines) for lines in programs}) > 1:
        programs = [rolled(lines, sign) for lines in programs]
    return merged(programs, solver)


def _kinds(solved):
    """Of each layer a letter; layers that do the same in all programs have the same one. And what
    each letter does in each program."""
    count = len(solved["train"][1])
    names, bodies = {}, {}
    # The first layer frees nothing that it is handed, for the program holds that, too.
    for place in [*range(1, count), 0]:
        does = {name: layers[place] for name, (_, layers) in solved.items()}
        alike = _frees_less if place == 0 else _does_the_same
        letter = next((each for each, body in bodies.items() if alike(does, body)), None)
        if letter is None:
            letter = chr(ord("A") + len(bodies))
            bodies[letter] = does
        names[place] = letter
    return [names[place] for place in range(count)], bodies


def _does_the_same(does, body):
    return all(values_apart(lines) == values_apart(body[name]) for name, lines in does.items())


def _frees_less(does, body):
    return all(
        _without_handed(lines) == _without_handed(body[name]) for name, lines in does.items()
    )


def _without_handed(lines):
    lines = values_apart(lines)
    kept = []
    for line in lines:
        words = line.split()
        if words[0] == "free":
            words = [each for each in words if not each.startswith("^")]
        if words != ["free"]:
            kept.append(" ".join(words))
    return kept


def _defaults(name, points):
    """What the class has for whole numbers that a config leaves out, which may hang on others."""
    kind = name.partition(".")[0]
    tied = getattr(CONFIG_MAPPING[kind](), "tie_word_embeddings", False)
    lines = [f"default tie_word_embeddings {int(bool(tied))}"]
    for key in ("bos_token_id", "eos_token_id", "decoder_start_token_id"):
        token = getattr(CONFIG_MAPPING[kind](), key, None)
        if token is not None:
            lines.append(f"default {key} {token if isinstance(token, int) else token[0]}")
    usual = CONFIG_MAPPING[kind]().to_dict()
    names = [key for key, value in usual.items() if _counts(value)]
    given = [config_at(name, point, _LAYERS) for point in range(COUNT)]
    given_by_all = set.intersection(*map(set, given))
    for key in sorted({*names, "head_dim", "num_key_value_heads"} & set(points[0])):
        others = [
            {name: point[name] for name in point.keys() & given_by_all - {key}} for point in points
        ]
        without = [{name: each[name] for name in each.keys() - {key}} for each in given]
        said = _said_of(key, without, others)
        if said is None and key == "head_dim":
            own = usual.get(key)
            said = str(own) if type(own) is int else "hidden_size/num_attention_heads"
        if key == LAST_LAYER:
            said = "num_hidden_layers-1"
        if said is not None:
            lines.append(f"default {key} {said}")
        of_null = _said_of(key, [{**each, key: None} for each in given], others)
        if usual.get(key) is None:  # to say so is to leave it out
            of_null = said
        if of_null is not None:
            lines.append(f"null {key} {of_null}")
    return lines


def _said_of(key, configs, symbols_of):
    """What a class has for a key, of each of these configs, as an expression; None: it has nothing,
    or raises."""
    values = []
    for config in configs:
        try:
            values.append(getattr(AutoConfig.for_model(**config), key, None))
        except Exception:  # one like it is refused
            return None
    return (
        Solver(symbols_of).say([int(each) for each in values])
        if all(map(_counts, values))
        else None
    )


def _counts(value):
    return type(value) in (int, bool) and value >= 0


def _parameters(model, layers_path, names, frozen):
    """Of each kind's first layer, and those beside the layers, in the order of their names."""
    before, behind, layers = [], [], {}
    buffers = {path for path, _ in model.named_buffers()}
    seen = {}
    for path, tensor in [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(),
    ]:
        word = "buffer" if path in buffers else "frozen" if path in frozen else "parameter"
        tied = f" tied {seen[id(tensor)]}" if id(tensor) in seen else ""
        if not tied and path in _tied_of(model):
            tied = f" tied {_tied_of(model)[path]}"
        seen.setdefault(id(tensor), path)
        rest = path.removeprefix(layers_path + ".")
        if rest == path:
            (behind if layers else before).append(f"{word} {path}{tied}")
            continue
        index, _, name = rest.partition(".")
        if names.index(names[int(index)]) == int(index):
            layers.setdefault(names[int(index)], []).append(f"{word} .{name}{tied}")
    lines = ["parameters", *before]
    for letter, own in layers.items():
        lines += [f"layer {letter}", *own, "end"]
    return [*lines, *behind, "end"]


def _tied_of(model):
    """Weights that are others' where the config ties them."""
    keys = getattr(model, "_tied_weights_keys", None)
    return keys if isinstance(keys, dict) else {}
