"""What to put into a bug report."""

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version


def show_versions():
    """Print the versions of Python, skcf and the packages that it can use.

    Examples
    --------
    >>> import skcf
    >>> skcf.show_versions()  # doctest: +ELLIPSIS
    python: ...
    """
    print(f"python: {sys.version.split()[0]} ({platform.platform()})")
    names = dict.fromkeys(re.match(r"[\w.-]+", r)[0] for r in requires("skcf") or ())
    for name in ["skcf", *(n for n in names if n != "skcf")]:
        try:
            print(f"{name}: {version(name)}")
        except PackageNotFoundError:
            print(f"{name}: not installed")
