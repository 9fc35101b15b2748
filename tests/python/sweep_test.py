"""Tables of many questions."""

import itertools
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
import vramfit

pytest.importorskip("pandas")
RUN = {"model": "gpt2-124m", "train": True, "runtime": "vramfit", "precision": "bf16"}
AXES = {"batch": range(1, 4), "seq": [64, 128], "gpu": ["rtx4090", "h200"]}


def test_each_row_is_an_estimate():
    table = vramfit.sweep(**RUN, **AXES, progress=False)
    assert len(table) == 12
    assert list(table.columns[:3]) == ["batch", "seq", "gpu"]
    assert [tuple(row) for row in table[["batch", "seq", "gpu"]].values][:3] == [
        (1, 64, "rtx4090"),
        (1, 64, "h200"),
        (1, 128, "rtx4090"),
    ]
    for row in table.to_dict("records"):
        answer = vramfit.estimate(**RUN, batch=row["batch"], seq=row["seq"], gpu=row["gpu"])
        assert (row["fits"], row["verdict"], row["total"]) == (
            answer.fits,
            answer.verdict,
            answer.total,
        )
        assert row["margin"] == answer.margin
        assert row["overhead"] == answer.card.overhead
        assert row["reserved"] == answer.levels.reserved
        assert row["device_used"] == answer.levels.device_used
        assert {name: row[name] for name in answer.components} == answer.components
        assert row["error"] == ""


def test_a_point_that_cannot_be_says_why():
    table = vramfit.sweep(**RUN, batch=[1, 0], seq=64, gpu="h200", progress=False)
    assert table["verdict"].tolist() == ["FITS", ""]
    assert table["total"].isna().tolist() == [False, True]
    assert "batch: is 0" in table["error"][1]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_of_the_users(kind):
    expected = vramfit.sweep(**RUN, **AXES, progress=False)
    pool = (
        ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(2, get_context("spawn"))
    )
    with pool as executor:
        assert vramfit.sweep(**RUN, **AXES, executor=executor, progress=False).equals(expected)


def test_many_rows_stay_in_order(capsys):
    table = vramfit.sweep(**RUN, batch=range(1, 9), seq=range(8, 8 * 101, 8), gpu="h200")
    assert len(table) == 800
    assert table["seq"][:100].tolist() == list(range(8, 808, 8))
    assert (
        table.groupby("batch")["allocated"].apply(lambda sizes: sizes.is_monotonic_increasing).all()
    )
    assert "sweep" in capsys.readouterr().err


class PreTrainedConfig:
    """As transformers' since 5.0: it can be iterated over."""

    def __iter__(self):
        return iter(["hidden_size"])

    def to_dict(self):
        return {
            "model_type": "gpt2",
            "n_embd": 768,
            "n_layer": 12,
            "n_head": 12,
            "vocab_size": 50257,
            "n_positions": 1024,
        }


class LoraConfig:
    r = 8
    use_dora = True


def test_objects_are_no_axes_and_what_they_cannot_say_is_named():
    run = {"config": PreTrainedConfig(), "lora": LoraConfig(), "train": True, "gpu": "h200"}
    table = vramfit.sweep(**run, batch=[1, 2], seq=64, progress=False)
    assert list(table.columns[:2]) == ["batch", "verdict"]
    assert table["fits"].all()
    assert table.attrs["not_honoured"] == ["use_dora=True: not part of the prediction"]


class TrainingArguments:
    per_device_train_batch_size = 4
    optim = "adamw_torch"


def test_axes_go_before_objects():
    table = vramfit.sweep(
        model="gpt2-124m", args=TrainingArguments(), seq=64, gpu="h200", batch=[1, 16]
    )
    assert table["error"].tolist() == ["", ""]
    assert table["allocated"][0] < table["allocated"][1]


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    run = {**RUN, "seq": 64, "gpu": "h200"}
    table = vramfit.sweep(**run, batch=numpy.arange(1, 4), progress=False)
    assert table["total"].equals(vramfit.sweep(**run, batch=[1, 2, 3], progress=False)["total"])
    assert vramfit.estimate(**run, batch=numpy.int64(3)).total == table["total"][2]
    with pytest.raises(vramfit.BadInput, match="batch: "):
        vramfit.estimate(**run, batch=numpy.arange(3))


def test_bad_axes():
    with pytest.raises(vramfit.BadInput, match="batch: is of type object"):
        vramfit.sweep(**RUN, batch=[1, object()], gpu="h200")
    table = vramfit.sweep(model="gpt2-124m", seq=64, batch=[1], progress=False)
    assert "gpu: missing" in table["error"][0] or table["fits"][0]


@pytest.mark.parametrize(
    "axes",
    [
        {"batch": range(10**9)},
        {"batch": range(10**30)},
        {"batch": itertools.count(1)},
        {"batch": range(1, 10**5), "seq": range(1, 10**5)},
    ],
)
def test_a_table_that_nobody_has_room_for(axes):
    with pytest.raises(vramfit.BadInput, match="in parts"):
        vramfit.sweep(**RUN, **axes, gpu="h200", progress=False)


def test_what_fits_is_what_an_estimate_says():
    run = {"model": "llama2-7b", "precision": "bf16", "seq": 1024, "gpu": "rtx4090"}
    run |= {"train": True, "lora": 16, "checkpoint": "full"}
    for strict in (False, True):
        table = vramfit.sweep(**run, batch=range(10, 17), strict=strict, progress=False)
        answers = [vramfit.estimate(**run, batch=b, strict=strict) for b in range(10, 17)]
        assert table["fits"].tolist() == [answer.fits for answer in answers]
        assert "TIGHT" in set(table["verdict"])
