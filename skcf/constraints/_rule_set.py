"""The rules of an explainer over its feature space, taken apart for a search."""

from dataclasses import dataclass

import numpy as np

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import Compare, Differs, Binder, OneSet, Sum, cells_of, holds


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
    target : int
        The group that a cascade changes to satisfy it; -1 where a cascade cannot.
    """

    rule: int
    node: object
    groups: tuple
    target: int = -1

    @property
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
    filters : dict of group to list of Part
        Conjuncts about a single group: they cut its values down.
    couplings : dict of group to list of Part
        Conjuncts about several groups, by the group that repairs them.
    loose : list of Part
        Conjuncts about several groups that would close a cycle: kept as a mask,
        with a repair of one group at a time.
    facts : list of Part
        Conjuncts about the query alone.
    order : list of int
        Groups in the order in which a cascade visits them.
    max_changes : int or None
    """

    def __init__(self, rules, space):
        self.rules = tuple(rules)
        self.space = space
        bind = Binder(space)
        self.max_changes = self.max_changes_rule = None
        parts = []
        for r, rule in enumerate(self.rules):
            for node in self._nodes(r, rule, bind):
                parts += [self._part(r, piece) for piece in _conjuncts(node)]
        self.parts = parts
        self.facts = [p for p in parts if not p.groups]
        self.filters = {}
        for part in parts:
            if len(part.groups) == 1:
                self.filters.setdefault(part.groups[0], []).append(part)
        self._direct([p for p in parts if len(p.groups) > 1])

    def __len__(self):
        return len(self.rules)

    def holds(self, x, cf, lifted=None):
        """Return which rows of codes `cf` satisfy every rule for queries `x`.

        `lifted` is the position of a rule that does not count for a row.
        """
        tables = {"x": x, "cf": cf}
        lifted = np.full(len(cf), -1) if lifted is None else lifted
        ok = np.ones(len(cf), dtype=bool)
        for part in self.parts:
            passed = holds(part.node, lambda table, j: tables[table][:, j])
            ok &= passed | (lifted == part.rule)
        if self.max_changes is not None:
            few = self._n_changed(x, cf) <= self.max_changes
            ok &= few | (lifted == self.max_changes_rule)
        for members in self.space.groups:
            if len(members) > 1:
                ok &= self._taken_together(x, cf, members)
        return ok

    def _n_changed(self, x, cf):
        same = (cf == x) | (np.isnan(cf) & np.isnan(x))
        changed = np.zeros((len(cf), len(self.space.groups)), dtype=bool)
        for j, g in enumerate(self.space.group_of):
            changed[:, g] |= ~same[:, j]
        return changed.sum(axis=1)

    def _taken_together(self, x, cf, members):
        """Return where a group is the query's own or was observed."""
        members = list(members)
        own = ((cf == x) | (np.isnan(cf) & np.isnan(x)))[:, members].all(axis=1)
        table = self.space.values.table(self.space.group_of[members[0]])
        seen = {tuple(row) for row in table.tolist()}
        hit = [tuple(row) in seen for row in cf[:, members].tolist()]
        return own | np.array(hit, dtype=bool)

    # -- taking rules apart -------------------------------------------------------

    def _nodes(self, r, rule, bind):
        """Return the bound nodes that a rule stands for."""
        position = self.space.position
        match rule.tree:
            case syntax.MaxChanges(k):
                if self.max_changes is None or k < self.max_changes:
                    self.max_changes, self.max_changes_rule = k, r
                return []
            case syntax.Only(columns):
                free = {position(name) for name in columns}
                return [
                    same_as_query(j)
                    for j in range(self.space.n_features)
                    if j not in free
                ]
            case syntax.OneHot(columns):
                return [OneSet(tuple(position(name) for name in columns))]
            case syntax.Together() | syntax.Ordered():
                return []
        return [bind(rule)]

    def _part(self, r, node):
        cells = [j for table, j in cells_of(node) if table == "cf"]
        groups = tuple(dict.fromkeys(int(self.space.group_of[j]) for j in cells))
        return Part(r, node, groups)

    def _direct(self, parts):
        """Give every coupling a group that repairs it, without closing a cycle."""
        after = {g: set() for g in range(len(self.space.groups))}
        self.couplings, self.loose = {}, []
        for part in parts:
            for target in self._targets(part):
                needs = set(part.groups) - {target}
                if not any(_reaches(after, target, g) for g in needs):
                    for g in needs:
                        after[g].add(target)
                    aimed = Part(part.rule, part.node, part.groups, target)
                    self.couplings.setdefault(target, []).append(aimed)
                    break
            else:
                self.loose.append(part)
        self.order = _sorted_groups(after)

    def _targets(self, part):
        """Return the groups that may repair a part, the preferred one first."""
        if isinstance(part.node, syntax.Implies):
            cells = cells_of(part.node.consequent)
            hit = [int(self.space.group_of[j]) for t, j in cells if t == "cf"]
            return tuple(dict.fromkeys(hit)) or part.groups
        return part.groups


def same_as_query(j):
    """Return the clause that column `j` is as in the query."""
    cf, x = Sum(((1.0, "cf", j),), 0.0), Sum(((1.0, "x", j),), 0.0)
    return Compare(cf, "==", x, j)


def is_fixed(part):
    """Tell whether a part says that a column is as in the query."""
    node = part.node
    if isinstance(node, syntax.Not):
        return isinstance(node.operand, Differs)
    return isinstance(node, Compare) and node.same is not None and node.op == "=="


def _conjuncts(node):
    match node:
        case syntax.And(operands):
            return [piece for o in operands for piece in _conjuncts(o)]
        case syntax.Implies(condition, syntax.And(operands)):
            return [syntax.Implies(condition, o) for o in operands]
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
