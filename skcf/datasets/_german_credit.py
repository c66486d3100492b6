"""Loans of a German bank."""

from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from skcf.constraints import fixed, increasing

OPENML_ID = 31


def fetch_german_credit(*, data_home=None, cache=True):
    """Load the German credit data: which loans are a good risk.

    It is downloaded from OpenML at the first call, and read from the local folder of
    scikit-learn from then on.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder to keep it in; see :func:`sklearn.datasets.get_data_home`.
    cache : bool, default=True
        Whether to keep it.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        - `data`: pandas DataFrame of shape (1000, 20);
        - `target`: pandas Series, "good" or "bad";
        - `constraints`: rules that fit the columns: sex and marital status (one
          column), the credit history and whether a worker is foreign stay as they are,
          and age does not fall.

    Raises
    ------
    URLError
        If it is not there yet and cannot be downloaded.

    References
    ----------
    .. [1] Hofmann, H. (1994). Statlog (German credit data). UCI Machine Learning
       Repository. doi:10.24432/C5NC77

    Examples
    --------
    >>> from skcf.datasets import fetch_german_credit
    >>> credit = fetch_german_credit()  # doctest: +SKIP
    """
    frame = fetch_openml(
        data_id=OPENML_ID,
        as_frame=True,
        parser="auto",
        data_home=data_home,
        cache=cache,
    ).frame
    return tidy_german_credit(frame)


def tidy_german_credit(frame):
    """Return the data of OpenML with the rules that fit its columns."""
    return Bunch(
        data=frame.drop(columns="class"),
        target=frame["class"],
        constraints=[
            fixed("personal_status", "credit_history", "foreign_worker"),
            increasing("age"),
        ],
    )
