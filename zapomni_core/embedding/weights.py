"""The weights of the default embedder's model, laid out as the encoder reads them.

A short text is read so fast that most of the time goes into fetching the weights: so those that follow each other without
anything between them are multiplied once, when the model is loaded, and those that read the same are put side by side.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from zapomni_db.arrays import Vector

READINGS = ((2, 0), (3, 1), (5, 2))
"""The model's three readings: how many neighbouring tokens each sees together, and how many of them come before."""

_SMALL = 10**6
"""Multiplications up to which OpenBLAS takes matrices as they lie; else it copies both first, which takes longer for few rows."""
_NARROWEST = 48
"""Columns of a part. Narrower ones take as long as they save."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What the package's release 0.2 has for its own encoder."""

    table: "np.ndarray[Any, np.dtype[np.uint8]]"
    scale: "Vector"
    lowest: "Vector"
    """The model's own rows for tokens are quantized, in parts: what makes numbers of them."""
    least: float
    """What keeps the spread of a row from being none."""
    projection: "tuple[Vector, Vector]"
    normed: "tuple[Vector, Vector]"
    """For each token's own row, before the first reading: what it is multiplied by and what is added; then, once it is normal, the same again."""
    first: "list[list[Vector]]"
    first_bias: "Vector"
    """For each reading a matrix for each neighbour, and what is added to the sum of all."""
    second: "list[Vector]"
    second_bias: "list[Vector]"
    """For each reading a column of matrices, one for each neighbour, and what is added."""
    summed: "Vector"
    summed_bias: "Vector"
    """From the sum of what tokens contribute to the first two of the last layers, side by side."""
    inner: "tuple[Vector, Vector]"
    outer: "Vector"
    """The layers between, and the last one, which reads the two before it."""

    @property
    def width(self) -> int:
        """Columns of what all readings tell."""
        return len(self.first_bias)

    @property
    def columns(self) -> list[slice]:
        """The columns of each reading, side by side."""
        size = self.width // len(READINGS)
        return [slice(number * size, (number + 1) * size) for number in range(len(READINGS))]

    def embedded(self, tokens: Any) -> "Vector":
        """The model's own rows for tokens."""
        import numpy as np

        parts = tokens % len(self.scale)
        rows = np.multiply(self.table[tokens], self.scale[parts, None], dtype=np.float32)
        rows += self.lowest[parts, None]
        return np.asarray(rows)


def product(rows: "Vector", matrix: "Vector") -> "Vector":
    """The rows multiplied by a matrix; few of them in parts that are so small that nothing is laid out anew for them."""
    import numpy as np

    columns = matrix.shape[1]
    part = _SMALL // rows.size
    if part >= columns or part < _NARROWEST:
        return np.asarray(rows @ matrix)
    made = np.empty((len(rows), columns), np.float32)
    for first in range(0, columns, part):
        np.matmul(rows, matrix[:, first : first + part], out=made[:, first : first + part])
    return made


def weights_of(model: Any) -> Weights:
    """The weights of the package's model, which is not needed any more; AttributeError where they have other names."""
    import numpy as np

    opening = np.concatenate([model.d0, model.p1], axis=1)
    return Weights(
        table=model.table,
        scale=model.scale,
        lowest=model.lo,
        least=model.eps,
        projection=(model.proj_W, model.proj_b),
        normed=(model.ln_g_all, model.ln_b_all),
        first=[np.split(matrix, span) for matrix, (span, _) in zip(model.w1, READINGS, strict=True)],
        first_bias=np.concatenate(model.b1),
        second=model.w2,
        second_bias=model.b2,
        summed=(model.ln_g[:, None] * model.cnn_W) @ opening,
        summed_bias=(model.ln_b @ model.cnn_W + model.cnn_b) @ opening,
        inner=(model.d1, model.d2),
        outer=np.concatenate([model.p3, model.d3]),
    )
