"""The figures that the article's own examples give."""

import pytest
from vramfit_plots.article_formulas import Question, will_it_fit


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
