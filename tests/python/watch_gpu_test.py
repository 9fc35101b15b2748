"""Steps of PyTorch on a GPU, watched: the prediction holds allocation by allocation. With PyTorch's
own Python: `python3 -m pytest --confcutdir tests/python tests/python/watch_gpu_test.py`."""

import importlib.util
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import vramfit

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a process that has not begun CUDA can fork
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU that PyTorch sees", allow_module_level=True)

SHAPE = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}
BATCH, SEQ = 2, 512
RUN = {"train": True, "batch": BATCH, "seq": SEQ}


def llama(dtype=torch.bfloat16):
    config = transformers.LlamaConfig(**SHAPE, use_cache=False)
    with torch.device("cuda"):
        return transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)


def adapted(model):
    import peft  # noqa: PLC0415

    lora = peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return peft.get_peft_model(model, lora)


def steps(model, loss_only=False, fused=True):
    """Two steps of a loop, of which what forward gives is gone before backward, or after it.
    fused=None is PyTorch's default, foreach."""
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=fused)
    ids = torch.randint(0, 1000, (BATCH, SEQ), device="cuda")
    for _ in range(2):
        out = model(ids, labels=ids)
        loss = out.loss
        if loss_only:
            del out
        loss.backward()
        loss = out = None
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def from_the_loading_on():
    config = transformers.LlamaConfig(**SHAPE)
    with vramfit.watch(config=config, precision="bf16", **RUN) as watched:
        steps(llama())
    return watched


def of_a_model_that_is_there():
    model = llama(torch.float32)
    with vramfit.watch(model, loss_only=True, **RUN) as watched:
        steps(model, loss_only=True)
    return watched


def of_adapters():
    model = adapted(llama())
    with vramfit.watch(model, **RUN) as watched:
        steps(model)
    return watched


def of_adapters_over_four_bits():
    with tempfile.TemporaryDirectory() as folder:
        llama().save_pretrained(folder)
        torch.cuda.empty_cache()
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            quantization_config=transformers.BitsAndBytesConfig(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_compute_dtype=torch.bfloat16,
            ),
            device_map="cuda",
            dtype=torch.bfloat16,
        )
    model = adapted(model)
    with vramfit.watch(model, **RUN) as watched:
        steps(model)
    return watched


def with_training_arguments():
    kwargs = {"use_reentrant": False}
    model = llama()  # after TrainingArguments it would be without a block of 512 bytes
    with tempfile.TemporaryDirectory() as folder:
        args = transformers.TrainingArguments(
            folder,
            per_device_train_batch_size=BATCH,
            gradient_checkpointing=True,
            gradient_checkpointing_kwargs=kwargs,
            optim="adamw_torch",
        )
    model.gradient_checkpointing_enable(kwargs)
    with vramfit.watch(model, args=args, seq=SEQ) as watched:
        steps(model, loss_only=True, fused=None)
    return watched


def twice():
    of_adapters()
    return of_adapters()


def of_another_batch():
    model = llama()
    with vramfit.watch(model, **{**RUN, "batch": BATCH + 1}) as watched:
        steps(model)
    return watched


def by_a_trainer():
    row = {"input_ids": torch.arange(SEQ), "labels": torch.arange(SEQ)}
    model = llama()
    with tempfile.TemporaryDirectory() as folder:
        args = transformers.TrainingArguments(
            folder, per_device_train_batch_size=BATCH, max_steps=2, save_strategy="no", report_to=[]
        )
        with vramfit.watch(model, args=args, seq=SEQ) as watched:
            transformers.Trainer(model=model, args=args, train_dataset=[row] * 2 * BATCH).train()
    return watched


def out_of_memory():
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(2**30 / total)
    watched = vramfit.watch(llama(), **RUN)
    with pytest.raises(torch.OutOfMemoryError), watched:
        steps(llama())
    return watched


def _outcome(scenario):
    watched = scenario()
    levels = watched.answer.levels
    return {
        "agrees": watched.agrees,
        "says": str(watched),
        "real": (watched.allocated, watched.reserved),
        "predicted": (levels.allocated, levels.reserved),
        "case": watched.case() if watched.agrees else None,
    }


def alone(scenario):
    """In a process in which nothing ran before."""
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as child:
        return child.submit(_outcome, scenario).result()


@pytest.mark.parametrize(
    "scenario",
    [from_the_loading_on, of_a_model_that_is_there, of_adapters, with_training_arguments],
)
def test_every_allocation_is_as_predicted(scenario):
    if scenario is of_adapters and importlib.util.find_spec("peft") is None:
        pytest.skip("needs peft")
    outcome = alone(scenario)
    assert outcome["agrees"], outcome["says"]
    assert outcome["real"] == outcome["predicted"], outcome["says"]


def test_a_case_of_it_asks_the_same():
    outcome = alone(from_the_loading_on)
    case = outcome["case"]
    assert (case["measured"]["allocated"], case["measured"]["reserved"]) == outcome["real"]
    again = vramfit.estimate(**case["question"]).levels
    assert (again.allocated, again.reserved) == outcome["predicted"]
    assert case["gpu"]["name"] == torch.cuda.get_device_name(0)
    assert 0 < case["beside"][0] <= case["beside"][1]


def test_adapters_over_four_bits():
    if importlib.util.find_spec("bitsandbytes") is None:
        pytest.skip("needs bitsandbytes")
    outcome = alone(of_adapters_over_four_bits)
    assert outcome["real"][0] == outcome["predicted"][0], outcome["says"]


def test_a_second_one_begins_anew():
    outcome = alone(twice)
    assert outcome["real"][0] == outcome["predicted"][0], outcome["says"]


def test_another_batch_is_told_apart():
    outcome = alone(of_another_batch)
    assert not outcome["agrees"]
    assert "DIFFER: " in outcome["says"]


def test_a_trainers_own_steps():
    outcome = alone(by_a_trainer)
    # Norms of gradients and counts of tokens are its own: a few KB.
    assert outcome["real"] == pytest.approx(outcome["predicted"], rel=1e-4), outcome["says"]


def test_a_run_out_of_memory_is_shown():
    outcome = alone(out_of_memory)
    assert not outcome["agrees"]
    assert "the recording ran out of memory; the prediction fits" in outcome["says"]
