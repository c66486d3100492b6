"""Series: their layout and distances, and the searches over combinations of them."""

from skcf._series._channels import in_channels
from skcf._series._cost import SeriesCost
from skcf._series._forest import read_model
from skcf._series._gauge import gauge_of
from skcf._series._index import SeriesIndex, keogh_bounds
from skcf._series._mixture import Task, in_triangles, on_lines, with_more
from skcf._series._rays import Rays, nearest_of, search_rays
from skcf._series._space import SeriesSpace
from skcf._series._swap import (
    Swaps,
    swap_by_climbing,
    swap_by_policy,
    swap_greedily,
)
from skcf._series._warped import alternate

__all__ = [
    "Rays",
    "SeriesCost",
    "SeriesIndex",
    "SeriesSpace",
    "Swaps",
    "Task",
    "alternate",
    "gauge_of",
    "in_channels",
    "in_triangles",
    "keogh_bounds",
    "nearest_of",
    "on_lines",
    "read_model",
    "search_rays",
    "swap_by_climbing",
    "swap_by_policy",
    "swap_greedily",
    "with_more",
]
