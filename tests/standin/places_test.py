"""Where the stand-in runs: a conda environment's layout, WSL2's folder, limits, a musl Python."""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from stood_in import EXACT, PACKAGE, needs_torch, play
from vramfit._dry_run import _words
from vramfit.standin._door import Door, StandInError

SMALL = "import torch; torch.ones(4, device='cuda').sum().item()"


def torch_home() -> Path:
    line = [EXACT, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return Path(told.strip()) / "torch"


@needs_torch
def test_torch_as_conda_forge_lays_it(tmp_path):
    """Its recipe moves torch/lib/* into the environment's lib/, leaves links, and has libraries
    (MAGMA) that torch's need and that there is no link to: here libc10_cuda.so."""
    torch = torch_home()
    environment, site = tmp_path / "lib", tmp_path / "site" / "torch"
    environment.mkdir()
    (site / "lib").mkdir(parents=True)
    for entry in torch.iterdir():
        if entry.name != "lib":
            (site / entry.name).symlink_to(entry)
    for entry in filter(Path.is_file, (torch / "lib").iterdir()):
        try:
            (environment / entry.name).hardlink_to(entry)
        except OSError:
            pytest.skip("torch is on another disk")
        if entry.name != "libc10_cuda.so":
            (site / "lib" / entry.name).symlink_to(environment / entry.name)
    # conda's RPATH has its lib/, the wheel's only what is beside.
    where = {"PYTHONPATH": str(site.parent), "LD_LIBRARY_PATH": str(environment)}
    told = play(
        SMALL + "; print(json.dumps([torch.__file__, torch.cuda.is_available()]))",
        python=EXACT,
        **where,
    )
    assert told == [str(site / "__init__.py"), True]


@needs_torch
def test_the_drivers_library_of_wsl2_is_stood_in_for(tmp_path):
    """It lies in /usr/lib/wsl/lib, and programs open it by that path."""
    folder = tmp_path / "usr" / "lib" / "wsl" / "lib"
    folder.mkdir(parents=True)
    shutil.copy(torch_home() / "lib" / "libc10.so", folder / "libcuda.so.1")
    script = f"""
import ctypes, torch
torch.cuda.init()
count = ctypes.c_int()
driver = ctypes.CDLL({str(folder / "libcuda.so.1")!r})
said = driver.cuDeviceGetCount(ctypes.byref(count))
mapped = open("/proc/self/maps").read()
print(json.dumps([said, count.value, {str(folder)!r} in mapped]))
"""
    assert play(script, python=EXACT, LD_LIBRARY_PATH=str(folder)) == [0, 1, False]


def notes_on(release, monkeypatch) -> list[str]:
    monkeypatch.setattr(platform, "release", lambda: release)
    return list(_words._on_wsl())


def test_wsl2_is_named(monkeypatch):
    (note,) = notes_on("5.15.167.4-microsoft-standard-WSL2", monkeypatch)
    assert note.startswith("this is WSL2: Windows holds part of a card")
    assert notes_on("6.8.0-45-generic", monkeypatch) == []


@needs_torch
def test_too_few_addresses_are_refused_in_a_line(run):
    limited = ("sh", "-c", 'ulimit -v 16777216; exec "$@"', "sh", EXACT)
    ran = run(SMALL, before=limited)
    assert ran.returncode == 2
    (line,) = (line for line in ran.stderr.splitlines() if line.startswith("vramfit: error: "))
    assert "ulimit -v unlimited" in line


def mounted(mounts, tmp_path) -> subprocess.CompletedProcess:
    """vramfit run in mounts of its own."""
    (tmp_path / "small.py").write_text(SMALL)
    inside = ["unshare", "-m", "sh", "-c"]
    if subprocess.run([*inside, "mount -t tmpfs none /mnt"], check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    line = [sys.executable, "-m", "vramfit", "run", "--gpu", "t4", "--", EXACT, "small.py"]
    return subprocess.run(
        [*inside, mounts + ' && exec "$@"', "sh", *line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@needs_torch
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_root_that_is_read_only_will_do(tmp_path):
    sealed = "mount -t tmpfs none /mnt && mount --bind / / && mount -o remount,ro,bind /"
    there = f"cd {tmp_path} && ! touch here 2>/dev/null && export TMPDIR=/mnt"
    ran = mounted(f"{sealed} && {there}", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "FITS" in ran.stdout


@needs_torch
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_no_proc_is_refused_in_a_line(tmp_path):
    ran = mounted("mount -t tmpfs none /proc", tmp_path)
    assert ran.returncode == 2
    assert "vramfit: error: run: /proc is not mounted" in ran.stderr


def test_a_python_that_is_built_for_musl_is_refused_in_a_line(tmp_path, monkeypatch):
    library = tmp_path / "libvramfit_standin.so"
    library.write_bytes(b"what musl's linker cannot load")
    monkeypatch.setattr(sysconfig, "get_config_var", {"SOABI": "cpython-312-x86_64-linux-musl"}.get)
    with pytest.raises(StandInError, match=r"is built for musl \(Alpine\), for which there is no"):
        Door(library)
