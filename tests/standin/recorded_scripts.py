"""Scripts that tests record: python recorded_scripts.py KIND --batch N --seq N. Small, each of
another kind of training."""

import argparse

import torch

VOCABULARY, STEPS = 1000, 6


def mlp(batch: int, seq: int) -> None:
    """A plain loop with Adam, over rows of features."""
    model = torch.nn.Sequential(
        torch.nn.Linear(seq, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10),
    ).cuda()  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        features = torch.randn(64 * batch, seq, device="cuda")
        labels = torch.randint(10, (64 * batch,), device="cuda")
        loss = torch.nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def _gpt(dtype: torch.dtype = torch.float32, **switches: object) -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415  as scripts do

    config = GPT2Config(
        n_layer=2, n_embd=128, n_head=4, n_positions=1024, vocab_size=VOCABULARY, **switches
    )
    return GPT2LMHeadModel(config).to("cuda", dtype)


def _llama(dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415  as scripts do

    config = LlamaConfig(
        num_hidden_layers=2, hidden_size=128, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=352, vocab_size=VOCABULARY,
    )  # fmt: skip
    return LlamaForCausalLM(config).to("cuda", dtype)


def _tokens(batch: int, seq: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (batch, seq), device="cuda")


def _train(model, batch: int, seq: int, micro_batches: int = 1) -> None:
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(parameters)
    model.train()
    for _ in range(STEPS):
        for _ in range(micro_batches):
            tokens = _tokens(batch, seq)
            (model(input_ids=tokens, labels=tokens).loss / micro_batches).backward()
        optimizer.step()
        optimizer.zero_grad()


def gpt(batch: int, seq: int) -> None:
    """transformers' GPT-2 in bf16 with AdamW."""
    _train(_gpt(torch.bfloat16), batch, seq)


def lora(batch: int, seq: int) -> None:
    """PEFT's adapters of a llama."""
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415  as scripts do

    adapted = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    _train(get_peft_model(_llama(torch.bfloat16), adapted), batch, seq)


def checkpointed(batch: int, seq: int) -> None:
    """Activations are computed again in backward."""
    model = _llama(torch.bfloat16)
    model.gradient_checkpointing_enable()
    _train(model, batch, seq)


def amp(batch: int, seq: int) -> None:
    """autocast to fp16, with a scaler."""
    model = _gpt()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(STEPS):
        tokens = _tokens(batch, seq)
        with torch.autocast("cuda", torch.float16):
            loss = model(input_ids=tokens, labels=tokens).loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def accumulated(batch: int, seq: int) -> None:
    """Three micro-batches in a step."""
    _train(_llama(torch.bfloat16), batch, seq, micro_batches=3)


def trainer(batch: int, seq: int) -> None:
    """transformers' own loop."""
    from transformers import Trainer, TrainingArguments  # noqa: PLC0415  as scripts do

    row = {"input_ids": torch.arange(seq), "labels": torch.arange(seq)}
    arguments = TrainingArguments(
        output_dir="out", per_device_train_batch_size=batch, max_steps=STEPS, bf16=True,
        save_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    Trainer(_llama(), arguments, train_dataset=[row] * (batch * STEPS)).train()


def attention(batch: int, seq: int) -> None:
    """Scores of all tokens with all, which are of the length twice."""
    model = torch.nn.MultiheadAttention(64, 4, batch_first=True, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    for _ in range(STEPS):
        states = torch.randn(batch, seq, 64, device="cuda")
        mixed, weights = model(states, states, states)
        (mixed.sum() + weights.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()


KINDS = {
    each.__name__: each
    for each in (mlp, gpt, lora, checkpointed, amp, accumulated, trainer, attention)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    asked = parser.parse_args()
    KINDS[asked.kind](asked.batch, asked.seq)
