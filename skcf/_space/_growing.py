"""Arrays that grow."""

import numpy as np


class Growing:
    """An array that more is put behind; what it began with is left alone."""

    def __init__(self, array):
        self.array = self._room = array

    def extend(self, new):
        """Put values behind the others."""
        n, size = len(self.array), len(self.array) + len(new)
        if size > len(self._room):
            self._room = np.empty(size + size // 2 + 1024, dtype=self.array.dtype)
            self._room[:n] = self.array
        self._room[n:size] = new
        self.array = self._room[:size]
