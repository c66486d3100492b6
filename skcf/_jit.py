"""The one way in which functions are compiled here."""

import logging
from functools import cached_property, update_wrapper
from hashlib import sha256
from numbers import Number
from time import perf_counter
from types import CodeType

import numpy as np

logger = logging.getLogger("skcf")


class jit:
    """Compile a function with numba when it is first called.

    The function runs without the interpreter lock and is kept in numba's cache, or
    compiled anew by each process where no cache folder can be written; the log says
    how long it took and where it is kept. numba itself is imported at the first call,
    so that importing the package stays cheap.

    Compiled functions may call each other: numba asks a global for its type by
    ``_numba_type_``, and is given that of the compiled function. A cached function is
    taken for fresh as long as it and all that it calls are the same, in whatever files
    they stand; numba itself looks at the file of the function alone.
    """

    def __init__(self, function):
        update_wrapper(self, function)

    def __call__(self, *args):
        compiled = self.compiled
        n_kinds, begin = len(compiled.overloads), perf_counter()
        out = compiled(*args)
        if len(compiled.overloads) > n_kinds:
            self._tell(perf_counter() - begin)
        return out

    def __reduce__(self):
        return self.__qualname__

    @cached_property
    def compiled(self):
        """The function as numba's dispatcher."""
        from numba import njit

        try:
            compiled = njit(nogil=True, cache=True)(self.__wrapped__)
        except RuntimeError:
            # "no locator available": there is no place to keep the compiled code.
            return njit(nogil=True)(self.__wrapped__)
        kept = compiled._cache._cache_file
        kept._source_stamp = (kept._source_stamp, self.stamp)
        return compiled

    @cached_property
    def stamp(self):
        """A digest of the function, the constants it reads, and all that it calls."""
        function, digest = self.__wrapped__, sha256()
        for part in _parts_of(function.__code__):
            digest.update(repr(part).encode())
        for name in sorted(_names_of(function.__code__)):
            value = function.__globals__.get(name)
            if isinstance(value, jit) and value is not self:
                digest.update(value.stamp.encode())
            elif isinstance(value, (Number, str, tuple, np.dtype)):
                digest.update(repr((name, value)).encode())
        return digest.hexdigest()

    @property
    def _numba_type_(self):
        return self.compiled._numba_type_

    def _tell(self, seconds):
        """Log what the first call with arguments of one kind took."""
        stats = self.compiled.stats
        name = f"{self.__module__}.{self.__qualname__}"
        kind = self.compiled.signatures[-1]
        if stats.cache_hits.get(kind):
            logger.debug("%s was loaded in %.2g s", name, seconds)
        elif stats.cache_path is None:
            logger.info(
                "%s was compiled in %.2g s for this process alone: there is no folder "
                "for a cache; NUMBA_CACHE_DIR may name one",
                name,
                seconds,
            )
        else:
            logger.info(
                "%s was compiled in %.2g s, once for all: it is kept in %s",
                name,
                seconds,
                stats.cache_path,
            )


def _parts_of(code):
    """Yield what makes a function what it is: its instructions and constants."""
    yield code.co_code, code.co_names, code.co_varnames
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _parts_of(const)
        else:
            yield const


def _names_of(code):
    """Return the names that a function looks up, those of inner functions included."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names_of, inner))
