"""pytest's plugin where no test comes to run: bad arguments, and no torch."""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from installed import PACKAGE


@pytest.fixture
def session(tmp_path):
    """pytest of a test module, with the plugin that the package brings."""

    def session(text, *flags):
        (tmp_path / "test_it.py").write_text(f"import pytest\n{text}\n")
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *flags],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(PACKAGE)},
            check=False,
        )

    return session


def test_it_is_there_and_says_what_the_mark_takes(session):
    ran = session("", "--markers")
    assert "@pytest.mark.vram(gpu, max, vram, steps)" in ran.stdout
    assert "--vram-json" in session("", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("'rtx4090'", "'rtx4090' has no name; vram(gpu='rtx4090', max='20GB')"),
        ("gup='rtx4090'", "no argument 'gup'; there are gpu, max, vram, steps"),
        ("max='20GB'", "which GPU: gpu='rtx4090', or any other by its size, vram='24GiB'"),
        ("", "which GPU: gpu='rtx4090', or any other by its size, vram='24GiB'"),
        ("gpu='rtx4091'", "gpu: unknown 'rtx4091'; did you mean 'rtx4090'"),
        ("vram='24Gx'", "vram: is '24Gx'; a size such as 24GB"),
        ("gpu='rtx4090', max='lots'", "max: is 'lots'; a size such as 24GB"),
        ("gpu='rtx4090', max=True", "max: is 'True'; a size such as 24GB"),
        ("gpu='rtx4090', steps=0", "steps: is 0; a whole number from 1"),
        ("gpu='rtx4090', steps=True", "steps: is True; a whole number from 1"),
    ],
)
def test_bad_arguments_are_a_line(session, arguments, says):
    ran = session(f"@pytest.mark.vram({arguments})\ndef test_x():\n    pass")
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in ran.stderr.splitlines() if line]
    assert line.startswith(f"ERROR: test_it.py::test_x: vram: {says}")


@pytest.mark.skipif(find_spec("torch") is not None, reason="this Python has torch")
def test_without_torch_it_is_skipped(session):
    ran = session(
        "@pytest.mark.vram(gpu='rtx4090')\ndef test_x():\n    1 / 0\n\ndef test_y():\n    pass"
    )
    assert ran.returncode == 0, ran.stdout
    assert "1 passed, 1 skipped" in ran.stdout
    assert "SKIPPED [1] test_it.py:2: vram: torch is not installed" in ran.stdout
