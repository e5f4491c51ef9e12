"""Words for what tables of costs show: their rows, the column that they are sorted by, and what is counted."""

from typing import Literal

By = Literal["function", "object", "thread", "data-object"]
Sort = Literal["self", "total"]
Value = Literal["period", "samples", "latency", "weight", "mispredicts"]
