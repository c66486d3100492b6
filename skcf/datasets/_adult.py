"""Incomes of the census of 1994."""

from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from skcf.constraints import fixed, increasing

OPENML_ID = 1590


def fetch_adult(*, data_home=None, cache=True):
    """Load the Adult data: who earns more than 50,000 dollars a year.

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
        - `data`: pandas DataFrame of shape (48842, 12). The sampling weight is left
          out, and so is the name of the education, which `education_num` has as a
          number;
        - `target`: pandas Series, "<=50K" or ">50K";
        - `constraints`: rules that fit the columns: sex, race and country of birth
          stay as they are, age and education do not fall.

    Raises
    ------
    URLError
        If it is not there yet and cannot be downloaded.

    Notes
    -----
    Missing values are in `workclass`, `occupation` and `native_country`.

    References
    ----------
    .. [1] Kohavi, R. (1996). Scaling up the accuracy of naive-Bayes classifiers: a
       decision-tree hybrid. KDD, 202-207.
    .. [2] Becker, B., Kohavi, R. (1996). Adult. UCI Machine Learning Repository.
       doi:10.24432/C5XW20

    Examples
    --------
    >>> from skcf.datasets import fetch_adult
    >>> adult = fetch_adult()  # doctest: +SKIP
    """
    frame = fetch_openml(
        data_id=OPENML_ID,
        as_frame=True,
        parser="auto",
        data_home=data_home,
        cache=cache,
    ).frame
    return tidy_adult(frame)


def tidy_adult(frame):
    """Return the data of OpenML with names that can be written in rules."""
    frame = frame.rename(columns=lambda name: name.replace("-", "_"))
    target = frame["class"]
    data = frame.drop(columns=["class", "fnlwgt", "education"])
    return Bunch(
        data=data,
        target=target,
        constraints=[
            fixed("sex", "race", "native_country"),
            increasing("age", "education_num"),
        ],
    )
