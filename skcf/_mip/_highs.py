"""HiGHS itself: silent, one thread, with tolerances that fit costs below one."""

import os
import threading
from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-9
_lock = threading.Lock()
_greeted = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver said.

    Attributes
    ----------
    status : {"optimal", "infeasible", "cutoff", "limit", "unbounded", "failed"}
        "cutoff": nothing is better than the cutoff that was given. "limit": stopped
        by time or by the user.
    values : ndarray of shape (n_variables,) or None
        The best point, None if there is none.
    objective : float
        That of the best point, inf if there is none.
    bound : float
        What no point falls below, as far as the solver proved; nan if it proves
        nothing, inf if there is no point.
    """

    status: str
    values: np.ndarray | None
    objective: float
    bound: float


def new_highs():
    """Return a Highs object that prints nothing.

    The first one of a process greets on the standard output, whatever its options.
    """
    global _greeted
    import highspy

    with _lock:
        if _greeted:
            highs = highspy.Highs()
        else:
            highs = _in_silence(highspy.Highs)
            _greeted = True
    highs.setOptionValue("output_flag", False)
    # Rows of an explainer are spread over jobs; a solver takes one of them. The option
    # "threads" stays as it is: HiGHS does not solve with another number than that of
    # the first solve of the process.
    highs.setOptionValue("parallel", "off")
    return highs


def _in_silence(make):
    """Call `make` while the standard output of the process leads nowhere."""
    try:
        kept = os.dup(1)
    except OSError:  # there is none
        return make()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        return make()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class Solver:
    """A linear program with integers inside HiGHS; it may grow between solves.

    Parameters
    ----------
    presolve : bool, default=True
        Whether HiGHS may rewrite the program first.
    tolerance : float, default=TOLERANCE
        How far integers may be from whole, and rows from their bounds.
    """

    def __init__(self, presolve=True, tolerance=TOLERANCE):
        import highspy

        self._api = highspy
        self.highs = new_highs()
        self.low = self.high = np.empty(0)
        self.integer = np.empty(0, dtype=bool)
        self.offset, self.unit = 0.0, 1.0
        self.presolve = presolve
        self.highs.setOptionValue("mip_feasibility_tolerance", tolerance)
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.highs.setOptionValue(name, TOLERANCE)
        if not presolve:
            self.highs.setOptionValue("presolve", "off")

    @property
    def n(self):
        """Number of variables."""
        return len(self.low)

    def add_columns(self, low, high, integer):
        """Add variables, arrays of shape (n_new,)."""
        nothing = np.empty(0, dtype=np.int32)
        at = self.n + np.flatnonzero(integer).astype(np.int32)
        self.highs.addCols(
            len(low), np.zeros(len(low)), low, high, 0, nothing, nothing, np.empty(0)
        )
        self.low, self.high = np.append(self.low, low), np.append(self.high, high)
        self.integer = np.append(self.integer, integer)
        self._set_kinds(at, self._api.HighsVarType.kInteger)

    def _set_kinds(self, at, kind):
        if len(at):
            kinds = np.full(len(at), kind)
            self.highs.changeColsIntegrality(len(at), at.astype(np.int32), kinds)

    def add_rows(self, low, high, start, index, value):
        """Add rows ``low <= A x <= high`` in compressed form."""
        self.highs.addRows(
            len(low),
            low,
            high,
            len(index),
            start.astype(np.int32),
            index.astype(np.int32),
            value,
        )

    def minimize(self, cost, offset=0.0):
        """Set the objective. Inside it is scaled, for tolerances are absolute."""
        largest = np.abs(cost).max(initial=0.0)
        self.unit = 2.0 ** np.round(np.log2(largest)) / 64 if largest else 1.0
        self.offset = offset
        every = np.arange(self.n, dtype=np.int32)
        self.highs.changeColsCost(self.n, every, cost / self.unit)

    def solve(
        self,
        *,
        time_limit=None,
        start=None,
        cutoff=None,
        gap=0.0,
        tell=None,
        relax=False,
        pins=(),
    ):
        """Return the Outcome; the parameters are those of `Mip.solve`.

        `pins` are pairs (position, value) of variables that are fixed for this time.
        """
        highs = self.highs
        highs.setOptionValue("mip_rel_gap", gap)
        highs.setOptionValue("mip_abs_gap", TOLERANCE)
        limit = np.inf if time_limit is None else max(time_limit, 0.0)
        highs.setOptionValue("time_limit", limit)
        top = np.inf if cutoff is None else (cutoff - self.offset) / self.unit
        highs.setOptionValue("objective_bound", top)
        whole = np.flatnonzero(self.integer)
        if relax:
            self._set_kinds(whole, self._api.HighsVarType.kContinuous)
        pinned = np.array([i for i, _ in pins], dtype=np.int32)
        at = np.array([v for _, v in pins], dtype=np.float64)
        if len(pinned):
            highs.changeColsBounds(len(pinned), pinned, at, at)
        if start is not None:
            every = np.arange(self.n, dtype=np.int32)
            highs.setSolution(self.n, every, np.asarray(start, dtype=np.float64))
        if tell is not None:
            self._tell(tell)
        highs.run()
        plain = relax or not len(whole)
        out = self._outcome(cutoff, plain)
        if out.status == "infeasible" and self.presolve:
            # Presolving has been seen to lose points: no proof rests on it alone.
            highs.setOptionValue("presolve", "off")
            highs.run()
            out = self._outcome(cutoff, plain)
            highs.setOptionValue("presolve", "choose")
        if tell is not None:
            highs.setCallback(None, None)
        if len(pinned):
            low, high = self.low[pinned], self.high[pinned]
            highs.changeColsBounds(len(pinned), pinned, low, high)
        if relax:
            self._set_kinds(whole, self._api.HighsVarType.kInteger)
        return out

    def _tell(self, tell):
        """Report progress, and stop where the answer is False."""
        kinds = self._api.cb.HighsCallbackType

        def heard(kind, message, out, answer, data):
            best, bound = out.mip_primal_bound, out.mip_dual_bound
            go = tell(best * self.unit + self.offset, bound * self.unit + self.offset)
            if go is False and kind == kinds.kCallbackMipInterrupt:
                answer.user_interrupt = True

        self.highs.setCallback(heard, None)
        self.highs.startCallback(kinds.kCallbackMipInterrupt)

    def _outcome(self, cutoff, plain):
        status = self.highs.getModelStatus()
        info, names = self.highs.getInfo(), self._api.HighsModelStatus
        has_point = info.primal_solution_status == 2
        values = None
        if has_point and status != names.kInfeasible:
            values = np.array(self.highs.getSolution().col_value)
        objective = np.inf
        if values is not None:
            objective = info.objective_function_value * self.unit + self.offset
        bound = np.nan
        if not plain:
            bound = info.mip_dual_bound * self.unit + self.offset
        elif status == names.kOptimal:
            bound = objective
        if status == names.kOptimal:
            return Outcome("optimal", values, objective, min(bound, objective))
        if status in (names.kInfeasible, names.kObjectiveBound):
            if cutoff is not None:
                return Outcome("cutoff", None, np.inf, cutoff)
            return Outcome("infeasible", None, np.inf, np.inf)
        stopped = (
            names.kTimeLimit,
            names.kInterrupt,
            names.kIterationLimit,
            names.kSolutionLimit,
        )
        if status in stopped:
            if not np.isfinite(bound):
                bound = np.nan
            return Outcome("limit", values, objective, bound)
        if status in (names.kUnbounded, names.kUnboundedOrInfeasible):
            return Outcome("unbounded", None, np.inf, np.nan)
        return Outcome("failed", None, np.inf, np.nan)
