"""Libraries that are loaded after torch was: what they want of NVIDIA's is there."""

import shutil
import subprocess
import sys

import pytest
from stood_in import needs_torch, play

CC = shutil.which("cc")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler")

# What torch would have had loaded, without it.
LATE = """
import ctypes, pathlib, tempfile
from vramfit.standin._late import stand_in_late
folder = pathlib.Path(tempfile.mkdtemp())
stand_in_late(standin.door(), folder)
"""


def build(folder, name, source, *flags):
    (folder / f"{name}.c").write_text(source)
    built = folder / f"lib{name}.so"
    subprocess.run(
        [CC, "-shared", "-fPIC", "-o", built, folder / f"{name}.c", *flags],
        check=True,
        cwd=folder,
    )
    return built


@pytest.fixture
def runtime(tmp_path):
    """A libcudart.so.13 to link against: it defines what no shell had to, so far."""
    (tmp_path / "map").write_text("libcudart.so.13 { global: cuda*; };")
    soname = "-Wl,-soname,libcudart.so.13"
    source = "int cudaMemPrefetchAsync(void) { return 77; } int cudaOfTomorrow(void) { return 77; }"
    return build(tmp_path, "runtime", source, soname, "-Wl,--version-script=map")


CALLS = """
int cudaMemPrefetchAsync(void); int cudaOfTomorrow(void);
int known(void) { return cudaMemPrefetchAsync(); }
int unknown(void) { return cudaOfTomorrow(); }
"""


@needs_compiler
def test_a_library_that_comes_late_has_what_it_is_linked_against(tmp_path, runtime):
    late = build(tmp_path, "late", CALLS, runtime)
    script = f"""
library = ctypes.CDLL({str(late)!r})
answers = [library.known(), library.unknown(), library.unknown()]
print(json.dumps([answers, standin.door().report()["unknown_calls"]]))
"""
    answers, unknown = play(LATE + script, python=sys.executable)
    assert answers == [0, 0, 0]  # and not the 77 of what it was linked with
    told = {"library": "libcudart.so.13", "name": "cudaOfTomorrow", "calls": 2}
    assert unknown == [{**told, "by": str(late), "as_zero": False}]


@needs_compiler
def test_a_library_need_not_say_what_it_is_linked_against(tmp_path, runtime):
    other = build(tmp_path, "other", CALLS, runtime)
    silent = build(
        tmp_path, "silent", "int cudaOfToday(void); int it(void) { return cudaOfToday(); }"
    )
    foreign = build(tmp_path, "foreign", "int custom(void); int it(void) { return custom(); }")
    script = f"""
ctypes.CDLL({str(other)!r})
ctypes.CDLL({str(silent)!r}).it()
try:
    ctypes.CDLL({str(foreign)!r})
    refused = ""
except OSError as error:
    refused = str(error)
unknown = [call["name"] for call in standin.door().report()["unknown_calls"]]
print(json.dumps([unknown, refused]))
"""
    unknown, refused = play(LATE + script, python=sys.executable)
    assert unknown == ["cudaOfToday"]
    assert "undefined symbol: custom" in refused  # begins as the driver's do, and is none of them


@needs_compiler
@pytest.mark.parametrize(
    "name",
    ["libcudart.so.13", "libcudart.so.13.0.96", "libcudart.so", "libcudart.faf08d9a.so.13"],
)
def test_nvidias_own_library_is_never_loaded(tmp_path, runtime, name):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    shutil.copy(runtime, theirs / name)
    late = build(tmp_path, "late", CALLS, runtime)
    script = f"""
ctypes.CDLL({str(late)!r})
print(ctypes.CDLL({str(theirs / name)!r}).cudaMemPrefetchAsync())
"""
    assert play(LATE + script, python=sys.executable) == 0


@needs_compiler
def test_managed_memory_is_for_paged_optimizers(tmp_path, runtime):
    source = """
int cudaMallocManaged(void**, unsigned long, unsigned); int cudaFree(void*);
int ask(void) { void* it = 0; return cudaMallocManaged(&it, 5000, 1) || cudaFree(it); }
"""
    paged, other = (build(tmp_path, name, source) for name in ("bitsandbytes_cuda0", "other"))
    wants = build(tmp_path, "wants", CALLS, runtime)
    script = f"""
ctypes.CDLL({str(wants)!r})
answers = [ctypes.CDLL(file).ask() for file in {[str(paged), str(other)]!r}]
print(json.dumps([answers, standin.door().report()["host"]]))
"""
    answers, host = play(LATE + script, python=sys.executable)
    assert answers == [0, 1]
    assert host == {"locked": 0, "peak_locked": 0, "peak_managed": 5000}


@needs_torch
def test_bitsandbytes_has_its_library():
    script = """
import torch, bitsandbytes
torch.cuda.init()
linear = bitsandbytes.nn.Linear4bit(1024, 1024, bias=False, quant_type="nf4").cuda()
out = linear(torch.ones(2, 1024, device="cuda"))
codes = [linear.weight.dtype is torch.uint8, list(linear.weight.shape), list(out.shape)]
print(json.dumps([codes, standin.door().report()["unknown_calls"]]))
"""
    codes, unknown = play(script)
    assert codes == [True, [1024 * 1024 // 2, 1], [2, 1024]]
    assert unknown == []
