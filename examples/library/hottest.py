"""The library in a notebook's steps: read a recording, look at its samples as columns, and keep a flame graph.

python examples/library/hottest.py examples/deferred/perf.data flame.html
"""

import sys

import numpy as np

from perf2x import Filters, convert, read, sample_table

recording, page = sys.argv[1:3]

# 1. A recording as a profile. ``timeline=True`` keeps one row per sample; ``filters`` takes part of it.
loaded = read(recording, timeline=True, filters=Filters(no_idle=True))
print(f"{loaded.samples:,} samples of {', '.join(event.name for event in loaded.events)}")

# 2. Columns of numpy.
table = sample_table(loaded.profile)

# 3. The busiest threads.
threads, thread = np.unique(table["comm"].astype(str), return_inverse=True)
cost = np.bincount(thread, weights=table["value"])
for row in np.argsort(-cost)[:3]:
    print(f"{cost[row] / 1e6:10.1f} ms  {threads[row]}")

# 4. How busy each tenth of the recording was.
if "time" in table:  # a recording without times (perf record without -T) has none
    since = (table["time"] - table["time"].min()).astype(np.int64)
    tenths = np.bincount(since * 10 // (since.max() + 1), minlength=10)
    print("samples per tenth:", *tenths)

# 5. The same with pandas, where it is installed: what each thread spent in which object, in milliseconds.
try:
    import pandas as pd
except ImportError:
    print("(pandas is not installed)")
else:
    frame = pd.DataFrame(table)
    spent = frame.pivot_table("value", "comm", "object", "sum", fill_value=0) / 1e6
    print(spent.loc[spent.sum(axis=1).nlargest(3).index].round(1).to_string())

# 6. A page to keep.
convert(recording, page)
print(f"wrote {page}")
