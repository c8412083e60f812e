"""What the first layers of the default embedder's model make of a token. That depends on nothing but the token, so it is kept.

The model reads each token in three ways: together with the one after it, with one on either side, with two on either
side. A first reading multiplies each of these neighbours by a matrix of its own and adds the products up; the products are what
is kept here, those of the tokens that are met most. They are more than half of the work for a text.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zapomni_core.embedding.weights import READINGS, Weights, product

if TYPE_CHECKING:
    from zapomni_db.arrays import Rows, Vector

GAP = -1
"""Stands between two texts instead of a token; tells nothing."""
MOST = 1024
"""Tokens that are kept, 13 kB each. They make up four fifths of English documentation; with twice as many, all of it took a twentieth less."""


class TokenReadings:
    """Readings of tokens by their place. At place 0, which is the gap's, there are zeros."""

    def __init__(self, weights: Weights, most: int = MOST) -> None:
        import numpy as np

        self._weights = weights
        self._most = most
        self._places = {GAP: 0}
        self._uses = np.zeros(most + 1, np.int64)
        width = weights.width
        self.own: Vector = np.zeros((most + 1, width), np.float32)
        self.told: dict[int, tuple[int, Vector]] = {
            offset: (column, np.zeros((most + 1, width - column), np.float32))
            for offset, column in _first_columns(weights.columns).items()
        }
        """By how far a neighbour is away: the first column it has a part in, and what it tells from there on."""

    def places(self, tokens: Sequence[int]) -> "Rows":
        """Where the readings of these tokens are, which are read now if they were not before."""
        import numpy as np

        wanted = set(tokens)
        new = wanted - self._places.keys()
        if len(self._places) + len(new) > len(self._uses):
            self._forget(len(wanted))
            new = wanted - self._places.keys()
        if new:
            self._read(sorted(new))
        places = np.fromiter(map(self._places.__getitem__, tokens), np.int64, len(tokens))
        self._uses += np.bincount(places, minlength=len(self._uses))
        return places

    def _forget(self, wanted: int) -> None:
        """Keep the half that was used most, or as many as leave room for those that are wanted. What was used long ago counts less."""
        import numpy as np

        tokens = list(self._places)
        kept = max(0, min(self._most // 2, self._most - wanted))
        rows = 1 + np.argsort(-self._uses[1 : len(tokens)], kind="stable")[:kept]
        self._places = {GAP: 0}  # where memory runs out half-way, nothing is at its old place
        for table in (self.own, *(told for _, told in self.told.values())):
            table[1 : kept + 1] = table[rows]
        self._uses[1 : kept + 1] = self._uses[rows] // 2
        self._uses[kept + 1 :] = 0
        self._places |= {tokens[row]: place for place, row in enumerate(rows.tolist(), 1)}

    def _read(self, tokens: list[int]) -> None:
        import numpy as np

        weights = self._weights
        first = len(self._places)
        rows = slice(first, first + len(tokens))
        (projection, bias), (factor, shift) = weights.projection, weights.normed
        own = normal(product(weights.embedded(np.array(tokens)), projection) + bias, weights.least) * factor + shift
        for (_, before), columns, matrices in zip(READINGS, weights.columns, weights.first, strict=True):
            for at, matrix in enumerate(matrices):
                column, told = self.told[at - before]
                told[rows, columns.start - column : columns.stop - column] = own[:, columns] @ matrix
        self.own[rows] = own
        self.told[0][1][rows] += weights.first_bias
        self._places |= zip(tokens, range(rows.start, rows.stop), strict=True)


def _first_columns(columns: Sequence[slice]) -> dict[int, int]:
    """For each neighbour, by how far it is away, the first column that it has a part in: the wider readings come last."""
    offsets = {
        at - before: part.start
        for (span, before), part in reversed([*zip(READINGS, columns, strict=True)])
        for at in range(span)
    }
    return dict(sorted(offsets.items()))


def normal(rows: "Vector", least: float) -> "Vector":
    """The rows with mean 0 and spread 1; in place."""
    import numpy as np

    rows -= rows.mean(axis=1, keepdims=True)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows) / rows.shape[1] + least)[:, None]
    return rows
