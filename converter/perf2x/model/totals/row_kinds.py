"""Choices for tables of costs: kinds of rows, costs to sort by, and values to sum."""

from typing import Literal

By = Literal["function", "object", "thread", "data-object"]
Sort = Literal["self", "total"]
Value = Literal["period", "samples", "latency", "weight", "mispredicts"]
