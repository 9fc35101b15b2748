"""Records the tape of a type: how its model is made, and what it does, at several sizes."""

import gc
from contextlib import nullcontext
from trace import Enter, Leave, Op, Tracer

import torch
import transformers
from flags import flag_lines
from fold import fold
from held import held_lines
from kinds import cycles_of, rule_of
from points import COUNT, HeadsAre, config_at, inputs_at, symbols
from roll import rolled
from solve import Solver, merged
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

_LAYERS = 3
# Of a forward with labels: the type of weights, that of autocast, and which attention; a tape has
# those that are not as the first.
_MODES = {
    "train": (torch.bfloat16, None, None),
    "train fp32": (torch.float32, None, None),
    "train fp32 autocast": (torch.float32, torch.bfloat16, None),
    "train autocast": (torch.bfloat16, torch.bfloat16, None),
    "train eager": (torch.bfloat16, None, "eager"),
}


def built(config, dtype, attention):
    """A model, and the trace of how it was made."""
    tracer = Tracer(torch.nn.Module())
    layer_class = _layer_class(config)
    made = layer_class.__init__
    count = iter(range(10**6))

    def noted(self, *args, **kwargs):
        path = f"layers.{next(count)}"
        tracer.trace.events.append(Enter(path))
        made(self, *args, **kwargs)
        tracer.trace.events.append(Leave(path))

    layer_class.__init__ = noted
    hook = torch.nn.modules.module.register_module_parameter_registration_hook(
        lambda _module, _name, parameter: tracer.becomes_parameter(parameter)
    )
    try:
        with torch.device("cuda"), tracer.tracing({}):
            model = AutoModelForCausalLM.from_config(
                config, dtype=dtype, attn_implementation=attention
            )
    finally:
        layer_class.__init__ = made
        hook.remove()
    tracer.bind(model)
    tracer.close()
    tracer.trace.events = [each for each in tracer.trace.events if not _draws(each)]
    return model, tracer.trace


def _draws(event):
    """What weights are at first is of no size."""
    return isinstance(event, Op) and event.name.partition(".")[0].endswith("_")


def _layer_class(config):
    with torch.device("meta"):
        model = AutoModelForCausalLM._model_mapping[type(config)](config)
    return type(layers_of(model)[1][0])


def layers_of(model):
    """The path of its list of layers, and the list."""
    for key in "num_hidden_layers", "num_layers":
        for path, module in model.named_modules():
            of_layers = isinstance(module, torch.nn.ModuleList)
            if of_layers and len(module) == getattr(model.config, key, 0):
                return path, module
    raise ValueError("no list of layers")


def trained(model, batch, seq, autocast):
    """The trace of a forward with labels."""
    model.requires_grad_(False)
    model.train()
    ids = torch.zeros(batch, seq, dtype=torch.long, device="cuda")
    path, layers = layers_of(model)
    boundaries = {"": model} | {f"{path}.{i}": each for i, each in enumerate(layers)}
    cast = torch.autocast("cuda", autocast) if autocast else nullcontext()
    with cast:
        tracer = Tracer(model)
        tracer.give("ids", ids)
        with tracer.tracing(boundaries):
            out = model(ids, labels=ids)
        tracer.take("loss", out.loss)
        tracer.take("logits", out.logits)
        tracer.close()
    del out
    return tracer.trace


def _config(kind, point, tied, heads_are):
    config = AutoConfig.for_model(**config_at(kind, point, _LAYERS, heads_are))
    config.use_cache = False
    config.tie_word_embeddings = tied
    return config


def _types(dtype, autocast):
    return {dtype: "T"} | ({autocast: "A"} if autocast else {}) | {dtype: "T"}


def record(kind):
    """A tape's text. Heads have a dimension of their own where the type's code allows it, and are
    powers of two in number where others run more code."""
    gc.disable()
    for how in HeadsAre:
        try:
            return _recorded(kind, how)
        except Exception as error:  # whatever it is that a model makes of such a config
            last = error
    raise last


def _recorded(kind, heads_are):
    points, programs = [], {"init": [], "init tied": []}
    for point in range(COUNT):
        batch, seq = inputs_at(point, heads_are)
        models = {}
        _, tied = built(_config(kind, point, True, heads_are), torch.bfloat16, None)
        programs["init tied"].append(fold(tied, "layers", {torch.bfloat16: "T"}))
        for name, (dtype, autocast, attention) in _MODES.items():
            config = _config(kind, point, False, heads_are)
            if attention is not None and attention == models.get("usual"):
                continue
            if (dtype, attention) not in models:
                models[dtype, attention] = built(config, dtype, attention)
            model, init = models[dtype, attention]
            if name == "train":
                models["usual"] = usual = model.config._attn_implementation
            path = layers_of(model)[0]
            if name == "train":
                points.append(symbols(config, batch, seq))
                frozen = {at for at, each in model.named_parameters() if not each.requires_grad}
                programs["init"].append(fold(init, "layers", {dtype: "T"}))
            trace = trained(model, batch, seq, autocast)
            folded = fold(trace, path, _types(dtype, autocast))
            programs.setdefault(name, []).append(folded)
            gc.collect()
    solver = Solver(points)
    solved = {name: _solved(folded, solver) for name, folded in programs.items()}
    names, bodies = _kinds(solved)
    lines = ["vramfit tape 1", f"model_type {kind}"]
    lines += [f"made torch {torch.__version__} transformers {transformers.__version__}"]
    rule = rule_of(names, config)
    lines += [f"layers num_hidden_layers {path}", rule]
    lines += [*cycles_of(kind, rule), f"attention {usual}", *flag_lines(config)]
    lines += held_lines(points, config, rule, heads_are)
    aliases = type(config).attribute_map.items()
    lines += [f"alias {other} {own}" for other, own in sorted(aliases)]
    lines += _defaults(kind, points) + _lora_targets(kind)
    lines += _parameters(model, path, names, frozen)
    lines += _programs(solved, bodies)
    return "\n".join(lines) + "\n"


def _programs(solved, bodies):
    """Of each its parts, or the name of an earlier program that has the same."""
    lines, known = [], {}
    for name, (main, _) in solved.items():
        parts = {f"layer {letter}": bodies[letter][name] for letter in sorted(bodies)}
        parts["main"] = main
        written = []
        for part, body in parts.items():
            earlier = known.setdefault((part, *body), name)
            written += [f"{part} as {earlier}"] if earlier != name else [part, *body, "end"]
        if all(line.endswith(" as train") for line in written):
            continue  # which is what a run without one of its own takes
        lines += [f"program {name}", *written, "end"]
    return lines


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
        alike = _frees_less if place == 0 else dict.__eq__
        letter = next((each for each, body in bodies.items() if alike(does, body)), None)
        if letter is None:
            letter = chr(ord("A") + len(bodies))
            bodies[letter] = does
        names[place] = letter
    return [names[place] for place in range(count)], bodies


def _frees_less(does, body):
    return all(
        _without_handed(lines) == _without_handed(body[name]) for name, lines in does.items()
    )


def _without_handed(lines):
    kept = []
    for line in lines:
        words = line.split()
        if words[0] == "free":
            words = [each for each in words if not each.startswith("^")]
        if words != ["free"]:
            kept.append(" ".join(words))
    return kept


def _defaults(kind, points):
    """What the class has for whole numbers that a config leaves out, which may hang on others."""
    tied = getattr(CONFIG_MAPPING[kind](), "tie_word_embeddings", False)
    lines = [f"default tie_word_embeddings {int(bool(tied))}"]
    names = [key for key, value in CONFIG_MAPPING[kind]().to_dict().items() if _counts(value)]
    given_by_all = set.intersection(*(set(config_at(kind, each, _LAYERS)) for each in range(COUNT)))
    for key in sorted({*names, "head_dim", "num_key_value_heads"} & set(points[0])):
        values = []
        for point in range(COUNT):
            given = config_at(kind, point, _LAYERS)
            given.pop(key, None)
            try:
                values.append(getattr(AutoConfig.for_model(**given), key, None))
            except Exception:  # one without it is refused
                values.append(None)
        others = [
            {name: point[name] for name in point.keys() & given_by_all - {key}} for point in points
        ]
        said = None
        if all(map(_counts, values)):
            said = Solver(others).say([int(each) for each in values])
        if said is None and key == "head_dim":
            said = "hidden_size/num_attention_heads"
        if said is not None:
            lines.append(f"default {key} {said}")
    return lines


def _counts(value):
    return type(value) in (int, bool) and value >= 0


def _lora_targets(kind):
    # It asks for the GPU as it is imported, which is not to be before a type's process is forked.
    from peft.utils.constants import (  # noqa: PLC0415
        TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING,
    )

    named = TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(kind, [])
    return [" ".join(["lora_targets", *named])] if named else []


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
