"""The least costly change of a unit to a wanted efficiency."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import BaseExplainer
from skcf.constraints._rule import check_rules
from skcf.costs import Cost, check_cost
from skcf.dea._efficiency import DEA, MIN_WEIGHT
from skcf.dea._plan_explainer import PlanExplainer
from skcf.dea._plans import MEASURES, RETURNS_TO_SCALE

CHANGES = ("inputs", "outputs", "both")
SQUARED = Cost(l1=0.0, l2=1.0, scale="mean", average=False)


class DEATargetExplainer(PlanExplainer):
    r"""Least costly change of inputs or outputs that makes a unit efficient enough.

    A unit is a row with the amounts of its inputs and outputs, and the fitted units
    show what is possible (see :class:`DEA`). For a unit of too low an efficiency, the
    answer is the plan of least `cost` that has the wanted `efficiency` and keeps the
    rules. It is the best one there is, which is proved wherever the facets of the
    technology can be enumerated.

    Read more in the :ref:`User Guide <dea>`.

    Parameters
    ----------
    inputs, outputs : list of str or int
        Names or positions of the columns, at least one of each. Other columns are
        carried along.

    efficiency : float in (0, 1], default=1.0
        The efficiency to reach. `target` of `transform` and `explain` gives one for
        each row.

    change : {"inputs", "outputs", "both"}, default="inputs"
        Which columns may change.

    measure : {"input", "output"}, default="input"
        Whether the efficiency is that of inputs or of outputs. It makes no difference
        with constant returns to scale.

    returns_to_scale : {"crs", "vrs", "drs", "irs"}, default="crs"
        Which multiples of units are possible: all (constant), none (variable),
        smaller ones (decreasing) or larger ones (increasing returns to scale).

    cost : Cost or name of one, default=None
        What a change takes; see :class:`~skcf.costs.Cost`. None is the sum of squared
        changes in units of the mean,
        ``Cost(l1=0, l2=1, scale="mean", average=False)``.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`. Rules that a few linear
        systems can express are honoured, others are refused.

    max_facets : int, default=200000
        If the technology has more facets than this, the answers come from a
        mixed-integer program instead. With 0 this is always so.

    time_limit : float, default=None
        Seconds that a call may take.

    n_jobs : int, default=None
        Number of jobs over blocks of rows.

    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    dea_ : DEA
        The technology and the efficiencies of the fitted units, by `measure`.

    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    DEA : Efficiencies, peers and projections.
    skcf.display.FrontierDisplay : Shows units and targets with the frontier.

    Notes
    -----
    The problem is that of [1]_: a bilevel program, since the efficiency is itself the
    result of a linear program. It is solved facet by facet. A plan has at least the
    efficiency :math:`E^*` if, at the prices :math:`(u, v, w)` of one facet with
    :math:`u \ne 0`, :math:`v^\top y + w \ge E^* u^\top x`; so the plans to choose from
    are a union of half-spaces, and the cheapest plan of each has a closed form, or is
    a small linear or least squares problem where rules tie columns together. Every
    answer is judged by a linear program that knows nothing of facets.

    For variable returns the source requires the multiplier of the constraint on the
    sum of the weights to be non-negative. It belongs to an equation and is free: with
    the sign, units in the region of decreasing returns get no target or one that is
    too costly. The sign is that of increasing returns.

    Facets with :math:`u = 0` say nothing of the input efficiency. At a unit of largest
    output they are tight, and would call any inputs efficient. Here they only bound
    the outputs that a target may have. With the output measure, :math:`u` and
    :math:`v` change places.

    Next to amounts of 0 the efficiency can jump. Where inputs and outputs may change
    at once, there can then be plans that are ever cheaper and none that is the
    cheapest: if no other is found, the status is "not_found", and the lower bound is
    what they approach.

    The efficiency of a target is :math:`E^*`, unless a rule that the unit breaks as it
    is forces a larger change. Then it can exceed 1: a plan that no unit has shown to
    be possible.

    References
    ----------
    .. [1] Bogetoft, P., Ramírez-Ayerbe, J., Romero Morales, D. (2024). Counterfactual
       analysis and target setting in benchmarking. European Journal of Operational
       Research, 315(3), 1083-1095. doi:10.1016/j.ejor.2024.01.005

    Examples
    --------
    >>> import numpy as np
    >>> from skcf.dea import DEATargetExplainer
    >>> firms = np.array([[0.5, 1, 1], [1.5, 0.5, 1], [1.75, 1.25, 1], [2.5, 1.25, 1]])
    >>> explainer = DEATargetExplainer(inputs=[0, 1], outputs=[2], efficiency=0.8)
    >>> explainer.fit(firms).transform(firms[3:])
    array([[2.5  , 0.625, 1.   ]])
    """

    _parameter_constraints = {
        **BaseExplainer._parameter_constraints,
        "inputs": "no_validation",
        "outputs": "no_validation",
        "efficiency": [Interval(Real, 0, 1, closed="right")],
        "change": [StrOptions(set(CHANGES))],
        "measure": [StrOptions(set(MEASURES))],
        "returns_to_scale": [StrOptions(set(RETURNS_TO_SCALE))],
        "cost": "no_validation",
        "constraints": "no_validation",
        "max_facets": [Interval(Integral, 0, None, closed="left")],
    }
    # Nothing is left to chance.
    del _parameter_constraints["random_state"]

    def __init__(
        self,
        *,
        inputs,
        outputs,
        efficiency=1.0,
        change="inputs",
        measure="input",
        returns_to_scale="crs",
        cost=None,
        constraints=(),
        max_facets=200_000,
        time_limit=None,
        n_jobs=None,
        verbose=0,
    ):
        self.inputs = inputs
        self.outputs = outputs
        self.efficiency = efficiency
        self.change = change
        self.measure = measure
        self.returns_to_scale = returns_to_scale
        self.cost = cost
        self.constraints = constraints
        self.max_facets = max_facets
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn from observed units what is possible.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_units, n_features)
            The units, in the columns in which targets are wanted.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        cost = SQUARED if self.cost is None else check_cost(self.cost)
        rules = check_rules(self.constraints)
        X = self._validate(X, reset=True)
        dea = DEA(
            inputs=self.inputs,
            outputs=self.outputs,
            returns_to_scale=self.returns_to_scale,
            orientation=self.measure,
            max_facets=self.max_facets,
        ).fit(X)
        self._learn(X, dea, self.change, rules, cost)
        return self

    def explain(self, X, *, target=None, n_counterfactuals=1, constraints=None):
        """Return the targets of every unit with all that is known of them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The units to explain, in the columns given to `fit`.
        target : float or array-like of shape (n_samples,), default=None
            The efficiency to reach, in (0, 1]; None is that of the explainer.
        n_counterfactuals : int, default=1
            The most targets of a unit. Each changes another set of columns, and is
            the cheapest that changes just these.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Predictions and scores are efficiencies, found by linear programs. Its
            ``details`` have

            - `method`: for each target, "facets" or "mip";
            - `facet`: the row of ``dea_.facets_`` that the target reaches, -1 where
              it is not known;
            - `peers`: list with the labels of the units that each target is held
              against;
            - `weights`: list with the weights of these peers;
            - `farrell`: the radial projection of each unit to the wanted efficiency,
              all inputs (outputs, by the output measure) by one factor; in the
              container of `X`, the unit itself where there is none;
            - `farrell_cost`: its cost by the cost of the explainer;
            - `blocking_rules`: for each of the first 100 units without a target, the
              text of the single rule without which there is one (the cheapest such),
              or None;
            - `n_calls`, `n_rows`: linear programs solved to judge units and targets;
            - `seconds`: wall time of the call.
        """
        explanation = self._explain(
            X, target, n_counterfactuals, constraints=constraints
        )
        details, technology = explanation.details, self.dea_._technology
        table = explanation.counterfactuals
        weights = np.empty((0, len(technology.x)))
        if len(explanation.row):
            plans = self._space.encode(table)[:, self._space.plan]
            weights = technology.weights(plans, self.measure)
        peers = [np.flatnonzero(w > MIN_WEIGHT) for w in weights]
        details.peers = [self.dea_.units_[p] for p in peers]
        details.weights = [w[p] for w, p in zip(weights, peers, strict=True)]
        details.farrell, details.farrell_cost = self._farrell(explanation)
        details.setdefault(
            "blocking_rules", np.full(len(explanation.status), None, dtype=object)
        )
        return explanation

    def score(self, X, y=None):
        """Return how near the targets of `X` are, on one scale for all.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        score : float
            Over the units that are not efficient enough already, the mean of one less
            the mean relative change of inputs and outputs (at most 1) where a target
            was found, and 0 elsewhere; 1 when there are no such units. The `cost` of
            the explainer has no part in it. What is 0 changes relative to the mean of
            the column.
        """
        return super().score(X, y)
