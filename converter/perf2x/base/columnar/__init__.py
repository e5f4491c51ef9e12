"""Numpy tools that know nothing of perf: tables, rows, distinct values, hashes, strings.

Tools that few modules need, or that are slow to import, are imported from their own modules instead.
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
    chain_ends,
    column_type,
    cumsum,
    ends_run,
    falses,
    flatnonzero,
    lexsort,
    minus_ones,
    narrow,
    new_row_numbers,
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
from perf2x.base.columnar.dictionary_column import DictionaryColumn, StringInterner
from perf2x.base.columnar.direct_mapped_cache import DirectMappedCache
from perf2x.base.columnar.interner import ListInterner, RowInterner, StringTableBuilder, prefix_tree
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
    group_pairs,
    group_rows,
    group_rows_by_hash,
    map_distinct,
    number_keys,
    rows_by,
    sorted_runs,
    sum_rows,
    sum_runs,
    unique,
    unique_inverse,
    unique_known,
)
from perf2x.base.frozen_struct import Frozen
