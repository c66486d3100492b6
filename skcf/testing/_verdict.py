"""How a check says that a clause of the contract is broken."""

import contextlib
import io
import warnings

CLAUSES = {
    1: "fit",
    2: "raw columns",
    3: "transform",
    4: "target",
    5: "validity",
    6: "rules",
    7: "status",
    8: "determinism",
    9: "budget",
    10: "score",
    11: "parallel",
    12: "progress and logs",
    13: "errors",
}


def ensure(condition, clause, found):
    """Raise an AssertionError that names the clause unless the condition holds."""
    if not condition:
        raise AssertionError(f"Clause {clause} ({CLAUSES[clause]}): {found}")


def refuses(clause, what, call, *words, kind=(ValueError, TypeError)):
    """Check that a call raises an error whose text has all of `words`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except kind as error:
        text = "\n".join([str(error), *getattr(error, "__notes__", ())])
        missing = [word for word in words if str(word).lower() not in text.lower()]
        ensure(
            not missing,
            clause,
            f"the error for {what} should mention {missing}; it reads: {text}",
        )
    except Exception as error:
        expected = " or ".join(k.__name__ for k in _tuple(kind))
        ensure(
            False,
            clause,
            f"{what} should raise a {expected}; it raised "
            f"{type(error).__name__}: {error}",
        )
    else:
        ensure(False, clause, f"{what} should raise an error and did not.")


@contextlib.contextmanager
def quiet():
    """Silence warnings, and catch what is printed in the block."""
    out = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        yield out


@contextlib.contextmanager
def heard():
    """Collect the warnings of the block."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def _tuple(kind):
    return kind if isinstance(kind, tuple) else (kind,)
