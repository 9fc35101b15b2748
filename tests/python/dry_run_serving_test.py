"""What `vramfit run` says of a vLLM engine, from what its worker wrote down."""

import pytest
from vramfit._dry_run._serving import serving, text

GIB = 1 << 30
TOLD = {
    "version": "0.26.0", "runner": "V2", "card": 80 * GIB, "free_at_start": 79 * GIB,
    "requested": 72 * GIB, "ready": True, "available": 50 * GIB, "needed": 2 * GIB,
    "longest": 8192, "refusal": None,
    "counted": {"weights": 20 * GIB, "activations": GIB, "outside_torch": GIB, "graphs": 0},
    "cache": {"blocks": 100, "block_size": 16, "groups": 1, "tokens": 1600, "concurrency": 25.0,
              "max_model_len": 4096},
    "settings": {"gpu_memory_utilization": 0.9, "max_model_len": 4096, "enforce_eager": True,
                 "max_num_batched_tokens": 2048, "max_num_seqs": 256, "cuda_graphs": "NONE",
                 "tensor_parallel_size": 1},
}  # fmt: skip


def stage(name: str, used: int) -> dict:
    return {"name": name, "device_used": used, "peak_device_used": used}


STAGES = [stage("warm_up", 71 * GIB), stage("serve", 74 * GIB), stage("sample", 75 * GIB)]


def test_no_engine_says_nothing():
    assert serving(None, STAGES, 0, False) is None
    assert serving({"refusal": None}, STAGES, 0, False) is None


def test_what_is_beyond_and_which_utilizations_work():
    told = serving(TOLD, STAGES, 0, False)
    assert told["beyond"] == {"at_rest": -GIB, "serving": 2 * GIB, "sampling": 3 * GIB}
    # 22 GiB that stay, and 2 of one request; the card less what is beyond.
    assert told["utilization"] == {"least": 0.3, "most": 0.962}
    assert told["lacks"] is None
    assert "100 blocks of 16: 1,600 tokens, 25.00 x 4,096" in text(told)


def test_others_on_the_card_leave_less():
    assert serving(TOLD, STAGES, 8 * GIB, False)["utilization"]["most"] == 0.862


def test_where_it_ran_out_nobody_knows_the_most():
    assert serving(TOLD, STAGES, 0, True)["utilization"]["most"] is None


@pytest.mark.parametrize(
    ("changed", "lacks"),
    [({"available": GIB}, GIB), ({"available": -GIB}, 3 * GIB)],
)
def test_a_cache_that_is_refused(changed, lacks):
    told = serving({**TOLD, **changed, "ready": False, "refusal": "no room"}, [], 0, False)
    assert told["lacks"] == lacks
    assert told["beyond"] == {"at_rest": None, "serving": None, "sampling": None}


def test_a_card_that_has_less_free_than_is_asked_for():
    told = {"card": 80 * GIB, "free_at_start": 70 * GIB, "requested": 72 * GIB, "ready": False}
    refused = serving({**told, "refusal": "Free memory"}, [], 0, False)
    assert refused["lacks"] == 2 * GIB
    assert refused["utilization"] == {"least": None, "most": 0.875}
    assert "0.875 is the most" in text(refused)
