"""vramfit run --advise, with scripts that leave what a watched one would: no torch is needed."""

import json

import pytest
from dry_runs import GB, OUT_OF_MEMORY, answer_of, took

# What a script with these changes takes: GB reserved by change, beyond which memory runs out.
_SCRIPT = """
changes, card = told["changes"], told["facts"]["total"]
takes = json.loads({takes!r})
reserved = takes["as it is"] - sum(takes.get(change, 0) for change in changes)
took = json.loads((settings.parent / "0.json").read_text())
took["changes"] = {{
    name: {{"made": {{f"line({{name}})": 2}} if name in takes else {{}}, "lacks": {lacks!r}}}
    for name in changes
}}
ran_out = reserved * 10**9 > card
if ran_out:
    took.update(out_of_memory=[{out_of_memory!r}], ran_out=True)
else:
    most = dict(peak=reserved, peak_reserved=reserved, peak_device_used=reserved + 1)
    took["stages"][-1]["devices"][0].update({{name: size * 10**9 for name, size in most.items()}})
(settings.parent / "0.json").write_text(json.dumps(took))
{fails}
sys.exit(ran_out)
"""


def script(takes, lacks=None, fails=""):
    return _SCRIPT.format(
        takes=json.dumps(takes), lacks=lacks, fails=fails, out_of_memory=OUT_OF_MEMORY
    )


def held(**components):
    """By whom, in GB."""
    return [
        [
            {
                "component": name,
                "line": "",
                "script": "",
                "in_backward": False,
                "bytes": size * GB,
                "blocks": 1,
            }
            for name, size in components.items()
        ]
    ]


@pytest.fixture
def advise(run):
    def advise(*flags, holders=None, **more):
        return run("--advise", *flags, took=[took(holders=holders)], end=script(**more))

    return advise


OF_ACTIVATIONS = held(parameters=10, activations=30)
OF_ALL = held(parameters=10, activations=20, optimizer_state=6, gradients=4)


def ways(answer):
    return [(way["changes"], way["verdict"]) for way in answer["advice"]["ways"]]


def test_what_fits_is_left_as_it_is(advise):
    ran = advise(takes={"as it is": 10}, holders=OF_ALL)
    assert ran.returncode == 0
    assert "vramfit: tries" not in ran.stderr
    assert ran.stdout.endswith("It fits as it is: nothing has to be changed.\n")


def test_what_was_not_asked_for_is_null(run):
    assert answer_of(run("--json", "-", took=[took()]))["advice"] is None


def test_each_change_that_lowers_what_dominates_the_cheapest_first(advise):
    takes = {"as it is": 40, "checkpointing": 30, "micro_batch": 20, "lora": 35}
    ran = advise("--json", "-", takes=takes, holders=OF_ACTIVATIONS)
    answer = answer_of(ran)
    assert ran.returncode == 1
    assert (answer["verdict"], answer["advice"]["total_as_it_is"]) == ("OOM", 41_644_939_776)
    assert ways(answer) == [(["micro_batch"], "FITS"), (["checkpointing"], "FITS")]
    first = answer["advice"]["ways"][0]
    assert (first["code"], first["made"]) == (["line(micro_batch)"], {"micro_batch": 2})
    assert first["total"] - answer["advice"]["ways"][1]["total"] == 10 * GB


def test_what_is_not_enough_alone_is_tried_with_others(advise):
    takes = {"as it is": 40, "micro_batch": 6, "checkpointing": 8, "adamw_8bit": 4, "lora": 2}
    answer = answer_of(advise("--json", "-", takes=takes, holders=OF_ALL))
    assert ways(answer)[0] == (["adamw_8bit", "micro_batch", "checkpointing"], "FITS")
    assert {verdict for changes, verdict in ways(answer) if len(changes) < 3} == {"OOM"}


def test_what_turns_out_to_be_needless_is_left_out_again(advise):
    takes = {"as it is": 40, "adamw_8bit": 12, "micro_batch": 2, "checkpointing": 7}
    ran = advise("--json", "-", takes=takes, holders=OF_ALL)
    assert "half the micro-batch, twice the accumulation, activation" in ran.stderr
    assert ways(answer_of(ran))[0] == (["adamw_8bit", "checkpointing"], "FITS")
    assert max(len(changes) for changes, _ in ways(answer_of(ran))) == 2


def test_nothing_is_enough(advise):
    ran = advise(takes={"as it is": 90, "checkpointing": 8}, holders=OF_ACTIVATIONS)
    words = " ".join(ran.stdout.split())
    assert (
        "As it is it takes 91.64 GB. Nothing that was tried makes it surely fit: with activation "
        "checkpointing it still takes 83.64 GB" in words
    )
    assert "twice the accumulation: not applicable: no TrainingArguments, and no" in words
    assert max(map(len, ran.stdout.splitlines())) <= 100


def test_what_takes_no_less_is_not_shown_as_help(advise):
    takes = {"as it is": 40, "checkpointing": 0, "micro_batch": 20}
    answer = answer_of(advise("--json", "-", takes=takes, holders=OF_ACTIVATIONS))
    assert ways(answer) == [(["micro_batch"], "FITS")]
    (left,) = answer["advice"]["left_out"]
    assert (left["changes"], left["why"]) == (["checkpointing"], "it takes no less")


def test_a_package_that_is_lacking(advise):
    takes = {"as it is": 40, "checkpointing": 30}
    answer = answer_of(advise("--json", "-", takes=takes, holders=OF_ACTIVATIONS, lacks="peft"))
    assert ways(answer) == []
    assert {left["why"] for left in answer["advice"]["left_out"]} == {
        "not applicable: peft is not installed"
    }


@pytest.mark.parametrize(
    ("when", "label"), [("changes", "activation checkpointing"), ("card > 10**11", "as it is")]
)
def test_a_trial_that_fails(advise, when, label):
    fails = f"if {when}: (settings.parent / '0.json').unlink(); sys.exit('its last words')"
    takes = {"as it is": 40, "checkpointing": 30}
    answer = answer_of(advise("--json", "-", takes=takes, holders=OF_ACTIVATIONS, fails=fails))
    assert ways(answer) == []
    left = answer["advice"]["left_out"][-1]
    assert (left["label"], left["why"]) == (label, "the script fails: its last words")


def test_more_than_a_card_with_room_has(advise):
    answer = answer_of(advise("--json", "-", takes={"as it is": 400}, holders=OF_ALL))
    assert (answer["advice"]["total_as_it_is"], ways(answer)) == (None, [])
    assert answer["advice"]["left_out"][0]["why"].startswith("it takes more than")


def test_nobody_knows_what_dominates(advise):
    takes = {"as it is": 40, "lora": 30}
    answer = answer_of(advise("--json", "-", takes=takes))
    assert ways(answer) == [(["lora"], "FITS")]
    assert len(answer["advice"]["left_out"]) == 7


def test_an_interruption_ends_it(advise):
    # A shell's job in the background is to ignore it.
    heeds = "__import__('signal').signal(2, __import__('signal').SIG_DFL)"
    ran = advise(takes={"as it is": 40}, fails=f"if changes: {heeds}; os.kill(os.getpid(), 2)")
    assert ran.returncode == 3
    assert ran.stderr.count("vramfit: tries") == 1
    assert "ended with signal 2" in ran.stderr
