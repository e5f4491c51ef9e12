"""Addresses among the inputs."""

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

from perf2x.base.files.remote import is_address


def local_names(names: Sequence[str]) -> AbstractContextManager[list[str]]:
    """Give names of this machine's files for the inputs: datasets of object stores are copied for as long as that."""
    if not any(map(is_address, names)):
        return contextlib.nullcontext(list(names))
    from perf2x.storage.dataset.fetched_dataset import fetched

    return fetched(names)
