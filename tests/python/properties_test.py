"""What holds of every answer, and that no keyword brings the interpreter down."""

import string

import pytest
import vramfit

hypothesis = pytest.importorskip("hypothesis")
given, settings, strategies = hypothesis.given, hypothesis.settings, hypothesis.strategies

MODELS = strategies.sampled_from(["gpt2-124m", "qwen2-0.5b", "tinyllama-1.1b", "pythia-1b"])
SIZES = strategies.integers(1, 32)
SEQS = strategies.integers(1, 512)
COMMON = settings(max_examples=40, deadline=None)


@COMMON
@given(MODELS, SIZES, SEQS, strategies.booleans())
def test_parts_are_the_whole(model, batch, seq, train):
    answer = vramfit.estimate(model=model, batch=batch, seq=seq, train=train, gpu="rtx3090")
    assert sum(answer.components.values()) == answer.levels.allocated
    assert (
        answer.levels.allocated
        <= answer.levels.reserved
        <= answer.levels.device_used
        <= answer.total
    )
    assert answer.margin == answer.card.vram - answer.total
    assert max(stage.peak for stage in answer.stages) == answer.levels.allocated
    tight = answer.card.uncertainty.total
    assert answer.verdict == (
        "TIGHT" if abs(answer.margin) <= tight else "FITS" if answer.fits else "OOM"
    )


@COMMON
@given(strategies.sampled_from(["gpt2-124m", "qwen2-0.5b"]), SIZES, SEQS, strategies.booleans())
def test_more_takes_no_less(model, batch, seq, train):
    def allocated(**sizes):
        answer = vramfit.estimate(model=model, train=train, runtime="vramfit", gpu="h200", **sizes)
        return answer.levels.allocated

    assert allocated(batch=batch, seq=seq) <= allocated(batch=batch + 1, seq=seq)
    assert allocated(batch=batch, seq=seq) <= allocated(batch=batch, seq=seq + 1)


@settings(max_examples=10, deadline=None)
@given(MODELS, strategies.integers(4, 48))
def test_the_largest_batch_fits_and_the_next_does_not(model, gigabytes):
    run = {
        "model": model,
        "seq": 256,
        "vram": f"{gigabytes}GB",
        "train": True,
        "runtime": "vramfit",
    }
    if model == "pythia-1b":
        del run["runtime"]
    largest = vramfit.max_batch(**run).largest
    if 0 < largest.size < 1024:
        assert vramfit.estimate(**run, batch=largest.size).fits
        assert not vramfit.estimate(**run, batch=largest.size + 1).fits


NAMES = strategies.one_of(
    strategies.sampled_from(
        [
            *sorted(vramfit._keywords.OBJECTS),
            "params",
            "batch",
            "seq",
            "train",
            "gpu",
            "vram",
            "headroom",
            "lora_targets",
            "quant",
            "precision",
            "optimizer",
            "runtime",
            "generate",
            "strategy",
            "gpus",
            "max_batch",
            "max_seq",
            "advise",
            "json",
            "help",
            "version",
            "list",
            "verify",
            "snapshot",
            "fsdp",
            "gradient_checkpointing_kwargs",
            "checkpoint",
        ]
    ),
    strategies.text(string.printable, min_size=1, max_size=12),
    strategies.text(max_size=4),
)
VALUES = strategies.recursive(
    strategies.one_of(
        strategies.none(),
        strategies.booleans(),
        strategies.integers(),
        strategies.floats(),
        strategies.text(max_size=12),
        strategies.binary(max_size=4),
        strategies.builds(object),
        strategies.sampled_from(
            ["bf16", "fp32", "1GB", "gpt2-124m", "h200", "--train", "q_proj,v_proj", "-1"]
        ),
    ),
    lambda inner: strategies.one_of(
        strategies.lists(inner, max_size=3),
        strategies.dictionaries(strategies.text(max_size=4), inner, max_size=3),
        strategies.sets(strategies.text(max_size=3), max_size=2),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(strategies.dictionaries(NAMES, VALUES, max_size=5), strategies.booleans())
def test_no_keyword_brings_the_interpreter_down(keywords, named):
    if named:
        keywords = {"model": "gpt2-124m", "gpu": "h200", **keywords}
    try:
        answer = vramfit.estimate(**keywords)
    except vramfit.BadInput as error:
        assert len(str(error).splitlines()) <= 1
    else:
        assert all(len(line.splitlines()) == 1 for line in answer.not_honoured)
