"""Order of a named profile's functions: by content, whichever source and process named them, and in whatever order."""

import numpy as np
from msgspec.structs import replace

from perf2x.model.profile.profile import Functions, Profile


def in_function_order(profile: Profile, kept: int) -> Profile:
    """Sort the functions that lines need by their texts and first lines, and drop all others.

    The first ``kept`` strings stay, the others follow in the order in which functions need them.
    """
    old, strings = profile.functions, profile.strings
    used = np.zeros(len(old), np.bool_)
    used[profile.locations.line_function] = True
    texts = (old.name, old.system_name, old.filename)
    columns = [[strings[row] for row in column.tolist()] for column in texts]
    rows = list(zip(*columns, old.start_line.tolist(), strict=True))
    order = np.array(sorted(np.flatnonzero(used).tolist(), key=rows.__getitem__), np.int64)
    number = np.zeros(len(old), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    index = {text: row for row, text in enumerate(strings[:kept])}
    name, system_name, filename = (
        np.array([index.setdefault(column[row], len(index)) for row in order.tolist()], np.int32) for column in columns
    )
    functions = Functions(name, system_name, filename, old.start_line[order])
    locations = replace(profile.locations, line_function=number[profile.locations.line_function])
    return replace(profile, strings=list(index), functions=functions, locations=locations)
