"""Check tests/fixtures/ without PyTorch, by an fp64 forward pass of its own in numpy.

It reads each config.json and the parameters under vramfit's names, and so shows that names and
storage forms (joined q, k, v; joined gate, up; transposed Conv1D) mean what make_fixture.py says:
logits, loss and the greedy continuation must come out to the last fp32 bit, and every gradient
must agree with finite differences, entry by entry for some and along a random direction for all.
Run it with the environment that make_fixture.py describes.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

STEP = 1e-5
ENTRIES = 4  # single entries checked of each gradient, the largest among them


def norm(x, params, name, config):
    eps = config.get("rms_norm_eps", config.get("layer_norm_epsilon"))
    if f"{name}.bias" in params:
        x = x - x.mean(-1, keepdims=True)
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * params[f"{name}.weight"]
    return y + params.get(f"{name}.bias", 0.0)


def linear(x, params, name):
    return x @ params[f"{name}.weight"].T + params.get(f"{name}.bias", 0.0)


def rotate(x, theta):
    """x (B, T, heads, d): pair i with i + d/2, position p turns it by p * theta^(-2i/d)."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[1])[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def norm_heads(x, weight, eps):
    """x (B, T, heads, d), each head by itself."""
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * weight


def attention(qkv, heads, kv_heads, theta, normed):
    """`normed` norms the heads of q and k, if anything does."""
    batch, seq, width = qkv.shape
    dim = width // (heads + 2 * kv_heads)
    qkv = qkv.reshape(batch, seq, heads + 2 * kv_heads, dim)
    q, k, v = np.split(qkv, [heads, heads + kv_heads], axis=2)
    if normed is not None:
        q, k = normed(q, "q"), normed(k, "k")
    if theta is not None:
        q, k = rotate(q, theta), rotate(k, theta)
    # Query head i reads key/value head i // (heads / kv_heads).
    k, v = (np.repeat(part, heads // kv_heads, axis=2) for part in (k, v))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(dim)
    scores = np.where(np.tri(seq, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v).reshape(batch, seq, heads * dim)


def head_norms(params, layer, config):
    if f"{layer}.q_norm.weight" not in params:
        return None
    eps = config["rms_norm_eps"]
    return lambda x, which: norm_heads(x, params[f"{layer}.{which}_norm.weight"], eps)


def activation(x, gated):
    if gated:
        gate, up = np.split(x, 2, axis=-1)
        return gate / (1 + np.exp(-gate)) * up
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def forward(params, config, tokens):
    """Logits (B, T, V)."""
    gpt2 = config["model_type"] == "gpt2"
    layers = config["n_layer" if gpt2 else "num_hidden_layers"]
    heads = config["n_head" if gpt2 else "num_attention_heads"]
    kv_heads = heads if gpt2 else config["num_key_value_heads"]
    x = params["token_embedding.weight"][tokens]
    if gpt2:
        x = x + params["position_embedding.weight"][: tokens.shape[1]]
    for n in range(layers):
        name = f"layers.{n}"
        qkv = linear(norm(x, params, f"{name}.norm1", config), params, f"{name}.qkv")
        normed = head_norms(params, name, config)
        attended = attention(qkv, heads, kv_heads, config.get("rope_theta"), normed)
        x = x + linear(attended, params, f"{name}.out")
        up = linear(norm(x, params, f"{name}.norm2", config), params, f"{name}.up")
        x = x + linear(activation(up, gated=not gpt2), params, f"{name}.down")
    head = params.get("head.weight", params["token_embedding.weight"])
    return norm(x, params, "final_norm", config) @ head.T


def mean_cross_entropy(logits, targets):
    top = logits.max(-1, keepdims=True)
    log_sum = np.log(np.exp(logits - top).sum(-1)) + top[..., 0]
    return (log_sum - np.take_along_axis(logits, targets[..., None], -1)[..., 0]).mean()


def rounds_to(computed, stored):
    """Whether stored is computed rounded once to fp32: what an fp64 reference must be."""
    half_ulp = 0.5 * np.spacing(np.abs(stored)).astype(np.float64)
    return bool(np.all(np.abs(computed - stored) <= half_ulp + 1e-12))


def check_gradients(params, grads, loss_of, rng):
    def difference(name, direction):
        plus = params | {name: params[name] + STEP * direction}
        minus = params | {name: params[name] - STEP * direction}
        return (loss_of(plus) - loss_of(minus)) / (2 * STEP)

    worst = 0.0
    for name, grad in grads.items():
        entries = [int(np.abs(grad).argmax()), *rng.integers(grad.size, size=ENTRIES - 1)]
        directions = [rng.standard_normal(grad.shape)]
        directions += [np.eye(1, grad.size, i).reshape(grad.shape) for i in entries]
        for direction in directions:
            error = abs(difference(name, direction) - (grad * direction).sum())
            worst = max(worst, error / (np.linalg.norm(grad) * np.linalg.norm(direction)))
    return worst


def check_model(folder, rng):
    config = json.loads((folder / "config.json").read_text())
    file = load_file(folder / "reference.safetensors")

    def under(prefix):
        found = {k: v for k, v in file.items() if k.startswith(prefix)}
        return {k[len(prefix) :]: v.astype(np.float64) for k, v in found.items()}

    params, grads = under("param/"), under("grad/")
    assert {k: v.shape for k, v in params.items()} == {k: v.shape for k, v in grads.items()}
    for name, value in params.items():
        plain = float("norm" in name and name.endswith("weight"))
        assert np.abs(value - plain).max() > 0.05, f"{name} is left at its initial value"
    tokens, targets = file["tokens"], file["targets"]

    logits = forward(params, config, tokens)
    loss = mean_cross_entropy(logits, targets)
    assert rounds_to(logits, file["logits"]), "logits"
    assert rounds_to(loss, file["loss"]), "loss"

    sequence = np.concatenate([tokens, file["generated"]], axis=1)
    steps = forward(params, config, sequence[:, :-1])[:, tokens.shape[1] - 1 :]
    assert rounds_to(steps, file["generated_logits"]), "generated_logits"
    assert np.array_equal(steps.argmax(-1), file["generated"]), "generated"

    def loss_of(changed):
        return mean_cross_entropy(forward(changed, config, tokens), targets)

    worst = check_gradients(params, grads, loss_of, rng)
    assert worst < 1e-6, f"a gradient is off by {worst:.1e} of its norm"
    count = sum(value.size for value in params.values())
    print(f"{folder.name}: {count} parameters, loss {loss:.6f}, worst gradient error {worst:.1e}")


def check_optimizers(path):
    file = load_file(path)
    grads = file["grads"].astype(np.float64)
    start = file["param0"].astype(np.float64)

    adamw, m, v = start, 0.0, 0.0
    sgd, heavy, momentum = start, start, 0.0
    for step, grad in enumerate(grads):
        m, v = 0.9 * m + 0.1 * grad, 0.95 * v + 0.05 * grad**2
        unbiased_m, unbiased_v = m / (1 - 0.9 ** (step + 1)), v / (1 - 0.95 ** (step + 1))
        adamw = adamw * (1 - 1e-2 * 0.1) - 1e-2 * unbiased_m / (np.sqrt(unbiased_v) + 1e-8)
        sgd = sgd - 1e-2 * grad
        momentum = 0.9 * momentum + grad
        heavy = heavy - 1e-2 * momentum
        for name, value in (("adamw", adamw), ("sgd", sgd), ("sgd-momentum", heavy)):
            error = np.abs(value - file[name][step]).max()
            assert error < 1e-6, f"{name} is off by {error:.1e} after step {step + 1}"
    print(f"{path.name}: adamw, sgd, sgd-momentum agree with their formulas")


def check_adafactor(path):
    """Shazeer and Stern 2018, algorithms 4 and 5, with torch's clamps in the place of epsilon 1."""
    file = load_file(path)
    eps = np.finfo(np.float64).eps
    names = sorted(key.removeprefix("start/") for key in file if key.startswith("start/"))

    def rms(x):
        return np.sqrt((x**2).mean())

    for name in names:
        value, v, rows, columns = file[f"start/{name}"], 0.0, 0.0, 0.0
        rate = file[f"rate/{name}"][0]
        for t, grad in enumerate(file[f"grads/{name}"], start=1):
            share, square = t**-0.75, grad**2
            alpha = max(2**-10, rms(value)) * min(rate, t**-0.5)
            if grad.ndim > 1:
                value = value * (1 - rate * 0.125)
                rows = (1 - share) * rows + share * square.mean(-1, keepdims=True)
                columns = (1 - share) * columns + share * square.mean(-2, keepdims=True)
                estimate = rows * columns / max(rows.mean(), eps)
            else:
                estimate = v = (1 - share) * v + share * square
            update = grad / np.sqrt(np.maximum(estimate, eps**2))
            value = value - alpha * update / max(1.0, rms(update))
            error = rms(value - file[f"after/{name}"][t - 1]) / rms(value)
            assert error < 1e-13, f"adafactor, {name}, is off by {error:.1e} after step {t}"
    print(f"{path.name}: {', '.join(names)} agree with its formulas")


def main() -> None:
    fixtures = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
    rng = np.random.default_rng(0)
    folders = sorted(path.parent for path in fixtures.glob("*/reference.safetensors"))
    assert len(folders) == 4, "a model's fixture is missing"
    for folder in folders:
        check_model(folder, rng)
    check_optimizers(fixtures / "optimizers.safetensors")
    check_adafactor(fixtures / "adafactor.safetensors")


if __name__ == "__main__":
    main()
