"""vramfit-compare of answers of vramfit run: no torch is needed."""

import copy
import json
import subprocess
import sys

import jsonschema
import pytest
from dry_runs import GB, OUT_OF_MEMORY, stage, took
from installed import PACKAGE, ROOT

SCHEMA = json.loads((ROOT / "docs" / "schemas" / "run_comparison.schema.json").read_text())
LIBRARY = "/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py"


def held(size, line, text, component="activations", *, script="/a/train.py:8", in_backward=False):
    return {
        "component": component,
        "line": line,
        "script": script,
        "in_backward": in_backward,
        "bytes": size,
        "blocks": 1,
        "line_text": text,
        "script_text": "loss = model(ids).loss",
    }


FORWARD = [
    held(GB, f"{LIBRARY}:60", "h = norm(h)"),
    held(2 * GB, f"{LIBRARY}:70", "h = mlp(h)"),
    held(2 * GB, "/a/train.py:3", "model = M().cuda()", "parameters", script="/a/train.py:3"),
]
BACKWARD = [held(6 * GB, "/a/loss.py:40", "ce(logits)", "logits", in_backward=True)]


@pytest.fixture
def answer(run):
    """As vramfit run writes it; of what a process took."""

    def answer(**more):
        holders = [
            {"step": 1, "stage": "forward", "gpus": [FORWARD]},
            {"step": 2, "stage": "backward", "gpus": [BACKWARD]},
        ]
        told = {"holders": [BACKWARD], "holders_of_stages": holders, **more}
        end = "sys.exit(1)" if more.get("ran_out") else ""
        return json.loads(run("--json", "-", took=[took(**told)], end=end).stdout)

    return answer


@pytest.fixture
def compare(tmp_path):
    def compare(old, new, *flags):
        for name, told in (("old", old), ("new", new)):
            (tmp_path / f"{name}.json").write_text(json.dumps(told))
        return command(tmp_path / "old.json", tmp_path / "new.json", *flags)

    return compare


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "vramfit", "compare", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PACKAGE)},
        check=False,
    )


def rows_of(ran):
    told = json.loads(ran.stdout)
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(told)) == []
    return told["rows"]


def grown(answer, name, size, *more):
    """Of a stage of that name, by lines that hold more."""
    new = copy.deepcopy(answer)
    for row in new["stages"]:
        if row["name"] == name and row["peak"] == max(
            other["peak"] for other in new["stages"] if other["name"] == name
        ):
            row["peak"] += size
    new["levels"]["allocated"] = max(row["peak"] for row in new["stages"])
    for told in new["holders_of_stages"]:
        if told["stage"] == name:
            told["holders"] += more
    return new


def test_runs_that_take_the_same(answer, compare):
    one = answer()
    ran = compare(one, one)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "passes (1 same)"
    (row,) = rows_of(compare(one, one, "--format", "json"))
    assert (row["outcome"], row["facts"], row["moved"]) == ("same", {}, [])


def test_what_moved_and_where_largest_first(answer, compare):
    one = answer()
    new = grown(
        one, "forward", 3 * GB, held(GB, f"{LIBRARY}:65", "x"), held(2 * GB, "/a/train.py:9", "y")
    )
    ran = compare(one, new)
    assert ran.returncode == 1
    lines = [line for line in ran.stdout.splitlines() if "activations" in line]
    assert [line.split(" B  ")[0].strip() for line in lines] == ["+2,000,000,000", "+1,000,000,000"]
    assert lines[0].endswith("activations, a/train.py:9 from train.py:8, new")
    assert "llama/modeling_llama.py:65 from train.py:8, new" in lines[1]
    (row,) = rows_of(compare(one, new, "--format", "json"))
    worse = [level["name"] for level in row["levels"] if level["outcome"] == "worse"]
    assert worse == ["allocated in forward"]
    (forward,) = row["moved"]
    assert (forward["stage"], forward["peak"]) == ("forward", [6 * GB, 9 * GB])
    assert [line["text"] for line in forward["lines"]] == ["y", "x"]
    assert max(map(len, ran.stdout.splitlines())) <= 100


def test_the_run_s_peak_comes_first_and_lines_are_told_once(answer, compare):
    one, kept = answer(), held(GB, f"{LIBRARY}:65", "x")
    new = grown(grown(one, "forward", GB, kept), "backward", GB, kept)
    words = compare(one, new).stdout
    assert words.index("peak of backward") < words.index("peak of forward")
    assert words.count("modeling_llama.py:65") == 1
    assert "at the peak of forward of step 1, +1,000,000,000 B: the same lines" in words


def test_what_no_line_holds_is_rounding(answer, compare):
    one = answer()
    new = grown(one, "forward", 3 * GB, held(GB, f"{LIBRARY}:65", "x"))
    words = compare(one, new).stdout
    assert "+2,000,000,000 B  rounding, in blocks that the allocator does not split\n" in words


def test_less_is_better(answer, compare):
    one = answer()
    ran = compare(grown(one, "backward", GB, held(GB, "/a/train.py:9", "y")), one)
    assert ran.returncode == 0
    assert "passes (1 better)" in ran.stdout
    assert "\N{MINUS SIGN}1,000,000,000 B  activations" in ran.stdout
    assert "gone" in ran.stdout


def test_lines_that_only_moved_are_the_same(answer, compare):
    """Others came before them, in another checkout; one was written anew."""
    one = answer()
    new = json.loads(
        json.dumps(grown(one, "forward", GB, held(GB, "/a/train.py:2", "z", script="")))
        .replace("/a/train.py:8", "/b/run/train.py:18")
        .replace("/a/train.py:3", "/b/run/train.py:4")
        .replace("/a/train.py:2", "/b/run/train.py:2")
        .replace("/a/loss.py:40", "/b/run/loss.py:41")
        .replace("/venv/", "/other/venv/")
        .replace(f"{LIBRARY[5:]}:60", f"{LIBRARY[5:]}:1060")
        .replace("h = norm(h)", "h = self.norm(h)")
        .replace(f"{LIBRARY[5:]}:70", f"{LIBRARY[5:]}:1071")
    )
    (row,) = rows_of(compare(one, new, "--format", "json"))
    (forward,) = row["moved"]
    assert [(line["line"], line["old"], line["new"]) for line in forward["lines"]] == [
        ("/b/run/train.py:2", 0, GB)
    ]


def test_what_another_line_of_the_script_leads_to_now_did_not_move(answer, compare):
    """As where a trainer is called by a method of one's own, which keeps something."""
    one = answer()
    kept = held(GB, "/a/train.py:21", "self.kept = grads", script="/a/train.py:21")
    new = grown(one, "forward", GB, kept)
    for told in new["holders_of_stages"]:
        for line in told["holders"]:
            if line["line"] != line["script"]:
                line["script"] = "/a/train.py:20"
                line["script_text"] = "return super().training_step(*a)"
    ran = compare(one, new)
    assert ran.returncode == 1
    (row,) = rows_of(compare(one, new, "--format", "json"))
    (moved,) = row["moved"]
    assert [line["line"] for line in moved["lines"]] == ["/a/train.py:21"]
    assert "gone" not in ran.stdout


def test_of_the_smallest_blocks_there_is_one_line(answer, compare):
    one = answer()
    small = [held(512, f"{LIBRARY}:{line}", f"scalar {line}") for line in (81, 82, 83)]
    new = grown(one, "forward", GB + 3 * 512, held(GB, f"{LIBRARY}:90", "kept"), *small)
    said = compare(one, new).stdout
    assert "+1,536 B  3 lines of at most 512 B each" in said
    assert "scalar" not in said
    (row,) = rows_of(compare(one, new, "--format", "json"))
    assert len(row["moved"][0]["lines"]) == 4, "programs are told all"


def test_tolerance(answer, compare):
    one = answer()
    new = grown(one, "backward", GB // 10, held(GB // 10, "/a/train.py:9", "y"))
    assert compare(one, new, "--tolerance", "99MB").returncode == 1
    ran = compare(one, new, "--tolerance", "100MB")
    assert ran.returncode == 0
    assert "train.py:9" in ran.stdout  # it is told all the same
    assert compare(one, new, "--tolerance", "1.2%").returncode == 0
    assert compare(one, new, "--tolerance", "1.1%").returncode == 1


def test_reserved_alone(answer, compare):
    one = answer()
    new = answer(stages=[stage(2, "backward", (4 * GB, 4 * GB, 9 * GB), 11 * GB)])
    new["stages"] = one["stages"]
    ran = compare(one, new)
    assert ran.returncode == 1
    assert "reserved" in ran.stdout
    assert "at the peak" not in ran.stdout


def test_running_out(answer, compare):
    fits = answer()
    ran_out = answer(out_of_memory=[OUT_OF_MEMORY], ran_out=True)
    assert ran_out["ended"] == "memory"
    assert "worse: it runs out of memory" in compare(fits, ran_out).stdout
    assert compare(fits, ran_out).returncode == 1
    assert compare(ran_out, fits).returncode == 0
    assert "not comparable: both ran out" in compare(ran_out, ran_out).stdout
    assert compare(ran_out, ran_out).returncode == 1


def test_a_script_that_fails(answer, compare):
    one = answer()
    failed = {**one, "ended": "failed", "verdict": None, "fits": None}
    assert "worse: the script itself fails" in compare(one, failed).stdout
    assert compare(failed, one).returncode == 1


def test_another_card(answer, compare):
    one = answer()
    other = {**one, "gpu": {**one["gpu"], "title": "NVIDIA A100"}}
    assert compare(one, other).returncode == 1
    ran = compare(one, other, "--across-cards")
    assert ran.returncode == 0
    assert "gpu: NVIDIA GeForce RTX 4090 → NVIDIA A100" in ran.stdout


def test_versions_are_told(answer, compare):
    one = answer()
    other = {**one, "versions": {"torch": "2.13.0", "peft": "1"}}
    ran = compare(one, other)
    assert "  torch: 2.11.0 → 2.13.0\n  peft: none → 1\n" in ran.stdout
    assert ran.returncode == 0


def test_who_held_what_is_not_known(answer, compare):
    one = answer()
    new = grown(one, "forward", GB)
    new["holders"], new["holders_of_stages"] = None, []
    assert "which lines, this PyTorch does not tell" in compare(one, new).stdout


def test_folders(answer, tmp_path):
    one = answer()
    for folder, names in (("old", "abc"), ("new", "abd")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.json").write_text(json.dumps(one))
    ran = command(tmp_path / "old", tmp_path / "new", "--format", "json")
    assert {row["name"]: row["outcome"] for row in rows_of(ran)} == {
        "a": "same", "b": "same", "c": "gone", "d": "new",
    }  # fmt: skip
    assert ran.returncode == 1
    assert command(tmp_path / "old", tmp_path / "new", "--allow", "gone").returncode == 0


def test_what_is_new_has_to_fit(answer, tmp_path):
    for folder in "old", "new":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.json").write_text(json.dumps(answer()))
    (tmp_path / "new" / "b.json").write_text(json.dumps({**answer(), "fits": False}))
    ran = command(tmp_path / "old", tmp_path / "new", "--format", "json")
    assert {row["name"]: row["outcome"] for row in rows_of(ran)} == {"a": "same", "b": "worse"}
    assert ran.returncode == 1
    (tmp_path / "new" / "b.json").write_text("no JSON")
    assert command(tmp_path / "old", tmp_path / "new").returncode == 2


def test_nothing_to_compare_fails(answer, tmp_path):
    for folder, name in (("old", "a"), ("new", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.json").write_text(json.dumps(answer()))
    assert command(tmp_path / "old", tmp_path / "new", "--allow", "gone").returncode == 1


def test_markdown(answer, compare):
    one = answer()
    new = grown(one, "backward", GB, held(GB, "/a/train.py:9", "y = a | `b`"))
    ran = compare(one, new, "--format", "markdown")
    assert ran.returncode == 1
    assert "| allocated in backward | 9.000 | 10.000 | +1,000,000,000 | worse |" in ran.stdout
    assert "`y = a \\| 'b'`" in ran.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is no JSON"),
        ("[]", "is not what vramfit run --json writes"),
        ('{"benchmarks": []}', "is a report of bench: a source tree's build/compare takes those"),
        ('{"run_schema": 2}', "is not what vramfit run --json writes"),
        ('{"run_schema": 1}', "is not what vramfit run --json writes: KeyError 'holders'"),
        ('{"run_schema": 1, "total": "x"}', "is not what vramfit run --json writes: "),
    ],
)
def test_a_file_that_is_none(answer, tmp_path, text, says):
    (tmp_path / "old.json").write_text(json.dumps(answer()))
    if text is not None:
        (tmp_path / "new.json").write_text(text)
    ran = command(tmp_path / "old.json", tmp_path / "new.json")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("vramfit: error: compare: ")
    assert says in line


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ([], "compare: the following arguments are required: OLD, NEW; vramfit compare --help"),
        (["."], "compare: the following arguments are required: NEW; vramfit compare --help"),
        ([".", ".", "--tolerance", "1X"], "compare: --tolerance: is '1X'; a size such as 24GB"),
        ([".", ".", "--tolerance", "x%"], "compare: --tolerance: is 'x%'; a size, or a share"),
        ([".", ".", "--tolerance", "nan%"], "compare: --tolerance: is 'nan%'; a size, or a share"),
        ([".", ".", "--allow", "worse"], "compare: --allow: invalid choice: 'worse'"),
        ([".", ".", "--fast"], "compare: unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments_are_a_line(flags, says, tmp_path):
    ran = command(*flags)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith(f"vramfit: error: {says}")


def test_an_empty_folder_is_bad_input(tmp_path):
    ran = command(tmp_path, tmp_path)
    assert ran.returncode == 2
    assert "has no file of vramfit run --json" in ran.stderr
