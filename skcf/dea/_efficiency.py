"""Efficiencies of units against the technology that they show to be possible."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skcf._base import BaseExplainer
from skcf._space import container_of
from skcf.dea._plans import MEASURES, RETURNS_TO_SCALE, PlanSpace
from skcf.dea._technology import Technology

# Efficiencies that differ from 1 by less are 1 up to rounding.
ROUNDING = 1e-9
# A weight below this one is a rounding error.
MIN_WEIGHT = 1e-9


class DEA(BaseEstimator):
    r"""Data envelopment analysis: Farrell efficiencies of production units.

    Every row is a unit with the amounts of its inputs and of its outputs. The fitted
    units show what is possible: their plans, mixtures and, with constant returns to
    scale, multiples of them, and all that takes more or gives less. The input
    efficiency of a plan is the smallest share of its inputs that suffices for its
    outputs; the output efficiency is one over the largest multiple of its outputs
    that its inputs suffice for.

    Read more in the :ref:`User Guide <dea>`.

    Parameters
    ----------
    inputs, outputs : list of str or int
        Names or positions of the columns, at least one of each. Other columns are
        carried along and never looked at.

    returns_to_scale : {"crs", "vrs", "drs", "irs"}, default="crs"
        Which multiples of units are possible: all (constant), none (variable),
        smaller ones (decreasing) or larger ones (increasing returns to scale).

    orientation : {"input", "output"}, default="input"
        Whether the efficiency is that of inputs or of outputs.

    max_facets : int, default=200000
        If the technology has more facets than this, they are not enumerated, and
        every efficiency is a linear program. With 0 this is always so.

    Attributes
    ----------
    efficiency_ : ndarray of shape (n_units,)
        Efficiencies of the fitted units.

    facets_ : ndarray of shape (n_facets, n_inputs + n_outputs + 1) or None
        Rows :math:`(u, v, w)`: a plan :math:`(x, y)` is possible if
        :math:`u^\top x - v^\top y - w \ge 0` for each of them. In the order of
        `inputs` and `outputs`; None if not enumerated.

    units_ : ndarray of shape (n_units,)
        The index labels of the fitted units; positions where there is no index.

    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    DEATargetExplainer : The least costly change to a wanted efficiency.

    Notes
    -----
    The technologies are those of [1]_ (constant returns) and [2]_ (variable returns).
    Constant columns, duplicates and a single unit are normal input. A unit outside of
    the technology has an efficiency above 1. It is infinite if no multiple of its
    inputs, or no positive fraction of its outputs, would bring it inside.

    References
    ----------
    .. [1] Charnes, A., Cooper, W. W., Rhodes, E. (1978). Measuring the efficiency of
       decision making units. European Journal of Operational Research, 2(6), 429-444.
       doi:10.1016/0377-2217(78)90138-8
    .. [2] Banker, R. D., Charnes, A., Cooper, W. W. (1984). Some models for estimating
       technical and scale inefficiencies in data envelopment analysis. Management
       Science, 30(9), 1078-1092. doi:10.1287/mnsc.30.9.1078

    Examples
    --------
    >>> import numpy as np
    >>> from skcf.dea import DEA
    >>> firms = np.array([[0.5, 1, 1], [1.5, 0.5, 1], [1.75, 1.25, 1], [2.5, 1.25, 1]])
    >>> DEA(inputs=[0, 1], outputs=[2]).fit(firms).efficiency_.round(3)
    array([1.   , 1.   , 0.588, 0.5  ])
    """

    _parameter_constraints = {
        "inputs": "no_validation",
        "outputs": "no_validation",
        "returns_to_scale": [StrOptions(set(RETURNS_TO_SCALE))],
        "orientation": [StrOptions(set(MEASURES))],
        "max_facets": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        inputs,
        outputs,
        returns_to_scale="crs",
        orientation="input",
        max_facets=200_000,
    ):
        self.inputs = inputs
        self.outputs = outputs
        self.returns_to_scale = returns_to_scale
        self.orientation = orientation
        self.max_facets = max_facets

    # Tables are read as explainers read them.
    _validate = BaseExplainer._validate

    @property
    def _unnamed(self):
        return self._space.container.kind == "array"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the technology from observed units.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_units, n_features)
            The units.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        X = self._validate(X, reset=True)
        self._space = PlanSpace(X, self.inputs, self.outputs)
        plans = self._space.plans(X)
        self._technology = Technology(
            plans, len(self._space.inputs), self.returns_to_scale, self.max_facets
        )
        self.units_ = container_of(X).index(X)
        self.facets_ = self._technology.unscaled_facets()
        self.efficiency_ = self._technology.efficiency(plans, self.orientation)
        return self

    def score_samples(self, X):
        """Return the efficiencies of units.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)

        Returns
        -------
        efficiency : ndarray of shape (n_samples,)
            1 on the frontier, below 1 inside of the technology, above 1 outside.
        """
        plans = self._plans(X)[1]
        return self._technology.efficiency(plans, self.orientation)

    def evaluate(self, X):
        """Return the efficiencies of units, and the units that they are held against.

        Every unit is a linear program, and a second one for the slacks.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)

        Returns
        -------
        evaluation : :class:`~sklearn.utils.Bunch`
            - `efficiency`: ndarray of shape (n_samples,);
            - `weights`: ndarray of shape (n_samples, n_units), the weights of the
              fitted units in the plan that the unit is held against, after slacks
              have been taken; NaN where the efficiency is infinite;
            - `peers`: list of n_samples arrays, the labels of units of positive weight;
            - `slacks`: ndarray of shape (n_samples, n_inputs + n_outputs), by how much
              inputs of the radial projection can still fall and outputs rise.
        """
        plans = self._plans(X)[1]
        efficiency = self._technology.programmed(plans, self.orientation)
        projected = self._radial(plans, efficiency, 1.0)
        weights = np.full((len(plans), len(self.units_)), np.nan)
        program = self._technology.program(self.orientation)
        for i in np.flatnonzero(np.isfinite(projected).all(axis=1)):
            x, y = self._technology.split(projected[i])
            found = program.slacks(x, y)
            if found is not None:
                weights[i] = np.where(found > MIN_WEIGHT, found, 0.0)
        gap = projected - weights @ self._technology.units
        slacks = np.maximum(np.where(self._technology.is_input, gap, -gap), 0.0)
        slacks[slacks < ROUNDING * self._technology.scale] = 0.0
        peers = [self.units_[np.flatnonzero(row > 0)] for row in weights]
        return Bunch(efficiency=efficiency, weights=weights, peers=peers, slacks=slacks)

    def project(self, X, *, efficiency=1.0):
        """Return the radial projection of units: all inputs or outputs by one factor.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
        efficiency : float, default=1.0
            The efficiency to reach.

        Returns
        -------
        X_projected : {ndarray, dataframe} of shape (n_samples, n_features)
            A unit that is as efficient comes back as it is.
        """
        if not (isinstance(efficiency, Real) and 0 < efficiency <= 1):
            raise ValueError(f"efficiency must be in (0, 1], got {efficiency!r}.")
        X, plans = self._plans(X)
        now = self._technology.efficiency(plans, self.orientation)
        wanted = self._radial(plans, now, efficiency)
        kept = (now >= efficiency - ROUNDING) | ~np.isfinite(wanted).all(axis=1)
        return self._emit(X, np.where(kept[:, None], plans, wanted))

    def directional(self, X, *, dx=None, dy=None):
        """Return how far units can go in a direction, and where they arrive.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
        dx : array-like of shape (n_inputs,) or (n_samples, n_inputs), default=None
            The inputs to save in one step, at least 0; None saves none.
        dy : array-like of shape (n_outputs,) or (n_samples, n_outputs), default=None
            The outputs to gain in one step, at least 0; None gains none.

        Returns
        -------
        search : :class:`~sklearn.utils.Bunch`
            - `steps`: ndarray of shape (n_samples,), the largest number e of steps
              after which the plan (x - e dx, y + e dy) is possible; negative if the
              unit is outside of the technology, -inf if no number will do;
            - `plans`: the units after so many steps, in the container of `X`; as they
              came where the number is infinite.
        """
        X, plans = self._plans(X)
        n_inputs = len(self._space.inputs)
        dx = _direction("dx", dx, len(plans), n_inputs)
        dy = _direction("dy", dy, len(plans), plans.shape[1] - n_inputs)
        if not (dx.any(axis=1) | dy.any(axis=1)).all():
            raise ValueError("dx and dy must not both be 0: there is no direction.")
        program = self._technology.program("output")
        steps = np.empty(len(plans))
        for i, plan in enumerate(plans):
            x, y = self._technology.split(plan)
            step_x, step_y = self._technology.split(np.r_[dx[i], dy[i]])
            steps[i] = program.furthest(x, y, step_x, step_y)
        finite = np.isfinite(steps)
        length = np.where(finite, steps, 0.0)[:, None]
        return Bunch(
            steps=steps, plans=self._emit(X, plans + length * np.hstack([-dx, dy]))
        )

    # -- plans --------------------------------------------------------------------

    def _plans(self, X):
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return X, self._space.plans(X)

    def _radial(self, plans, now, wanted):
        return self._technology.radial(plans, now, wanted, self.orientation)

    def _emit(self, X, plans):
        codes = self._space.encode(X, check_missing=False)
        codes[:, self._space.plan] = plans
        return self._space.emit(X, np.arange(len(codes)), codes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # Columns that are carried along may hold text.
        tags.input_tags.string = True
        return tags


def _direction(name, given, n_plans, width):
    """Return a direction by unit."""
    if given is None:
        return np.zeros((n_plans, width))
    step = np.asarray(given, dtype=np.float64)
    if step.shape not in ((width,), (n_plans, width)):
        raise ValueError(
            f"{name} must have shape {(width,)} or {(n_plans, width)}, got "
            f"{step.shape}."
        )
    if not (np.isfinite(step) & (step >= 0)).all():
        raise ValueError(f"{name} must be finite and at least 0, got {given!r}.")
    return np.broadcast_to(step, (n_plans, width))
