import pytest
from vramfit_plots import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.gb(13_476_831_232), "13.5"),
        (units.gb(13_476_831_232, 2), "13.48"),
        (units.gb(-523_168_768, 2, signed=True), "\N{MINUS SIGN}0.52"),
        (units.gb(523_168_768, 2, signed=True), "+0.52"),
        (units.gb(-1000, 2, signed=True), "0.00"),
        (units.gb(1000, 2, signed=True), "0.00"),
        (units.mib(24564 * 2**20), "24,564\N{NO-BREAK SPACE}MiB"),
        (units.percent(-0.03737), "\N{MINUS SIGN}3.7\N{NO-BREAK SPACE}%"),
        (units.number(6738415616), "6,738,415,616"),
        (units.batch(0), "OOM"),
        (units.batch(12.0), "12"),
        (units.in_words(["FP32", "FP16", "BF16"]), "FP32, FP16 and BF16"),
        (units.in_words(["FP32"]), "FP32"),
        (units.in_words([]), ""),
    ],
)
def test_figures_are_written_as_in_the_article(text, expected):
    assert text == expected
