"""The search of the fewest shared changes: clusters, their lawful parts, a cover."""

from dataclasses import dataclass, replace

import numpy as np

from skcf._model import Meter
from skcf.group._agreements import MOST_WORK, agreements, n_agreements
from skcf.group._clusters import TooManyClusters, closed_clusters, undominated
from skcf.group._cover import bound_of, fewest, greedily, membership, prices
from skcf.group._dear_clusters import MOST_ROWS, DearClusters
from skcf.group._family import BELIEVED, LAWFUL, UNLAWFUL, Family
from skcf.group._generation import generated, pricing_of, with_singles

ROOM = 1e-6
# More closed clusters than these are listed by sets of features, where these are few.
FEW_CLUSTERS = 2000
# The share of the time in which clusters are looked for.
SEARCHED = 0.8


@dataclass(frozen=True, eq=False)
class Shared:
    """A change that some rows share.

    Attributes
    ----------
    rows : ndarray of int
        Positions of its rows.
    change : ndarray of shape (n_features,)
        The number of the value that it sets each feature to, -1 for none.
    """

    rows: np.ndarray
    change: np.ndarray


@dataclass(frozen=True, eq=False)
class Cover:
    """Sets of rows that hold all rows that can be served.

    Attributes
    ----------
    lots : list of (ndarray of int, oracle)
        The sets of rows, and what knows of their shared changes.
    bound : int
        No fewer than this many will do.
    settled : bool
        Whether it is known that rows that no lot holds cannot be served.
    """

    lots: list
    bound: int
    settled: bool

    @property
    def held(self):
        """The rows that the lots hold."""
        return _held(self.lots) if self.lots else np.zeros(0, dtype=np.intp)


def fewest_changes(pattern, outcomes, most, cap, meter):
    """Return the Cover with the fewest shared changes.

    Parameters
    ----------
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree where they have the same number.
    outcomes : list of (ndarray of int, oracle)
        For each wanted outcome the rows for which it counts, and what knows of shared
        changes that lead there.
    most, cap : int
        The most features of a change, and the most clusters.
    meter : Meter
    """
    meter = _part(meter)
    expired = _half_expired(meter)
    limits = pattern, outcomes, most, cap, expired
    families, complete = _families(_few, *limits)
    if complete:
        return _settled(families, meter)
    quick = all(oracle.quick for _, oracle in outcomes)
    alike = quick and all(family.alike for family in families)
    small = all(len(rows) <= MOST_ROWS for rows, _ in outcomes)
    known = []
    if alike:
        known.append(_made(families, outcomes, pattern, expired, meter, prove=False))
    elif small:
        known.append(_imagined(outcomes, pattern, meter, prove=False))
    if not known or len(known[0].lots) > known[0].bound:
        families, complete = _families(_many, *limits)
        if complete:
            known.append(_settled(families, meter))
        elif quick:
            known.append(_made(families, outcomes, pattern, expired, meter, prove=True))
        elif small:
            known.append(_imagined(outcomes, pattern, meter, prove=True))
        else:
            known.append(replace(_settled(families, meter), bound=1, settled=False))
    # Each may have been cut off by time.
    best = min(known, key=lambda c: (-len(c.held), len(c.lots)))
    settled = any(c.settled for c in known)
    return replace(best, bound=max(c.bound for c in known), settled=settled)


def assigned(lots, pattern, costs, meter):
    """Return the Shared changes of lots: a row takes the one cheapest for it.

    `costs` takes rows and returns for each feature the cost of each value, summed over
    the rows.
    """
    price, changes = np.full((len(lots), len(pattern)), np.inf), []
    for c, (rows, oracle) in enumerate(lots):
        # Half of the time is for the clusters that rows leave.
        seconds = None if meter.left is None else meter.left / 2 / (len(lots) - c)
        changes.append(_cheapest(rows, oracle, pattern, costs, seconds))
        for i in rows:
            own = costs([i])
            price[c, i] = sum(own[g][v] for g, v in enumerate(changes[c]) if v >= 0)
    taken = price.argmin(axis=0) if lots else []
    shared = []
    for c, (rows, oracle) in enumerate(lots):
        mine = rows[taken[rows] == c]
        if len(mine) < len(rows) and len(mine):
            seconds = None if meter.left is None else meter.left / (len(lots) - c)
            changes[c] = _cheapest(mine, oracle, pattern, costs, seconds)
        if len(mine):
            shared.append(Shared(mine, changes[c]))
    return shared


def _cheapest(rows, oracle, pattern, costs, seconds):
    differ = (pattern[rows] != pattern[rows[0]]).any(axis=0)
    return oracle.cheapest(rows, differ, costs(rows), seconds)


# -- the clusters ---------------------------------------------------------------------


def _families(listed, pattern, outcomes, most, cap, expired):
    """Return (a Family for each outcome, whether all clusters were listed)."""
    families, complete = [], True
    for rows, oracle in outcomes:
        members, differ, ended = listed(pattern[rows], rows, oracle, most, cap, expired)
        complete &= ended
        if not oracle.quick:
            # The smaller ones are looked at when they are needed.
            kept = undominated(members)
            members, differ = members[kept], differ[kept]
        table = np.zeros((len(members), len(pattern)), dtype=bool)
        table[:, rows] = members
        families.append(
            Family(rows, oracle, pattern, table, differ, listed=oracle.quick)
        )
    return families, complete


def _few(mine, rows, oracle, most, cap, expired):
    """Return (members, differ, whether these are all) of clusters if they are few."""
    return _closed(mine, rows, oracle, most, min(cap, FEW_CLUSTERS), expired)


def _many(mine, rows, oracle, most, cap, expired):
    """Return (members, differ, whether these are all) of clusters by sets of features.

    Where there are too many such sets, closed clusters are listed from the bottom up.
    """
    # Features on which all rows agree take changes from the others, where they help.
    spare = 0
    if oracle.quick:
        alike = (mine == mine[0]).all(axis=0)
        spare = min(most, int((oracle.helps(rows) & alike).sum()))
    levels = range(most, most - spare - 1, -1)
    if sum(n_agreements(mine, level) for level in levels) <= MOST_WORK:
        parts = [agreements(mine, level) for level in levels]
        members, differ = (np.concatenate(part) for part in zip(*parts, strict=True))
        if len(members) <= cap:
            return members, differ, True
    return _closed(mine, rows, oracle, most, cap, expired)


def _closed(mine, rows, oracle, most, cap, expired):
    """Return (members, differ, whether these are all) of closed clusters."""

    def possible(cluster):
        if not oracle.quick:
            # It is asked later.
            return True
        return oracle.alone(rows[cluster.members], cluster.differ).any()

    try:
        found, ended = closed_clusters(mine, most, possible, expired, cap), True
    except TooManyClusters as given_up:
        found, ended = given_up.clusters, False
    members = np.zeros((len(found), len(mine)), dtype=bool)
    for line, cluster in zip(members, found, strict=True):
        line[cluster.members] = True
    differ = np.array([c.differ for c in found]).reshape(len(found), mine.shape[1])
    return members, differ, ended


# -- the cover ------------------------------------------------------------------------


def _made(families, outcomes, pattern, expired, meter, prove):
    """Return the Cover by clusters that are made one by one."""
    lots = _lawful_lots(families, expired)
    lots, settled = with_singles(lots, outcomes, pattern, meter)
    if not lots:
        return Cover([], 0, settled)
    held = _held(lots)
    pricings = [
        pricing_of(some[np.isin(some, held)], oracle, pattern)
        for some, oracle in outcomes
        if np.isin(some, held).any()
    ]
    lots, worth = generated(lots, pricings, pattern, meter)
    sets = [np.searchsorted(held, rows) for rows, _ in lots]
    chosen, _ = fewest(sets, len(held), meter.left, prove=prove)
    return Cover([lots[c] for c in chosen], _whole(worth[held].sum()), settled)


def _imagined(outcomes, pattern, meter, prove):
    """Return the Cover by clusters that are made as if the model had no say.

    Their bound holds under any model. The model is asked about those that are taken.
    """
    families = []
    for rows, oracle in outcomes:
        single = _points(pattern, rows)
        differ = np.zeros((len(single), pattern.shape[1]), dtype=bool)
        families.append(Family(rows, oracle, pattern, single, differ, listed=False))
    live = np.unique(np.concatenate([rows for rows, _ in outcomes]))
    while True:
        lots, pricings = [], []
        for family in families:
            some, oracle = family.rows[np.isin(family.rows, live)], family.oracle
            if len(some):
                single = _points(pattern, some)
                lots += [(np.flatnonzero(line), oracle) for line in single]
                pricings.append(DearClusters(some, oracle, pattern, asked=False))
        lots, worth = generated(lots, pricings, pattern, meter)
        for family in families:
            mine = [lot for lot in lots if lot[1] is family.oracle]
            family.believe(_table(mine, families))
        cover = _settled(families, meter, prove)
        held = cover.held
        if not cover.settled or len(held) in (0, len(live)):
            return replace(cover, bound=_whole(worth[held].sum()))
        # Rows that nothing serves have no part in the bound.
        live = held


def _points(pattern, rows):
    """Return the clusters of equal rows among some, as bools over all rows."""
    _, kind = np.unique(pattern[rows], axis=0, return_inverse=True)
    out = np.zeros((kind.max() + 1, len(pattern)), dtype=bool)
    out[kind.ravel(), rows] = True
    return out


def _settled(families, meter, prove=True):
    """Return the Cover: clusters that it takes are asked until all are lawful."""
    while True:
        for family in families:
            family.spread()
        where, members = _live(families)
        if not len(members):
            return Cover([], 0, True)
        sets, held = _sets(members)
        chosen, least = fewest(sets, len(held), prove=False)
        if _asked(families, where[chosen], meter):
            continue
        if prove and len(chosen) > least and not meter.expired:
            chosen, least = fewest(sets, len(held), meter.left)
            if _asked(families, where[chosen], meter):
                continue
        if not all(families[f].state[c] == LAWFUL for f, c in where[chosen]):
            return _known(families, sets, held)
        lots = [_lot(families[f], c) for f, c in where[chosen]]
        return Cover(lots, least, True)


def _live(families):
    """Return ((family, cluster) pairs, members) of those that others do not contain."""
    where, members = [], []
    for f, family in enumerate(families):
        at = np.flatnonzero(family.state != UNLAWFUL)
        # Of equal ones those that are known to be lawful come first.
        at = at[np.argsort(family.state[at] != LAWFUL, kind="stable")]
        where.append(np.column_stack([np.full(len(at), f), at]))
        members.append(family.members[at])
    where, members = np.concatenate(where), np.concatenate(members)
    kept = undominated(members)
    return where[kept], members[kept]


def _sets(members):
    """Return (the rows of each set, numbered among those held; which are held)."""
    held = np.flatnonzero(members.any(axis=0))
    return [np.flatnonzero(line) for line in members[:, held]], held


def _lot(family, c):
    return np.flatnonzero(family.members[c]), family.oracle


def _asked(families, chosen, meter):
    """Ask what is not known yet of chosen clusters; tell whether anything was."""
    asked = False
    for f, c in chosen:
        if families[f].state[c] == BELIEVED and not meter.expired:
            families[f].ask(c)
            asked = True
    return asked


def _known(families, sets, held):
    """Return the Cover by clusters that are known to be lawful, when time is up."""
    for family in families:
        if family.oracle.quick:
            # What serves equal rows is known soon.
            for c in np.flatnonzero(~family.differ.any(axis=1)):
                family.ask(c)
    lots = _lawful_lots(families, lambda: True)
    if not lots:
        return Cover([], 0, False)
    mine, served = _sets(_table(lots, families))
    holds = membership(sets, len(held))
    worth = prices(holds)
    share = bound_of(worth, holds) / max(worth.sum(), ROOM)
    # Of the other rows it is not known whether they can be served.
    bound = _whole(share * worth[np.isin(held, served)].sum())
    lots = [lots[c] for c in greedily(membership(mine, len(served)))]
    return Cover(lots, bound, len(served) == len(held))


def _whole(bound):
    return max(1, int(np.ceil(bound - ROOM)))


def _held(lots):
    """Return the rows that lots hold."""
    return np.unique(np.concatenate([rows for rows, _ in lots]))


def _lawful_lots(families, expired):
    """Return the lots of clusters that are lawful, asked as long as there is time."""
    lots = []
    for family in families:
        for c in np.argsort(-family.members.sum(axis=1), kind="stable"):
            if not expired():
                family.ask(c)
        lots += [_lot(family, c) for c in np.flatnonzero(family.state == LAWFUL)]
    return [lots[c] for c in undominated(_table(lots, families))] if lots else []


def _table(lots, families):
    """Return which rows of the group lots hold, as bools."""
    table = np.zeros((len(lots), len(families[0].pattern)), dtype=bool)
    for line, (rows, _) in zip(table, lots, strict=True):
        line[rows] = True
    return table


def _part(meter):
    """Return a Meter of most of the time: the rest is for the changes themselves."""
    if meter.left is None:
        return meter
    return Meter(meter.deadline - (1 - SEARCHED) * meter.left)


def _half_expired(meter):
    """Return what tells whether half of the time is over: the rest is for the proof."""
    if meter.left is None:
        return lambda: meter.expired
    half = meter.left / 2
    return lambda: meter.expired or meter.left < half
