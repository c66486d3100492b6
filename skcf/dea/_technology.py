"""What the observed units show to be possible, and how near a plan comes to it."""

import logging

import numpy as np

from skcf.dea._facets import NEGLIGIBLE, enumerate_facets
from skcf.dea._program import Program

# How many units are asked for, at most, whether the facets agree with the programs.
MAX_COMPARED = 50
AGREEMENT = 1e-8
MAX_CELLS = 4_000_000

logger = logging.getLogger("skcf")


class Technology:
    """The technology of some units under one returns to scale.

    Plans are rows of inputs followed by outputs, in the units of the user. Inside, all
    columns are divided by their means.

    Parameters
    ----------
    plans : ndarray of shape (n_units, n_inputs + n_outputs)
    n_inputs : int
    returns_to_scale : {"crs", "vrs", "drs", "irs"}
    max_facets : int
        With more facets there are none: `facets` is None.

    Attributes
    ----------
    units : ndarray of shape (n_units, n_inputs + n_outputs)
    is_input : ndarray of bool of shape (n_inputs + n_outputs,)
    scale : ndarray of shape (n_inputs + n_outputs,)
    x, y : ndarray of shape (n_units, ...)
        The units, scaled.
    facets : ndarray of shape (n_facets, n_inputs + n_outputs + 1) or None
        Rows (u, v, w) over scaled plans: ``u.x - v.y - w >= 0`` is possible.
    """

    def __init__(self, plans, n_inputs, returns_to_scale, max_facets):
        self.n_inputs, self.returns_to_scale = n_inputs, returns_to_scale
        mean = plans.mean(axis=0)
        self.scale = np.where(mean > 0, mean, 1.0)
        self.units = plans
        self.x, self.y = self.split(plans)
        self.is_input = np.arange(plans.shape[1]) < n_inputs
        self.facets = None
        if max_facets:
            self.facets = enumerate_facets(self.x, self.y, returns_to_scale, max_facets)
        if self.facets is not None and not self._agree(plans):
            logger.info("The facets disagree with the linear programs; none are used.")
            self.facets = None

    def split(self, plans):
        """Return the scaled inputs and outputs of plans."""
        scaled = plans / self.scale
        return scaled[..., : self.n_inputs], scaled[..., self.n_inputs :]

    def program(self, measure):
        """Return a new linear program over the units."""
        return Program(self.x, self.y, self.returns_to_scale, measure)

    def programmed(self, plans, measure):
        """Return the efficiencies of plans by linear programs."""
        program, (x, y) = self.program(measure), self.split(plans)
        return np.array([program.efficiency(*p) for p in zip(x, y, strict=True)])

    def weights(self, plans, measure):
        """Return the weights of the units that plans are held against."""
        program, (x, y) = self.program(measure), self.split(plans)
        found = [program.weights(*plan) for plan in zip(x, y, strict=True)]
        return np.array(found).reshape(len(plans), len(self.x))

    def efficiency(self, plans, measure):
        """Return the efficiencies of plans, by the facets where they are known."""
        if self.facets is None:
            return self.programmed(plans, measure)
        step = max(1, MAX_CELLS // len(self.facets))
        lots = [
            self._by_facets(plans[i : i + step], measure)
            for i in range(0, len(plans), step)
        ]
        return np.concatenate(lots)

    def _by_facets(self, plans, measure):
        """Return the largest efficiency at the prices of any facet.

        A facet on which the measure has no effect says whether the rest of the plan is
        possible at all; where it is not, the efficiency is infinite.
        """
        x, y = self.split(plans)
        u, v, w = self.prices()
        paid, earned = x @ u.T, y @ v.T
        if measure == "input":
            part, whole = earned + w, paid
            bare = whole <= 0
            beyond = bare & (part > NEGLIGIBLE * (earned + np.abs(w)))
        else:
            part, whole = earned, paid - w
            rounding = NEGLIGIBLE * (paid + np.abs(w))
            bare = whole <= rounding
            beyond = np.where(part > 0, bare, whole < -rounding)
        ratio = np.where(bare, 0.0, part / np.where(bare, 1.0, whole))
        out = ratio.max(axis=1, initial=0.0)
        out[beyond.any(axis=1)] = np.inf
        return out

    def radial(self, plans, now, wanted, measure):
        """Return plans with all inputs, or outputs, multiplied to an efficiency."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if measure == "input":
                factor, moved = now / wanted, self.is_input
            else:
                factor, moved = wanted / now, ~self.is_input
            return np.where(moved, plans * np.asarray(factor)[:, None], plans)

    def unscaled_facets(self):
        """Return the facets over plans in the units of the user."""
        if self.facets is None:
            return None
        out = self.facets.copy()
        out[:, :-1] /= self.scale
        return out

    def prices(self):
        """Return (u, v, w) of the facets."""
        return np.split(self.facets, [self.n_inputs, -1], axis=1)[:2] + [
            self.facets[:, -1]
        ]

    def _agree(self, plans):
        """Tell whether facets and programs find the same efficiencies of the units."""
        rows = np.unique(np.linspace(0, len(plans) - 1, MAX_COMPARED).astype(np.intp))
        some = plans[rows]
        return all(
            np.allclose(
                self.efficiency(some, measure),
                self.programmed(some, measure),
                rtol=AGREEMENT,
                atol=AGREEMENT,
            )
            for measure in ("input", "output")
        )
