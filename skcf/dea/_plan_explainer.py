"""The layer of explainers of production plans: space, rules, cost, efficiencies."""

import time

import numpy as np

from skcf._base import Answers, BaseExplainer, Query
from skcf._space import container_of
from skcf.constraints._conflict import check_consistent
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.dea._efficiency import ROUNDING
from skcf.dea._kkt import Complementary
from skcf.dea._nearest import MAX_FREE, Nearest, Room
from skcf.dea._project import Prices
from skcf.dea._regions import check_regions, regions_of

# By how much the efficiency of a target may miss what is wanted, by a linear program.
TOLERANCE = 1e-7
MAX_DIAGNOSED = 100
# Costs that differ by less are equal.
CLOSE = 1e-9


class PlanExplainer(BaseExplainer):
    """Base of the explainers of the efficiency of plans.

    It holds a fitted ``dea_``, and judges every answer by a linear program.
    """

    def _learn(self, X, dea, change, rules, cost):
        """Bind rules and cost to the columns of the units."""
        self.dea_, technology = dea, dea._technology
        self._space = dea._space
        self._rules = self._bound(rules)
        self._cost = bind_cost(cost, self._space)
        inputs = technology.is_input
        free = {"inputs": inputs, "outputs": ~inputs, "both": inputs | ~inputs}
        self._free = free[change]
        columns = self._space.plan[self._free]
        self._prices = Prices.of(self._cost, technology.scale[self._free], columns)
        self._seconds = self._timed(X)

    def _bound(self, rules):
        rules = RuleSet(rules, self._space)
        check_regions(rules)
        check_consistent(rules)
        return rules

    def _timed(self, X):
        """Return the seconds that it takes to judge a plan."""
        plans = self._space.plans(X)[:1]
        start = time.perf_counter()
        self.dea_._technology.programmed(plans, self.measure)
        return time.perf_counter() - start

    # -- a call -------------------------------------------------------------------

    def _open(self, X, target, constraints=None):
        query = Query.of(X)
        state = query.state
        state.codes = self._space.encode(X, check_missing=False)
        plans = self._space.plans(X, state.codes)
        extra = check_rules(constraints)
        state.rules = (
            self._bound((*self._rules.rules, *extra)) if extra else self._rules
        )
        state.lifted = np.full(len(query), -1)
        state.wanted = _wanted(self.efficiency if target is None else target, len(X))
        query.target = np.array([float(e) for e in state.wanted], dtype=object)
        now = self.dea_._technology.programmed(plans, self.measure)
        query.prediction = query.score = now
        state.n_calls = state.n_rows = len(query)
        query.status[now >= state.wanted - ROUNDING] = "already"
        return query

    def _search(self, query, rows, k, meter):
        state, technology = query.state, self.dea_._technology
        limit = state.rules.limit(len(rows), state.lifted[rows])
        exact = self._method(k, limit)
        search = exact(technology, self._free, self.measure)
        lots, bound = [], np.full(len(rows), np.nan)
        cut = np.zeros(len(rows), dtype=bool)
        for i, row in enumerate(rows):
            deadline = _share(meter.deadline, len(rows) - i)
            found, bound[i], regions = self._solve(
                query, row, limit[i], k, search, deadline
            )
            cut[i] = np.isnan(bound[i]) and deadline is not None
            for rank, one in enumerate(found):
                proved = one.cost <= bound[i] + CLOSE
                if rank:
                    proved = exact is Nearest and np.isfinite(bound[i])
                codes = self._codes(state.codes[row], one.steps, regions[one.room])
                if rank == 0:
                    # Prices that only break ties are no part of the cost.
                    cost = self._cost.rows(state.codes[row], codes)
                    bound[i] = np.minimum(bound[i], cost)
                lots.append((i, codes, one.facet, proved))
        at, codes, facet, proved = zip(*lots, strict=True) if lots else ((),) * 4
        method = "facets" if exact is Nearest else "mip"
        return Answers(
            np.array(at, dtype=np.intp),
            np.array(codes).reshape(len(at), state.codes.shape[1]),
            cut,
            {
                "facet": np.array(facet, dtype=np.intp),
                "method": np.full(len(at), method),
            },
            optimal=np.array(proved, dtype=bool),
            lower_bound=bound,
        )

    def _method(self, k, limit):
        """Return the search: by facets where there are any, and not too many sets."""
        n_free = int(self._free.sum())
        sets = k > 1 or self._prices.entry.any() or (limit < n_free).any()
        few = n_free <= MAX_FREE or not sets
        known = self.dea_._technology.facets is not None
        return Nearest if known and few else Complementary

    def _solve(self, query, row, limit, k, search, deadline):
        """Return (found, bound, regions) of one unit."""
        state, columns = query.state, self._space.plan[self._free]
        x, scale = state.codes[row], self.dea_._technology.scale[self._free]
        free = np.zeros(len(x), dtype=bool)
        free[columns] = True
        regions = regions_of(state.rules, x, free, state.lifted[row])
        rooms = [_room(r, x, columns, scale) for r in regions]
        found, bound = search.search(
            x[self._space.plan],
            state.wanted[row],
            rooms,
            self._prices,
            k=k,
            limit=int(limit),
            deadline=deadline,
        )
        return found, bound, regions

    def _codes(self, x, steps, region):
        """Return the codes of a plan, exactly on the bounds of a region."""
        columns = self._space.plan[self._free]
        moved = columns[steps != 0]
        codes = x.copy()
        scale = self.dea_._technology.scale[self._free]
        codes[columns] += np.where(steps != 0, steps * scale, 0.0)
        codes[moved] = np.clip(codes[moved], region.low[moved], region.high[moved])
        for row, value in zip(region.equal, region.value, strict=True):
            # The last digits go to the column that counts the most.
            j = moved[np.abs(row[moved]).argmax()] if len(moved) else columns[0]
            if row[j]:
                codes[j] += (value - row @ codes) / row[j]
        return codes

    def _emit(self, query, row, codes):
        return self._space.emit(query.X, row, codes)

    def _reached(self, query, row, table):
        plans = self._space.encode(table, check_missing=False)[:, self._space.plan]
        efficiency = self.dea_._technology.programmed(plans, self.measure)
        query.state.n_calls += len(row)
        query.state.n_rows += len(row)
        wanted = query.state.wanted[row]
        valid = (efficiency >= wanted - TOLERANCE) & np.isfinite(efficiency)
        return valid, efficiency, efficiency

    def _lawful(self, query, row, table):
        state = query.state
        x, codes = state.codes[row], self._space.encode(table)
        ok = state.rules.holds(x, codes, state.lifted[row])
        n_changed = self._cost.n_changed(x, codes)
        ok &= (n_changed > 0) & (codes[:, self._space.plan] >= 0).all(axis=1)
        return ok, self._cost.rows(x, codes), n_changed

    def _gower(self, query, answers):
        plan = self._space.plan
        before, after = query.state.codes[answers.row][:, plan], answers.codes[:, plan]
        unit = np.where(before > 0, before, self.dea_._technology.scale)
        return (np.abs(after - before) / unit).mean(axis=1)

    def _diagnose(self, query, missed, meter):
        """Search again without each single rule, for the first rows that missed."""
        told = np.full(len(query), None, dtype=object)
        state = query.state
        for row in missed[:MAX_DIAGNOSED]:
            cheapest = np.inf
            for lifted, rule in enumerate(state.rules.rules):
                if meter.expired:
                    return {"blocking_rules": told}
                again = Query.of(container_of(query.X).take(query.X, np.array([row])))
                again.state.update(
                    codes=state.codes[[row]],
                    rules=state.rules,
                    lifted=np.array([lifted]),
                    wanted=state.wanted[[row]],
                    n_calls=0,
                    n_rows=0,
                )
                again.prediction = query.prediction[[row]]
                answers = self._search(again, np.array([0]), 1, meter)
                answers = self._guard(again, answers, 1)
                if len(answers.row) and again.state.cost[0] < cheapest:
                    cheapest, told[row] = again.state.cost[0], str(rule)
        return {"blocking_rules": told}

    def _farrell(self, explanation):
        """Return the radial projections of the queries, and their costs."""
        X = explanation.queries
        codes = self._space.encode(X, check_missing=False)
        plans, now = codes[:, self._space.plan], explanation.prediction_before
        wanted = explanation.target.astype(np.float64)
        radial = self.dea_._technology.radial(plans, now, wanted, self.measure)
        kept = (explanation.status == "already") | ~np.isfinite(radial).all(axis=1)
        projected = codes.copy()
        projected[:, self._space.plan] = np.where(kept[:, None], plans, radial)
        table = self._space.emit(X, np.arange(len(codes)), projected)
        return table, self._cost.rows(codes, projected)

    def _extras(self):
        return {"facet": np.intp, "method": "<U6"}

    def _rate(self):
        return self._seconds

    @property
    def _unnamed(self):
        return self._space.container.kind == "array"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        # Columns that are carried along may hold text.
        tags.input_tags.string = True
        return tags


def bind_cost(cost, space):
    """Return a cost over a space of plans, in which carried columns do not count."""
    bound = cost._bind(space)
    carried = np.ones(space.n_features, dtype=bool)
    carried[space.plan] = False
    bound.weight[bound.group_of[carried]] = 0.0
    total = bound.weight.sum()
    if not total > 0:
        raise ValueError("The weights of inputs and outputs in a cost are all 0.")
    bound.divisor = total if cost.average else 1.0
    return bound


def _room(region, x, columns, scale):
    """Return a region as room for scaled steps of the free columns."""
    rows = np.vstack([region.rows, region.equal, -region.equal])[:, columns]
    at_most = np.r_[region.at_most, region.value, -region.value]
    return Room(
        (region.low[columns] - x[columns]) / scale,
        (region.high[columns] - x[columns]) / scale,
        rows * scale,
        at_most - rows @ x[columns],
    )


def _wanted(given, n):
    """Return the efficiency to reach of every row."""
    try:
        wanted = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"target must be efficiencies in (0, 1], got {given!r}."
        ) from None
    if wanted.ndim > 1 or wanted.ndim == 1 and len(wanted) != n:
        raise ValueError(
            f"target must be an efficiency or one for each of the {n} rows, got an "
            f"array of shape {wanted.shape}."
        )
    if not ((wanted > 0) & (wanted <= 1)).all():
        wrong = wanted[~((wanted > 0) & (wanted <= 1))][0]
        raise ValueError(f"target must be efficiencies in (0, 1], got {wrong}.")
    return np.broadcast_to(wanted, n).copy()


def _share(deadline, n_left):
    """Return until when the next of `n_left` rows may take."""
    if deadline is None:
        return None
    now = time.monotonic()
    return now + (deadline - now) / n_left
