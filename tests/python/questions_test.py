"""Through Python the answer is the command's."""

import os
import subprocess
from random import Random

import built
import pytest
import vramfit
from asked import question
from vramfit._questions import in_python_words

# A run of all: VRAMFIT_QUESTIONS=500
SEEDS = range(int(os.environ.get("VRAMFIT_QUESTIONS", "60")))


def keywords(arguments: list[str]) -> dict[str, str | bool]:
    """ "--batch 4 --train" as {"batch": "4", "train": True}."""
    given: dict[str, str | bool] = {}
    name = ""
    for text in arguments:
        if text.startswith("--"):
            name = text.removeprefix("--").replace("-", "_")
            given[name] = True
        else:
            given[name] = text
    return given


def fit(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [built.program("fit"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def told(ended: subprocess.CompletedProcess[str]) -> str:
    return ended.stderr.removeprefix("vramfit: error: ").removesuffix("\n")


@pytest.mark.parametrize("seed", SEEDS)
def test_an_answer_is_the_commands(seed):
    arguments = question(Random(seed)).arguments()
    printed = fit(*arguments, "--json")
    try:
        answer = vramfit.estimate(**keywords(arguments))
    except vramfit.BadInput as error:
        assert printed.returncode == 2
        assert in_python_words(told(printed)) == str(error)
        return
    assert answer.to_json() == printed.stdout
    assert answer.fits == (printed.returncode == 0)


@pytest.mark.parametrize(
    "given",
    [
        {"model": "no-such-model"},
        {"model": "llama2-7b", "batch": 0},
        {"model": "llama2-7b", "lora": 4},
        {"model": "llama2-7b", "train": True, "optim": "nonsense"},
        {"model": "llama2-7b", "train": True, "deepspeed": "zero3.json"},
        {"model": "llama2-7b", "no_such_flag": 1},
        {"params": "7B", "model": "llama2-7b"},
        {},
    ],
)
def test_bad_input_is_the_commands_line(given):
    arguments = [
        f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not True
    ]
    arguments += [f"--{name}" for name, value in given.items() if value is True]
    with pytest.raises(vramfit.BadInput) as caught:
        vramfit.estimate(**given)
    assert in_python_words(told(fit(*arguments))) == str(caught.value)


@pytest.mark.parametrize("size", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused_by_its_name(size):
    with pytest.raises(vramfit.BadInput, match=r"^vram: is (nan|inf);"):
        vramfit.estimate(model="gpt2-124m", vram=size)
