"""The package itself: types, what importing costs, and the wheel on a bare machine."""

import ctypes
import json
import os
import pickle
import re
import subprocess
import sys
import typing
import venv

import built
import pytest
import vramfit
from installed import PACKAGE, ROOT

WHEELS = sorted(
    (ROOT / "build" / "wheels").glob("vramfit-*.whl"), key=lambda path: path.stat().st_mtime
)


USE = """
import vramfit
answer = vramfit.estimate(model="llama2-7b", train=True, batch=4, seq="2k", gpu="rtx4090")
reveal_type(answer.total)
reveal_type(answer.levels.reserved)
reveal_type(vramfit.max_batch(model="llama2-7b").largest)
reveal_type(vramfit.verify("a.pickle", model="llama2-7b").agree)
vramfit.estimate(batsh=4)
vramfit.estimate(train="yes")
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> list[str]:
    """What mypy says of the package, and of USE."""
    pytest.importorskip("mypy")
    use = tmp_path_factory.mktemp("use") / "use.py"
    use.write_text(USE)
    cache = f"--cache-dir={ROOT / 'build' / 'mypy'}"
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", cache, "--config-file=pyproject.toml",
         PACKAGE / "vramfit", use],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert not ended.stderr
    return ended.stdout.splitlines()


def test_types_are_strict(checked):
    *lines, end = checked
    assert end.startswith("Found 2 errors in 1 file ")
    assert [line for line in lines if "use.py:" not in line] == []


def test_users_are_type_checked(checked):
    shown = re.findall(r'Revealed type is "(.*?)"', "\n".join(checked))
    names = [text.replace("builtins.", "").replace("vramfit._card.", "") for text in shown]
    spelt = [re.sub(r"Union\[(\w+), None\]", r"\1 | None", name) for name in names]
    assert spelt == ["int", "int | None", "Largest | None", "bool"], checked
    keyword, kind = (line for line in checked if ": error: " in line)
    assert 'Unexpected keyword argument "batsh"' in keyword
    assert 'Argument "train" to "estimate" has incompatible type' in kind


def test_keywords_are_the_commands_flags():
    from vramfit import _flags  # noqa: PLC0415 - for type checkers alone

    printed = subprocess.run(
        [built.program("fit"), "--help", "all"], capture_output=True, text=True, check=True
    ).stdout
    flags = {
        name.replace("-", "_")
        for name in re.findall(r"^  (?:-h,)?--([a-z0-9-]+)", printed, re.MULTILINE)
    }
    of_the_command = {"help", "version", "list", "verbose", "json", "snapshot", "trace", "verify"}
    of_the_command |= {"completion", "man"}
    keywords = set(typing.get_type_hints(_flags.Given))
    objects = {"args", "accelerate", "axolotl", "quantization_config"}
    more = {"gradient_checkpointing_kwargs"}
    assert keywords - objects - more == flags - of_the_command


def test_importing_is_cheap():
    """50 ms on a quiet machine; here it is held to what it imports."""
    code = (
        "import sys; old = set(sys.modules); import vramfit; print(sorted(set(sys.modules) - old))"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    modules = printed.stdout
    for heavy in (
        "pandas",
        "numpy",
        "matplotlib",
        "yaml",
        "torch",
        "asyncio",
        "concurrent",
        "importlib.metadata",
    ):
        assert f"'{heavy}" not in modules, heavy


def test_the_wheel_on_a_bare_machine(tmp_path):
    """A venv with nothing but the wheel, and no compiler on its path."""
    wheel = WHEELS[-1]
    assert wheel.stat().st_size <= 4_550_000  # five runtimes, 74 types' tapes, the stand-in
    venv.create(tmp_path / "venv")
    programs = tmp_path / "venv" / "bin"
    environment = {"PATH": str(programs), "HOME": str(tmp_path)}

    def run(*command):
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install"]
    run(*pip, "--no-index", "--no-deps", str(wheel))
    assert run(programs / "vramfit", "--version").startswith("vramfit 0.")
    answer = json.loads(run(programs / "vramfit", "--model=gpt2-124m", "--gpu=rtx4090", "--json"))
    asked = "import vramfit; print(vramfit.estimate(model='gpt2-124m', gpu='rtx4090').total)"
    assert int(run(programs / "python", "-c", asked)) == answer["total"]
    linked = subprocess.run(
        ["ldd", *(tmp_path / "venv").rglob("_core*.so")], capture_output=True, text=True, check=True
    )
    assert not re.search(r"cuda|nccl|cudnn|nvidia", linked.stdout)


def test_its_c_library_is_nobody_elses():
    """PyTorch's, loaded beside it, would take the place of what is seen of its own."""
    core = ctypes.CDLL(vramfit._core.__file__)
    assert hasattr(core, "PyInit__core")
    assert not hasattr(core, "_ZNSt5ctypeIcE2idE")  # std::ctype<char>::id


def test_bad_input_is_known_by_the_name_that_users_have():
    error = pickle.loads(pickle.dumps(vramfit.BadInput("seq: is 0")))
    assert type(error) is vramfit.BadInput
    assert type(error).__module__ == "vramfit"


def test_what_is_missing_is_said_in_one_line():
    assert vramfit.__version__
    with pytest.raises(AttributeError, match="no_such"):
        _ = vramfit.no_such
