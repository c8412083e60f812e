"""What an embedder made, if it is what was asked for: one that answers rubbish has failed, and is named."""

from typing import TYPE_CHECKING, Any

from zapomni_core.errors import ProcessingError

if TYPE_CHECKING:
    from zapomni_db.arrays import Vector
    from zapomni_db.records import EmbedderIdentity

_REMEDY = "choose another embedder in the settings, or ask its author"


def checked_vectors(made: Any, count: int, identity: "EmbedderIdentity") -> "Vector":
    """So many rows of the embedder's dimension; ProcessingError where they are others, or no numbers."""
    rows = _numbers(made)
    if rows is None or (count and rows.shape != (count, identity.dimension)):
        raise ProcessingError(
            f"The embedder '{identity.name}' did not return {count} vectors of {identity.dimension} numbers; {_REMEDY}"
        )
    return rows


def _numbers(made: Any) -> "Vector | None":
    """An array of finite numbers, if that is what it is."""
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(made, np.float32)
    except (TypeError, ValueError):
        return None
    return rows if np.isfinite(rows).all() else None
