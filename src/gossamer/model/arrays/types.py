"""Names for the array types that every room uses."""

import numpy as np
from numpy.typing import NDArray

# Dense node or topic ids.
Ids = NDArray[np.int32]
# Offsets of rows in a compressed table; also sizes and counts that belong to such a table.
Starts = NDArray[np.int64]
# Any other whole numbers.
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
