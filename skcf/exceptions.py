"""Warnings and errors raised by skcf."""


class CounterfactualNotFoundWarning(UserWarning):
    """Some rows of a call were left without a counterfactual."""


class InfeasibleConstraintError(ValueError):
    """The given rules contradict one another, whatever the row."""


class UnsupportedConstraintError(ValueError):
    """A rule asks for something that this explainer cannot honour."""
