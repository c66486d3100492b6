"""The one way in which functions are compiled here."""

from functools import cached_property, update_wrapper


class jit:
    """Compile a function with numba when it is first called.

    The function runs without the interpreter lock and is kept in numba's cache, or
    compiled anew by each process where no cache folder can be written. numba itself
    is imported at the first call, so that importing the package stays cheap.

    Compiled functions may call each other: numba asks a global for its type by
    ``_numba_type_``, and is given that of the compiled function.
    """

    def __init__(self, function):
        update_wrapper(self, function)

    def __call__(self, *args):
        return self.compiled(*args)

    def __reduce__(self):
        return self.__qualname__

    @cached_property
    def compiled(self):
        """The function as numba's dispatcher."""
        from numba import njit

        try:
            return njit(nogil=True, cache=True)(self.__wrapped__)
        except RuntimeError:
            # "no locator available": there is no place to keep the compiled code.
            return njit(nogil=True)(self.__wrapped__)

    @property
    def _numba_type_(self):
        return self.compiled._numba_type_
