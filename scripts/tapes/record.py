"""Records a type's tape on the stand-in.

usage: vramfit run --gpu h200 -- python record.py TYPE OUT.tape
"""

import gc
import sys
from pathlib import Path

import torch
import transformers
from fold import fold
from points import COUNT, config_at, inputs_at, symbols
from solve import Solver, merged
from trace import Enter, Leave, Op, Tracer
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

_LAYERS = 3
_TYPE = torch.bfloat16


def built(config):
    """A model, and the trace of how it was made."""
    tracer = Tracer(torch.nn.Module())
    model_class = AutoModelForCausalLM._model_mapping[type(config)]
    layer_class = _layer_class(model_class, config)
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
            model = AutoModelForCausalLM.from_config(config, dtype=_TYPE)
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


def _layer_class(model_class, config):
    with torch.device("meta"):
        model = model_class(config)
    return type(layers_of(model)[1][0])


def layers_of(model):
    """The path of its list of layers, and the list."""
    lists = [
        (path, module)
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.ModuleList)
        and len(module) == model.config.num_hidden_layers
    ]
    return lists[0]


def trained(model, batch, seq):
    """The trace of a forward with labels."""
    model.requires_grad_(False)
    model.train()
    ids = torch.zeros(batch, seq, dtype=torch.long, device="cuda")
    path, layers = layers_of(model)
    boundaries = {"": model} | {f"{path}.{i}": each for i, each in enumerate(layers)}
    tracer = Tracer(model)
    tracer.give("ids", ids)
    with tracer.tracing(boundaries):
        out = model(ids, labels=ids)
    tracer.take("loss", out.loss)
    tracer.take("logits", out.logits)
    tracer.close()
    del out
    return tracer.trace


def _defaults(kind, points, solver):
    """What the class has for whole numbers that a config leaves out, which may hang on others."""
    lines = []
    names = [key for key, value in CONFIG_MAPPING[kind]().to_dict().items() if _counts(value)]
    for key in sorted({*names, "head_dim", "num_key_value_heads"} & set(points[0])):
        values = []
        for point in range(COUNT):
            given = config_at(kind, point, _LAYERS)
            given.pop(key, None)
            try:
                values.append(getattr(AutoConfig.for_model(**given), key, None))
            except Exception:  # one without it is refused
                values.append(None)
        said = solver.say([int(each) for each in values]) if all(map(_counts, values)) else None
        if said is None and key == "head_dim":
            said = "hidden_size/num_attention_heads"
        if said is not None:
            lines.append(f"default {key} {said}")
    return lines


def _counts(value):
    return type(value) in (int, bool) and value >= 0


def _lora_targets(kind):
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

    named = TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(kind, [])
    return [" ".join(["lora_targets", *named])] if named else []


def record(kind):
    points, layers_path = [], None
    programs = {"init": [], "init tied": [], "train": []}
    for point in range(COUNT):
        batch, seq = inputs_at(point)
        config = AutoConfig.for_model(**config_at(kind, point, _LAYERS))
        config.use_cache = False
        gc.disable()
        config.tie_word_embeddings = True
        _, init = built(config)
        programs["init tied"].append(fold(init, "layers", _TYPE))
        config.tie_word_embeddings = False
        model, init = built(config)
        layers_path = layers_of(model)[0]
        train = trained(model, batch, seq)
        gc.enable()
        points.append(symbols(config, batch, seq))
        programs["init"].append(fold(init, "layers", _TYPE))
        programs["train"].append(fold(train, layers_path, _TYPE))
    solver = Solver(points)
    lines = ["vramfit tape 1", f"model_type {kind}"]
    lines += [f"made torch {torch.__version__} transformers {transformers.__version__}"]
    lines += [f"layers num_hidden_layers {layers_path}", "kinds A"]
    lines += _parameters(model, layers_path)
    lines += _defaults(kind, points, solver) + _lora_targets(kind)
    for name, folded in programs.items():
        lines += _program(name, folded, solver)
    return "\n".join(lines) + "\n"


def _parameters(model, layers_path):
    lines, inside, behind = ["parameters"], False, False
    buffers = dict(model.named_buffers())
    seen = {}
    for path, tensor in [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(),
    ]:
        rest = path.removeprefix(layers_path + ".")
        word = "buffer" if path in buffers else "parameter"
        tied = f" tied {seen[id(tensor)]}" if id(tensor) in seen else ""
        seen.setdefault(id(tensor), path)
        if rest == path:
            if inside:
                lines.append("end")
                inside, behind = False, True
            lines.append(f"{word} {path}{tied}")
            continue
        index, _, name = rest.partition(".")
        if index == "0":
            if not inside:
                lines.append("layer A")
            inside = True
            lines.append(f"{word} .{name}{tied}")
    return [*lines, *(["end"] if inside else []), "end"] if behind or inside else [*lines, "end"]


def _program(name, folded, solver):
    kinds = {}
    bodies = [
        merged([each.layers[i] for each in folded], solver) for i in range(len(folded[0].layers))
    ]
    if any(body != bodies[1] for body in bodies[2:]):
        raise ValueError("layers differ")
    lines = [f"program {name}", "layer A", *bodies[1], "end"]
    return [*lines, "main", *merged([each.main for each in folded], solver), "end", "end"]


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    Path(sys.argv[2]).write_text(record(sys.argv[1]))
