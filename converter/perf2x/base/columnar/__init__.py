"""Numpy tools that know nothing of perf: rows, distinct values, hashes, texts.

Import the tools below from this package. Tools that few modules need, or that are slow to import, are not listed here:
import them from their own modules.
"""

from perf2x.base.columnar.arrays import (
    F64,
    I32,
    I64,
    U8,
    U32,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    GrowableColumns,
    SampleColumns,
    arange,
    argsort,
    as_int32,
    as_int64,
    as_intp,
    as_uint64,
    begins_run,
    bincount,
    column_type,
    cumsum,
    ends_of,
    ends_run,
    falses,
    flatnonzero,
    lexsort,
    minus_ones,
    narrow,
    new_rows,
    no_rows,
    of_next,
    of_previous,
    repeat,
    row_slices,
    searchsorted,
    sum_at,
    sum_of,
    take,
    take_rows_of,
    trues,
    zeros,
)
from perf2x.base.columnar.dictionary_column import DictionaryColumn, TextInterner
from perf2x.base.columnar.direct_mapped_cache import DirectMappedCache
from perf2x.base.columnar.interner import ListInterner, RowInterner, StringInterner, prefix_tree
from perf2x.base.columnar.keyed_values import KeyedTimes, KeyedValues, KeyNumbers
from perf2x.base.columnar.list_array import (
    ListArray,
    SharedRows,
    argsort_small,
    end_to_end,
    join_tables,
    offsets_of,
    ranges,
    row_batches,
    row_numbers,
    side_by_side,
)
from perf2x.base.columnar.unique import (
    argsort_rows,
    group_alike,
    group_pairs,
    group_rows,
    number_keys,
    numbers_of,
    rows_by,
    sorted_runs,
    sum_rows,
    sum_runs,
    unique,
    unique_inverse,
    unique_known,
)
from perf2x.base.frozen_struct import Frozen
