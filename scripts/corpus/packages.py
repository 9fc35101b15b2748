"""Debian packages of the recipe, and the documents in them."""

import bz2
import gzip
import hashlib
import io
import lzma
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from programs import BadInputError

from corpus.plain import plain

_SMALLEST, _LARGEST = 500, 400_000  # bytes of a file: shorter ones say little, longer are tables
_OPENERS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def fetch(package: Mapping[str, Any], folder: Path) -> Path:
    """Its file in the folder, downloaded where it is not there, and what the recipe says it is."""
    name, version = package["name"], package["version"]
    pattern = f"{name}_{version.replace(':', '%3a')}_*.deb"
    if not any(folder.glob(pattern)):
        command = ["apt-get", "download", f"{name}={version}"]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if process.returncode:
            raise BadInputError(
                f"{name} {version}: {process.stderr.strip().splitlines()[-1]}; "
                "snapshot.debian.org keeps every version"
            )
    file = next(folder.glob(pattern))
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != package["sha256"]:
        raise BadInputError(f"{file}: its SHA-256 is {found}, the recipe's {package['sha256']}")
    return file


def _files(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """All files, those of a tarball within included."""
    for member in archive:
        if not member.isfile() or (opened := archive.extractfile(member)) is None:
            continue
        if member.name.endswith((".tar.xz", ".tar.bz2")):
            with tarfile.open(fileobj=opened, mode="r|*") as within:
                yield from _files(within)
        elif member.size <= _LARGEST:
            yield member.name.removeprefix("./"), opened.read()


def documents(package: Mapping[str, Any], file: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each file that ends and lies as the recipe takes it, in no order."""
    takes, within = tuple(package["takes"]), tuple(package.get("within", [""]))
    command = ["dpkg-deb", "--fsys-tarfile", str(file)]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for name, content in _files(archive):
            if not name.endswith(takes) or not any(part in name for part in within):
                continue
            suffix = name[name.rfind(".") :]
            opener = _OPENERS.get(suffix)
            plain_name = name.removesuffix(suffix) if opener else name
            text = plain(plain_name, opener(content) if opener else content)
            if text is not None and _SMALLEST <= len(text) <= _LARGEST:
                yield f"{package['name']}/{name}", text
