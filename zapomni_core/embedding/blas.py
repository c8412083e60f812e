"""Keeps numpy's linear algebra on one thread.

For matrices as small as ours more threads gain nothing, and on a busy machine they wait for each other: ten times
slower, measured. What the user set in the environment stands.
"""

import ctypes
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

_VARIABLE = "OPENBLAS_NUM_THREADS"
_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


def import_numpy() -> None:
    """Import numpy so that it computes on one thread; if it is imported already, tell it to."""
    if _VARIABLE in os.environ or "OMP_NUM_THREADS" in os.environ:
        return
    if "numpy" in sys.modules:
        _set_threads()
    else:
        os.environ[_VARIABLE] = "1"  # read once, when the library is loaded
        import numpy as np  # noqa: F401

        del os.environ[_VARIABLE]  # not for the programs that this one starts


def _set_threads() -> None:
    """OpenBLAS is a library of numpy's own library, so its functions are found through that one; other builds have none."""
    with suppress(ImportError, OSError):
        library = _numpy_library()
        for name in _SETTERS:
            if hasattr(library, name):
                getattr(library, name)(1)


def _numpy_library() -> Any:
    return ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
