"""Under vLLM: its arguments as keywords, what it counts, the largest of its sizes."""

import pytest
import vramfit

RUN = {"runtime": "vllm", "model": "llama3.1-8b", "gpu": "rtx4090"}


def test_what_it_counts():
    serving = vramfit.estimate(**RUN, max_model_len=8192, gpu_memory_utilization=0.9).serving
    counted = ("weights", "activations", "outside_torch", "graphs")
    left = serving["requested"] - sum(serving[part] for part in counted)
    assert serving["available"] == left
    assert serving["blocks"] * serving["block_size"] == serving["tokens"]
    assert serving["refusal"] is None
    assert serving["command"].startswith("vllm serve llama3.1-8b --max-model-len 8192")


def test_why_it_would_not_start():
    answer = vramfit.estimate(**RUN, max_model_len=131072)
    assert not answer.fits
    assert answer.serving["refusal"].startswith("To serve at least one request")


@pytest.mark.parametrize(
    ("axis", "more"), [("concurrency", {"max_model_len": 8192}), ("max_model_len", {})]
)
def test_the_largest_of_its_sizes(axis, more):
    found = vramfit.largest(axis, **RUN, **more)
    assert found.largest.size > 0
    assert vramfit.estimate(**RUN, **more, **{axis: found.largest.size}).fits


def test_others_have_none():
    assert vramfit.estimate(model="llama3.1-8b", gpu="rtx4090", seq=128).serving is None
