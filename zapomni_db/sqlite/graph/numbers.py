"""Numbers of rows, as one value of a statement."""

from array import array
from collections.abc import Iterable
from typing import Any

import apsw


def bound(numbers: Iterable[int]) -> Any:
    """Numbers for `carray(?)`, in this order; 0, which no row has, where there are none, for an empty one is refused."""
    return apsw.carray(array("q", numbers) or array("q", [0]))
