"""Arrays that grow at their end without being copied each time."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item", bound=np.generic)

_LEAST_ROOM = 1024


class Column(Generic[Item]):
    """An array along whose last axis rows are added. What was handed out before stays as it was."""

    def __init__(self, rows: NDArray[Item]) -> None:
        self._room = rows
        self.rows = _frozen(rows)

    def extend(self, more: NDArray[Item]) -> None:
        """Put rows behind the others: into spare room, or everything into more room."""
        if not more.shape[-1]:
            return  # the first rows may be for readers only, and numpy refuses to write even nothing into such
        count = self.rows.shape[-1]
        total = count + more.shape[-1]
        if total > self._room.shape[-1]:
            self._room = np.empty((*self._room.shape[:-1], max(_LEAST_ROOM, total * 3 // 2)), self._room.dtype)
            self._room[..., :count] = self.rows
        self._room[..., count:total] = more
        self.rows = _frozen(self._room[..., :total])


def _frozen(rows: NDArray[Item]) -> NDArray[Item]:
    """The same rows, for readers only."""
    seen = rows.view()
    seen.flags.writeable = False
    return seen
