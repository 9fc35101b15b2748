"""Plays LitGPT's generation from weights in 4 bits on the stand-in, which quantises otherwise than
transformers does.

usage: play_litgpt.py ASKED.json OUT.jsonl

Asked are `{"id", "config", "quant"}`: a model's config, and nf4 or nf4-dq. As Lightning Fabric's
BitsandbytesPrecision has it (lightning/fabric/plugins/precision/bitsandbytes.py, as LitGPT used it
in 2023-10), every nn.Linear is quantised, the head too, and from fp16, so that bitsandbytes writes
a weight out in fp16 and then in bf16, where several tokens are multiplied by it. LitGPT takes the
logits of all of a prompt. Models' modules are transformers', with the same tensors."""

import torch
import transformers
from plays import every

PROMPT, NEW = 6, 50  # tokens: generate/base.py: "What food do llamas eat?", --max_new_tokens


class _Linear(torch.nn.Module):
    """Of a weight in 4 bits; multiplied by as bitsandbytes 0.41.1 does (autograd/_functions.py:
    matmul_4bit, MatMul4Bit.forward), which writes it out but for a single row."""

    def __init__(self, linear, double):
        import bitsandbytes  # noqa: PLC0415  begins CUDA, which a process that forks must not

        super().__init__()
        self.library = bitsandbytes
        weight = torch.empty(linear.weight.shape, dtype=torch.half, device="cuda")
        self.packed, self.state = bitsandbytes.functional.quantize_4bit(
            weight, quant_type="nf4", compress_statistics=double
        )
        self.bias = None if linear.bias is None else torch.empty_like(linear.bias, device="cuda")

    def forward(self, x):
        if x.numel() == x.shape[-1]:
            return self.library.matmul_4bit(x, self.packed.t(), self.state, bias=self.bias)
        weight = self.library.functional.dequantize_4bit(self.packed, self.state)
        return torch.nn.functional.linear(x, weight.to(x.dtype), self.bias)


def _model(asked):
    config = transformers.AutoConfig.for_model(**asked["config"])
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear):
            made = _Linear(module, asked["quant"] == "nf4-dq")
            model.set_submodule(name, made, strict=True)
    for module in model.modules():  # what is left: tables and norms
        for parts in (module._parameters, module._buffers):
            for name, part in parts.items():
                if part is not None and part.is_meta:
                    whole = torch.empty_like(part, device="cuda")
                    is_weight = isinstance(part, torch.nn.Parameter)
                    parts[name] = torch.nn.Parameter(whole, False) if is_weight else whole
    return model.eval()


def _run(asked):
    model = _model(asked)
    cache = transformers.StaticCache(config=model.config, max_cache_len=PROMPT + NEW)
    ids = torch.zeros((1, PROMPT), dtype=torch.long, device="cuda")
    with torch.no_grad():
        for _ in range(3):  # a step of a cache that is there takes what the one before took
            logits = model(ids, past_key_values=cache, use_cache=True).logits
            ids = logits[:, -1:].argmax(-1)


if __name__ == "__main__":
    every(_run)
