"""The arrays that stores and search exchange. numpy is imported here and where arrays are computed, not by plain records."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""A vector, or a matrix with one in each row."""
Rows = NDArray[np.int64]
"""Numbers of chunks or memories, or something counted for each."""
Mask = NDArray[np.bool_]
"""Yes or no for each chunk."""
