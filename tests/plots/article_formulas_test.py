"""The figures that the article's own examples give."""

import pytest
from vramfit_plots import article_formulas
from vramfit_plots.article_formulas import Question, find_max_batch_size, will_it_fit


def test_training_7b():
    answer = will_it_fit(Question(7e9, batch=4, seq=512))
    assert answer.fixed == 112e9
    assert answer.activations == pytest.approx(6.44e9, rel=1e-3)
    assert answer.total == answer.fixed + answer.activations
    assert will_it_fit(Question(7e9, optimizer="sgd")).optimizer == 28e9


def test_inference_keeps_a_cache_and_nothing_to_train():
    answer = will_it_fit(Question(7e9, training=False, batch=8, seq=2048))
    assert answer.kv_cache == 524_288 * 8 * 2048
    assert answer.total == 14e9 + answer.kv_cache


@pytest.mark.parametrize(("vram_gb", "largest"), [(112, 0), (80, 0), (120, 4)])
def test_largest_batch(vram_gb, largest):
    assert find_max_batch_size(Question(7e9, seq=512), vram_gb) == largest


def test_a_row_asks_with_its_models_true_shape(inputs):
    name = "Training/gpt2-1.5b/bf16/sgd-momentum/batch:8/seq:1024"
    model = inputs.models["gpt2-1.5b"]
    expected = model.parameters * (2 + 2 + 4) + 12 * 1600 * 48 * 1024 * 8 * 2
    assert article_formulas.total_of_row(name, inputs.models) == expected
    assert article_formulas.total_of_row(name.replace("gpt2", "gpt9"), inputs.models) is None
