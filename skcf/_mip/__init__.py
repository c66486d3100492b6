"""Exact models of an estimator over a feature space, and the solver behind them."""
