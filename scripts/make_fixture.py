"""Generate the reference fixtures in tests/fixtures/ from transformers and PyTorch, on the CPU.

Made with Python 3.11, torch 2.15.0, transformers 5.23.0, safetensors 0.8.0 and numpy 2.4.6
(pinned in requirements-fixture.txt). From the repository root:

    python3 -m venv build/fixture-venv
    build/fixture-venv/bin/pip install -r scripts/requirements-fixture.txt
    build/fixture-venv/bin/python scripts/make_fixture.py
    build/fixture-venv/bin/python scripts/check_fixture.py

Every number comes from a fixed seed: with these versions on the same CPU type a second run writes
the same bytes. Another CPU may round a last bit differently.

Per model it reads <name>/config.json, in the Hugging Face form of published files (rope_theta and
torch_dtype, where transformers 5 itself writes rope_parameters and dtype; it reads both), and
writes <name>/reference.safetensors:

    param/<name>      fp32: the parameters, under vramfit's names and in vramfit's storage forms
    grad/<name>       d loss / d param, same shapes
    tokens, targets   int32 (B, T); targets are drawn independently, nothing is shifted
    logits            (B, T, V)
    loss              (1): mean cross entropy over all B*T tokens
    generated         int32 (B, G): greedy continuation of the T prompt tokens
    generated_logits  (B, G, V): the logits whose argmax generated is

All that is not a parameter is computed in fp64 from the fp32 parameters and then rounded to fp32.

Of tiny-llama and tiny-gpt2 it also writes <name>/adapters.safetensors: PEFT's LoRA of rank 3 and
alpha 5 beside every linear of the blocks, for the same parameters, tokens and targets:

    param/<name>, grad/<name>   of adapters, under vramfit's names: those of q, k and v joined, and
                                of gate and up
    loss                        (1)

optimizers.safetensors holds torch.optim's own fp32 arithmetic: param0 (N), grads (3, N) and, as
adamw, sgd and sgd-momentum (3, N), the parameter after each of three steps.

adafactor.safetensors holds torch.optim.Adafactor's in fp64, of parameters on each side of what it
clips and of what it takes for too small: start/<name>, grads/<name> (4, ...), rate/<name> (1),
after/<name> (4, ...), and its states after the last step, row_var/<name>, col_var/<name> or
variance/<name>. Its settings are powers of two, as ours are fp32.
"""

from pathlib import Path

import torch
from layouts import Lookup, vramfit_layout
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy
from torch.overrides import TorchFunctionMode
from transformers import AutoConfig, AutoModelForCausalLM

BATCH, SEQ, GENERATE = 2, 12, 6

# A gap of the two best tokens far above fp32 rounding: no right fp32 program picks another.
MIN_GREEDY_MARGIN = 1e-2

SEEDS = {
    "tiny-llama": 1,
    "tiny-gpt2": 2,
    "tiny-qwen2": 3,
    "optimizers": 4,
    "tiny-qwen3": 5,
    "adafactor": 6,
    "adapters": 7,
}


class Fp64Throughout(TorchFunctionMode):
    """Turns each cast to fp32 into one to fp64.

    Llama's code narrows to fp32 inside RMSNorm, RoPE and softmax whatever the model's dtype is, and
    would leave a "fp64" reference with fp32 rounding in it.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if value is torch.float32 else value

        kwargs = {key: widen(value) for key, value in (kwargs or {}).items()}
        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*(widen(value) for value in args), **kwargs)


def fill_parameters(model: torch.nn.Module, generator: torch.Generator) -> None:
    """Values that fp32 holds exactly; no bias is 0, no norm weight 1, attention is not flat."""
    with torch.no_grad():
        for _, param in sorted(model.named_parameters()):
            is_vector = param.dim() == 1
            noise = torch.randn(param.shape, generator=generator, dtype=torch.float64)
            # A vector that starts at ones is a norm's weight.
            center = 1.0 if is_vector and bool((param == 1).all()) else 0.0
            value = center + (0.1 if is_vector else 0.2) * noise
            param.copy_(value.to(torch.float32).to(torch.float64))


def greedy(model: torch.nn.Module, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (B, G) and their logits (B, G, V), by a full forward for each: no cache to trust."""
    sequence, steps = tokens, []
    with torch.no_grad():
        for _ in range(GENERATE):
            last = model(input_ids=sequence, use_cache=False).logits[:, -1]
            best = last.topk(2, dim=-1).values
            margin = (best[:, 0] - best[:, 1]).min().item()
            if margin < MIN_GREEDY_MARGIN:
                raise SystemExit(
                    f"greedy margin {margin:.1e} is too close to a tie: change the seed"
                )
            steps.append(last)
            sequence = torch.cat([sequence, last.argmax(dim=-1, keepdim=True)], dim=1)
    return sequence[:, tokens.shape[1] :], torch.stack(steps, dim=1)


def stored(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(torch.float32).contiguous()


def stored_gradient(grad: torch.Tensor) -> torch.Tensor:
    # Noise for an exact 0 (such as gpt2's key bias, which softmax cancels) differs between CPUs.
    return stored(torch.where(grad.abs() < 1e-15, 0.0, grad))


def make_model(folder: Path) -> None:
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    generator = torch.Generator().manual_seed(SEEDS[folder.name])

    with Fp64Throughout():  # RoPE's frequencies are computed in here
        model = AutoModelForCausalLM.from_config(
            config, dtype=torch.float64, attn_implementation="eager"
        ).eval()
    fill_parameters(model, generator)
    shape = (BATCH, SEQ)
    tokens = torch.randint(0, config.vocab_size, shape, generator=generator)
    targets = torch.randint(0, config.vocab_size, shape, generator=generator)

    with Fp64Throughout():
        logits = model(input_ids=tokens, use_cache=False).logits
        if logits.dtype != torch.float64:
            raise SystemExit(f"logits are {logits.dtype}, not fp64")
        loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        generated, generated_logits = greedy(model, tokens)

    weights = dict(model.named_parameters())
    params = vramfit_layout(config, weights.__getitem__)
    grads = vramfit_layout(config, lambda name: weights[name].grad)
    if sum(p.numel() for p in params.values()) != sum(p.numel() for p in weights.values()):
        raise SystemExit(f"{folder.name}: a parameter is missing from the layout")

    tensors = {f"param/{name}": stored(value) for name, value in params.items()}
    tensors |= {f"grad/{name}": stored_gradient(value) for name, value in grads.items()}
    tensors |= {
        "tokens": tokens.to(torch.int32),
        "targets": targets.to(torch.int32),
        "logits": stored(logits),
        "loss": stored(loss.reshape(1)),
        "generated": generated.to(torch.int32).contiguous(),
        "generated_logits": stored(generated_logits),
    }
    save_file(tensors, folder / "reference.safetensors")


def adapter_layout(model_type: str, get: Lookup, layers: int) -> dict[str, torch.Tensor]:
    """vramfit's names from PEFT's; `get` takes a module's name and "A" or "B"."""
    if model_type == "gpt2":
        block = "transformer.h"
        parts = {"qkv": ["attn.c_attn"], "out": ["attn.c_proj"]}
        parts |= {"up": ["mlp.c_fc"], "down": ["mlp.c_proj"]}
    else:
        block = "model.layers"
        parts = {"qkv": [f"self_attn.{p}_proj" for p in "qkv"], "out": ["self_attn.o_proj"]}
        parts |= {"up": ["mlp.gate_proj", "mlp.up_proj"], "down": ["mlp.down_proj"]}
    return {
        f"layers.{n}.{name}.lora_{half.lower()}": torch.cat(
            [get(f"{block}.{n}.{source}", half) for source in sources]
        )
        for n in range(layers)
        for name, sources in parts.items()
        for half in "AB"
    }


def make_adapters(folder: Path) -> None:
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    reference = load_file(folder / "reference.safetensors")
    with Fp64Throughout():
        model = AutoModelForCausalLM.from_config(
            config, dtype=torch.float64, attn_implementation="eager"
        ).eval()
    fill_parameters(model, torch.Generator().manual_seed(SEEDS[folder.name]))
    adapters = LoraConfig(
        r=3, lora_alpha=5, target_modules="all-linear", fan_in_fan_out=config.model_type == "gpt2"
    )
    peft = get_peft_model(model, adapters, autocast_adapter_dtype=False)
    generator = torch.Generator().manual_seed(SEEDS["adapters"])
    trained = {name: p for name, p in peft.named_parameters() if p.requires_grad}
    with torch.no_grad():
        for _, param in sorted(trained.items()):
            noise = torch.randn(param.shape, generator=generator, dtype=torch.float64)
            param.copy_((0.2 * noise).to(torch.float32).to(torch.float64))
    with Fp64Throughout():
        logits = peft(input_ids=reference["tokens"].long(), use_cache=False).logits
        loss = cross_entropy(logits.flatten(0, 1), reference["targets"].long().flatten())
        loss.backward()

    def of(module: str, half: str) -> torch.Tensor:
        return trained[f"base_model.model.{module}.lora_{half}.default.weight"]

    layers = config.num_hidden_layers
    params = adapter_layout(config.model_type, of, layers)
    grads = adapter_layout(config.model_type, lambda module, half: of(module, half).grad, layers)
    if sum(p.numel() for p in params.values()) != sum(p.numel() for p in trained.values()):
        raise SystemExit(f"{folder.name}: an adapter is missing from the layout")
    tensors = {f"param/{name}": stored(value) for name, value in params.items()}
    tensors |= {f"grad/{name}": stored_gradient(value) for name, value in grads.items()}
    tensors["loss"] = stored(loss.reshape(1))
    save_file(tensors, folder / "adapters.safetensors")


def make_optimizers(path: Path, count: int = 97, steps: int = 3) -> None:
    generator = torch.Generator().manual_seed(SEEDS[path.stem])
    param0 = torch.randn(count, generator=generator)
    # From far below AdamW's eps to far above it, so that eps in the wrong place shows.
    scale = torch.logspace(-10, 1, count)
    grads = torch.randn(steps, count, generator=generator) * scale
    optimizers = {
        "adamw": lambda p: torch.optim.AdamW(
            [p], lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, foreach=False
        ),
        "sgd": lambda p: torch.optim.SGD([p], lr=1e-2, foreach=False),
        "sgd-momentum": lambda p: torch.optim.SGD([p], lr=1e-2, momentum=0.9, foreach=False),
    }
    tensors = {"param0": param0, "grads": grads}
    for name, build in optimizers.items():
        param = torch.nn.Parameter(param0.clone())
        optimizer = build(param)
        history = []
        for grad in grads:
            param.grad = grad.clone()
            optimizer.step()
            history.append(param.detach().clone())
        tensors[name] = torch.stack(history)
    save_file(tensors, path)


def make_adafactor(path: Path, steps: int = 4) -> None:
    generator = torch.Generator().manual_seed(SEEDS[path.stem])

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    # Rows and columns differ by orders; the third gradient is the largest, and clipped.
    growth = torch.tensor([1.0, 0.5, 30.0, 2.0], dtype=torch.float64)
    cases = {
        "matrix": (random(5, 7), 1.0, 2**-7),
        "vector": (random(9), 1.0, 1.0),  # its steps are of 1 / sqrt(t)
        "small": (1e-5 * random(4, 6), 1.0, 2**-7),  # its RMS counts as eps[1]
        "faint": (random(3, 4), 1e-9, 2**-7),  # squares of gradients below eps[0]
        "fainter": (random(3, 4), 1e-17, 2**-7),  # gradients themselves
    }
    tensors = {}
    for name, (start, size, rate) in cases.items():
        uneven = torch.logspace(-3, 0, start.shape[0], dtype=torch.float64)
        if start.dim() > 1:
            uneven = uneven[:, None] * torch.logspace(0, -2, start.shape[1], dtype=torch.float64)
        grads = torch.stack(
            [size * growth[i] * random(*start.shape) * uneven for i in range(steps)]
        )
        param = torch.nn.Parameter(start.clone())
        decay = 0.125 if start.dim() > 1 else 0.0
        optimizer = torch.optim.Adafactor(
            [param],
            lr=rate,
            beta2_decay=-0.75,
            eps=(None, 2**-10),
            weight_decay=decay,
            foreach=False,
        )
        history = []
        for grad in grads:
            param.grad = grad.clone()
            optimizer.step()
            history.append(param.detach().clone())
        tensors |= {f"start/{name}": start, f"grads/{name}": grads}
        tensors[f"rate/{name}"] = torch.tensor([rate], dtype=torch.float64)
        tensors[f"after/{name}"] = torch.stack(history)
        for state, value in optimizer.state[param].items():
            if state != "step":
                tensors[f"{state}/{name}"] = value
    save_file(tensors, path)


def main() -> None:
    fixtures = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
    torch.set_num_threads(1)  # the order of sums, hence the last bits, must not vary
    torch.use_deterministic_algorithms(True)
    for config in sorted(fixtures.glob("*/config.json")):
        make_model(config.parent)
    for name in ("tiny-llama", "tiny-gpt2"):
        make_adapters(fixtures / name)
    make_optimizers(fixtures / "optimizers.safetensors")
    make_adafactor(fixtures / "adafactor.safetensors")
    for path in sorted(fixtures.rglob("*.safetensors")):
        print(f"{path.relative_to(fixtures)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
