"""A type's model, made and trained while it is traced."""

from contextlib import nullcontext
from trace import Enter, Leave, Op, Tracer

import torch
from transformers import AutoModelForCausalLM


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
            _move_rest(model)
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


def _move_rest(model):
    """What its code makes on the host all the same."""
    for module in model.modules():
        for own in module._parameters, module._buffers:
            for name, tensor in own.items():
                if tensor is not None and not tensor.is_cuda:
                    moved = tensor.cuda()
                    is_parameter = isinstance(tensor, torch.nn.Parameter)
                    setattr(module, name, torch.nn.Parameter(moved) if is_parameter else moved)


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


def trained(model, batch, seq, autocast, boundaries):
    """The trace of a forward with labels."""
    model.requires_grad_(False)
    model.train()
    ids = torch.zeros(batch, seq, dtype=torch.long, device="cuda")
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
