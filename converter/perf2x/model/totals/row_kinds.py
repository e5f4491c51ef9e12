"""Terms for tables of costs: kinds of rows, sort columns and values."""

from typing import Literal

By = Literal["function", "object", "thread", "data-object"]
Sort = Literal["self", "total"]
Value = Literal["period", "samples", "latency", "weight", "mispredicts"]
