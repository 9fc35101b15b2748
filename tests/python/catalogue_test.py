"""What there is data on, and how an answer shows itself."""

import pytest
import vramfit


def test_models_and_cards_are_what_keywords_take():
    assert {"llama2-7b", "qwen2.5-7b", "mixtral-8x7b"} <= {*vramfit.models()}
    cards = vramfit.cards()
    assert [card.vram for card in cards] == sorted(card.vram for card in cards)
    assert {card.name: card.title for card in cards}["rtx4090"] == "NVIDIA GeForce RTX 4090"
    platforms = {card.name: card.platform for card in cards}
    assert platforms["rtx4090"] == "CUDA"
    assert platforms["mac-32gb"] == "Metal"
    assert platforms["rx7900xtx"] == "ROCm"
    assert {"models", "cards", "estimate", "sweep"} <= {*dir(vramfit)}


@pytest.mark.parametrize("gpu", ["mac-32gb", "rx7900xtx", "rtx4090,rtx3060-12gb"])
def test_llama_cpp_answers_of_cards_without_cuda_and_of_several_kinds(gpu):
    answer = vramfit.estimate(model="llama3-8b", runtime="llama.cpp", ctx=8192, gpu=gpu)
    assert answer.fits
    assert answer.cards[0].vram > 0
    with pytest.raises(vramfit.BadInput, match="gpu"):
        vramfit.estimate(model="llama3-8b", gpu=gpu)


def test_an_answer_shows_its_verdict_and_total():
    answer = vramfit.estimate(model="qwen3-4b", gpu="4090")
    assert repr(answer) == f"<Answer: FITS, {answer.total / 1e9:.2f} GB of 25.76 GB on rtx4090>"
    assert answer.capacity == answer.to_dict()["capacity"]
    assert {*answer.to_dict()} <= {*dir(answer)}
    with pytest.raises(AttributeError, match="an answer has no 'totl'"):
        _ = answer.totl
    several = vramfit.estimate(model="gpt2-124m")
    assert repr(several).startswith("<Answer: fits on ")
    with pytest.raises(AttributeError, match="cards"):
        _ = several.fits


def test_a_search_shows_what_it_found():
    found = vramfit.max_batch(model="gpt2-124m", train=True, gpu="rtx4090")
    assert repr(found).endswith(f"on rtx4090, largest {found.largest.size}>")


def test_refusals_are_spelt_as_keywords_are():
    with pytest.raises(vramfit.BadInput, match=r"^lora_targets: only with lora$"):
        vramfit.estimate(model="llama2-7b", train=True, lora_targets="q_proj", gpu="rtx4090")
    with pytest.raises(vramfit.BadInput, match=r"vramfit.models\(\)"):
        vramfit.estimate(model="colossus", gpu="rtx4090")


def test_the_longest_sample_is_asked_about(tmp_path):
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"input_ids": [1, 2, 3]}\n{"length": 700}\n12\n')
    run = {"model": "gpt2-124m", "train": True, "gpu": "rtx4090"}
    longest = vramfit.estimate(**run, lengths=samples)
    assert longest.total == vramfit.estimate(**run, seq=700).total
    assert "the longest of 3 samples of --lengths has 700 tokens" in longest.notes
    assert vramfit.estimate(**run, lengths=samples, seq=512).asked["seq"] == 512
    samples.write_text('{"text": "hello"}\n')
    with pytest.raises(vramfit.BadInput, match="sample 1 has no number of tokens"):
        vramfit.estimate(**run, lengths=samples)
