"""Who comes before and after whom in a conversation."""

import numpy as np

from zapomni_db.arrays import Rows

_STEPS = (2, 1)
_NONE = -1


def link(known: Rows, moments: Rows, threads: Rows, changed: Rows | None = None) -> Rows:
    """By place, the two before and the two after in the same conversation: by moment, then by place.

    `known` holds the neighbours of the first memories, as they were; only the conversations of `changed` are looked at anew,
    or all.
    """
    neighbours = np.full((len(threads), 4), _NONE, np.int64)
    neighbours[: len(known)] = known
    talking = threads != 0 if changed is None else np.isin(threads, changed[changed != 0])
    members = np.flatnonzero(talking)
    neighbours[members] = _NONE
    order = members[np.lexsort((moments[members], threads[members]))]
    for step in _STEPS:
        _link_at(neighbours, order, threads[order], step)
    neighbours.flags.writeable = False
    return neighbours


def _link_at(neighbours: Rows, order: Rows, threads: Rows, step: int) -> None:
    """Link those that are so many steps from each other. Columns: two before, one before, one after, two after."""
    same = threads[step:] == threads[:-step]
    earlier, later = order[:-step][same], order[step:][same]
    neighbours[later, 2 - step] = earlier
    neighbours[earlier, 1 + step] = later
