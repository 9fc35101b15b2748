"""What a model does in generate(): of its prompt, and of a token after it."""

import functools
from itertools import count
from trace import Tracer

import torch

# Forwards of generate(): of the prompt, and of a token that is not the first one behind it.
_TASKS = {0: "prefill", 2: "decode"}
INPUTS = ("attention_mask", "position_ids")  # beside the tokens, as generate() makes them


def generated(model, batch, seq, padded, boundaries):
    """Traces by task. `padded`: the prompts hold tokens that the mask hides."""
    model.requires_grad_(False)
    model.eval()
    ids = torch.ones(batch, seq, dtype=torch.long, device="cuda")
    if padded:
        ids[-1, 0] = 0
    forward, calls, traces = model.forward, count(), {}

    @functools.wraps(forward)
    def traced(*args, **kwargs):
        task = _TASKS.get(next(calls))
        if task is None:
            return forward(*args, **kwargs)
        if task == "decode" and kwargs["input_ids"].shape[1] > 1:
            raise NotImplementedError("it has no cache: each token runs all before it")
        tracer = Tracer(model)
        tracer.give("ids", kwargs["input_ids"])
        for name in INPUTS:
            if isinstance(kwargs.get(name), torch.Tensor):
                tracer.give(name, kwargs[name])
        cache = kwargs["past_key_values"]
        tracer.hold(_state(cache))
        with tracer.tracing(boundaries):
            out = forward(*args, **kwargs)
        tracer.take("logits", out.logits)
        tracer.keep(_state(cache))
        tracer.close()
        traces[task] = tracer.trace
        return out

    model.forward = traced
    try:
        with torch.no_grad():
            model.generate(
                ids,
                max_new_tokens=3,
                do_sample=False,
                pad_token_id=0,
                eos_token_id=1,
                use_cache=True,
            )
    finally:
        del model.forward
    return traces


def _state(cache):
    """Tensors that a cache has of each layer."""
    return {
        (place, name.lstrip("_")): value
        for place, layer in enumerate(cache.layers)
        for name, value in _members(layer)
        if isinstance(value, torch.Tensor) and value.is_cuda
    }


def _members(layer):
    """And those of its dicts."""
    for name, value in vars(layer).items():
        if isinstance(value, dict):
            yield from ((f"{name}{key}", each) for key, each in value.items())
        else:
            yield name, value
