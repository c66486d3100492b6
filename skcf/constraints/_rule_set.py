"""The rules of an explainer over its feature space, taken apart for a search."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import cells_of, holds
from skcf.constraints._binder import Binder
from skcf.constraints._structure import read_structure


@dataclass(frozen=True)
class Part:
    """One conjunct of a rule.

    Attributes
    ----------
    rule : int
        Position of the rule it comes from.
    node : bound clause or Implies
    groups : tuple of int
        The groups of columns whose counterfactual cells it reads.
    repairs : tuple of int
        Those of them that may be changed to satisfy it, the preferred one first.
    """

    rule: int
    node: object
    groups: tuple
    repairs: tuple

    @cached_property
    def x_columns(self):
        """The positions of the columns that it reads from the query."""
        return tuple(dict.fromkeys(j for t, j in cells_of(self.node) if t == "x"))


class RuleSet:
    """The rules of an explainer, bound to a feature space.

    Attributes
    ----------
    rules : tuple of Rule
    parts : list of Part
        All conjuncts of all rules.
    facts : list of Part
        Conjuncts about the query alone.
    filters : dict of group to list of Part
        Conjuncts about a single group: they cut its values down.
    joint : list of Part
        Conjuncts about several groups.
    couplings : dict of group to list of Part
        Joint conjuncts by the group that a cascade changes to satisfy them. One that
        would close a cycle is in no list.
    touching : dict of group to list of Part
        Joint conjuncts by the groups that they read.
    order : list of int
        Groups in the order in which a cascade visits them.
    max_changes : int or None
        The fewest changes that a rule allows.
    max_changes_rule : int or None
        The position of that rule.
    low, high : ndarray of shape (n_features,)
        The range of proposed numbers: that of the space, or what these rules declare.
    """

    def __init__(self, rules, space):
        self.rules = tuple(rules)
        self.space = space
        bind = Binder(space)
        self.parts = [
            self._part(r, piece)
            for r, rule in enumerate(self.rules)
            for node in bind(rule)
            for piece in _conjuncts(node)
        ]
        self.facts = [p for p in self.parts if not p.groups]
        self.joint = [p for p in self.parts if len(p.groups) > 1]
        self.filters, self.touching = {}, {}
        for part in self.parts:
            kind = self.filters if len(part.groups) == 1 else self.touching
            for g in part.groups:
                kind.setdefault(g, []).append(part)
        self._direct()
        self.low, self.high = space.low.copy(), space.high.copy()
        ranges = read_structure(self.rules, space.container)["ranges"]
        for j, ends in ranges.items():
            if space.numeric[j]:
                self.low[j], self.high[j] = space.columns[j].ends(*ends)
        self._limits = sorted(
            (rule.tree.k, r)
            for r, rule in enumerate(self.rules)
            if isinstance(rule.tree, syntax.MaxChanges)
        )
        first = self._limits[0] if self._limits else (None, None)
        self.max_changes, self.max_changes_rule = first

    def __len__(self):
        return len(self.rules)

    def limit(self, n, lifted=None):
        """Return how many groups may change in each of `n` rows.

        `lifted` is the position of a rule that does not count for a row.
        """
        out = np.full(n, len(self.space.groups))
        lifted = np.full(n, -1) if lifted is None else lifted
        for k, r in self._limits:
            out[lifted != r] = np.minimum(out[lifted != r], k)
        return out

    def holds(self, x, cf, lifted=None):
        """Return which rows of codes `cf` satisfy every rule for queries `x`."""
        tables = {"x": x, "cf": cf}
        off = np.full(len(cf), -1) if lifted is None else lifted
        ok = np.ones(len(cf), dtype=bool)
        for part in self.parts:
            passed = holds(part.node, lambda table, j: tables[table][:, j])
            ok &= passed | (off == part.rule)
        same = (cf == x) | (np.isnan(cf) & np.isnan(x))
        changed = np.zeros((len(cf), len(self.space.groups)), dtype=bool)
        for g, members in enumerate(self.space.groups):
            changed[:, g] = ~same[:, list(members)].all(axis=1)
            if len(members) > 1:
                seen = self.space.values.find(g, cf[:, list(members)]) >= 0
                ok &= seen | ~changed[:, g]
        return ok & (changed.sum(axis=1) <= self.limit(len(cf), lifted))

    # -- taking rules apart -------------------------------------------------------

    def _part(self, r, node):
        groups = self._groups(node)
        repairs = groups
        if isinstance(node, syntax.Implies):
            repairs = self._groups(node.consequent) or groups
        return Part(r, node, groups, repairs)

    def _groups(self, node):
        """Return the groups whose counterfactual cells a node reads, in order."""
        cells = [j for table, j in cells_of(node) if table == "cf"]
        return tuple(dict.fromkeys(int(self.space.group_of[j]) for j in cells))

    def _direct(self):
        """Give every joint part a group that repairs it, without closing a cycle."""
        after = {g: set() for g in range(len(self.space.groups))}
        self.couplings = {}
        for part in self.joint:
            for target in part.repairs:
                needs = set(part.groups) - {target}
                if not any(_reaches(after, target, g) for g in needs):
                    for g in needs:
                        after[g].add(target)
                    self.couplings.setdefault(target, []).append(part)
                    break
        self.order = _sorted_groups(after)


def _conjuncts(node):
    match node:
        case syntax.And(operands):
            return [piece for o in operands for piece in _conjuncts(o)]
        case syntax.Implies(condition, syntax.And(operands)):
            return [
                piece
                for o in operands
                for piece in _conjuncts(syntax.Implies(condition, o))
            ]
    return [node]


def _reaches(after, start, goal):
    """Tell whether `goal` comes after `start`."""
    seen, stack = set(), [start]
    while stack:
        g = stack.pop()
        if g == goal:
            return True
        if g not in seen:
            seen.add(g)
            stack.extend(after[g])
    return False


def _sorted_groups(after):
    """Return the groups in topological order, smaller numbers first."""
    before = dict.fromkeys(after, 0)
    for targets in after.values():
        for g in targets:
            before[g] += 1
    ready, out = sorted(g for g, n in before.items() if not n), []
    while ready:
        g = ready.pop(0)
        out.append(g)
        for target in sorted(after[g]):
            before[target] -= 1
            if not before[target]:
                ready.append(target)
        ready.sort()
    return out
