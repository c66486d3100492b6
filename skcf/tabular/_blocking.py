"""Which rules leave a row without a way out."""

from copy import copy
from itertools import combinations

from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure
from skcf.tabular._optimal import OptimalExplainer


def blocking_rules(explainer, x, *, target=None):
    """Return a smallest set of rules without which a row has a counterfactual.

    Parameters
    ----------
    explainer : OptimalExplainer
        A fitted one: only a proof can tell that rules leave no way out.
    x : {array-like, dataframe} of shape (1, n_features)
        The row.
    target : label or (low, high), default=None
        What the row is to become; None uses the `target` of the explainer.

    Returns
    -------
    result : Bunch

        - `rules`: the rules to lift, a tuple; empty if the row has a counterfactual
          as it is, None if it has none without any rules;
        - `explanation`: the :class:`~skcf.Explanation` of the row without them, or as
          it is where nothing helps;
        - `conflicts`: sets of rules of which it was proved that they leave no way out
          together, and not without one of them: tuples of rules. Every set of rules
          that helps lifts one of each of them;
        - `proved`: whether no smaller set helps. It is False where a time limit cut
          a proof off.

    Notes
    -----
    Rules that say how columns are read (``together``, ``one_hot``, ``ordered``) stay.
    A smallest set that meets all conflicts found so far is lifted; if there is still
    no way out, the rules that are left hold one more conflict [1]_. The number of
    rules is small, so the smallest sets are found by trying them in order of size.

    References
    ----------
    .. [1] Reiter, R. (1987). A theory of diagnosis from first principles. Artificial
       Intelligence, 32(1), 57-95. doi:10.1016/0004-3702(87)90062-2

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.constraints import fixed, increasing
    >>> from skcf.tabular import OptimalExplainer, blocking_rules
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0], [9.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = OptimalExplainer(
    ...     DecisionTreeClassifier(), constraints=[fixed(0), increasing(1)]
    ... ).fit(X, y)
    >>> blocking_rules(explainer, [[1.0, 5.0]]).rules
    (cf[0] == x[0],)
    """
    if not isinstance(explainer, OptimalExplainer):
        raise TypeError(
            "blocking_rules needs an OptimalExplainer, which proves that there is no "
            f"way out; got {type(explainer).__name__}."
        )
    check_is_fitted(explainer)
    if len(x) != 1:
        raise ValueError(f"blocking_rules takes one row, got {len(x)}.")
    return _Diagnosis(explainer, x, target).run()


class _Diagnosis:
    """The search for a smallest set of rules to lift."""

    def __init__(self, explainer, x, target):
        self.explainer, self.x, self.target = explainer, x, target
        container = explainer._space.container
        rules = explainer._rules.rules
        self.kept = [
            r for r in rules if read_structure((r,), container, only_structure=True)
        ]
        self.rules = [r for r in rules if r not in self.kept]
        self.proved, self.known = True, {}

    def run(self):
        conflicts = []
        everything = frozenset(range(len(self.rules)))
        if not self._has_answer(frozenset()):
            return self._told(None, conflicts)
        while True:
            lifted = self._smallest(conflicts)
            if self._has_answer(everything - lifted):
                return self._told(lifted, conflicts)
            conflicts.append(self._conflict(everything - lifted))

    def _smallest(self, conflicts):
        """Return a smallest set of rules with one of each conflict."""
        some = sorted(set().union(*conflicts))
        for size in range(len(some) + 1):
            for lifted in combinations(some, size):
                if all(conflict.intersection(lifted) for conflict in conflicts):
                    return frozenset(lifted)
        raise AssertionError("a conflict without rules")

    def _conflict(self, rules):
        """Return a part of rules without a way out that has one without each rule."""
        for rule in sorted(rules):
            if not self._has_answer(rules - {rule}):
                rules = rules - {rule}
        return rules

    def _with(self, rules):
        """Return the explainer with some of its rules."""
        kept = [*self.kept, *(self.rules[i] for i in sorted(rules))]
        out = copy(self.explainer)
        out._rules = RuleSet(kept, out._space)
        out._solver = out._solver_for(out._rules, out._boxes_for(out._rules))
        return out

    def _has_answer(self, rules):
        """Return whether the row has a counterfactual under some of the rules."""
        if rules not in self.known:
            explainer = self._with(rules)
            query, answers = explainer._answer(self.x, self.target, 1)
            status = explainer._status(query, answers)[0]
            self.proved &= status in ("found", "already", "infeasible")
            self.known[rules] = status in ("found", "already")
        return self.known[rules]

    def _told(self, lifted, conflicts):
        explainer, rules = self.explainer, None
        if lifted is not None:
            explainer = self._with(frozenset(range(len(self.rules))) - lifted)
            rules = tuple(self.rules[i] for i in sorted(lifted))
        named = [tuple(self.rules[i] for i in sorted(c)) for c in conflicts]
        return Bunch(
            rules=rules,
            explanation=explainer.explain(self.x, target=self.target),
            conflicts=named,
            proved=self.proved,
        )
