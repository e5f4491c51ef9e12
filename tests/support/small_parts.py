"""Makes all that is done piece by piece be done in tiny pieces, so that small recordings cross every boundary.

``SMALL_PARTS=1 pytest tests/laws tests/oracle`` runs the laws so. Constants that say how much is done at once are found
by their names; a new one that is called so is found, too.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import perf2x

_ROOT = Path(perf2x.__file__).parent
_NAMED = re.compile(r"^(_(?:[A-Z]+_)*(?:AT_ONCE|PER_WRITE|PER_PIECE)) = ", re.MULTILINE)
_PIECE = 16
_OTHERS = {
    "reader.first_walk": {"BLOCK_SIZE": 1 << 10, "FEW_RECORDS": 4, "LARGEST_BLOCK": 1 << 12},
    "reader.containers.input_file": {"CHUNK_SIZE": 1 << 10},
    "reader.sideband_decoder": {"_MIN_BATCH": 3},
    "reader.spe.spe_recording": {"CHUNK_SIZE": 1 << 8},
    "reader.record_framing": {"_RECORDS_PER_STEP": 3, "_MIN_RUN": 2, "_LARGE_RECORD_WORDS": 12},
    "stitcher.stacks.raw_stack_cache": {"_MAX_ROWS": 8, "_MAX_WORDS": 64},
    "stitcher.stacks.sample_sums": {"_MIN_NEW_ROWS": 8},
    "stitcher.branch_traces": {"_MIN_NEW_ROWS": 8},
    "base.columnar.hashing": {"_FEW_WORDS": 4},
    "base.columnar.keyed_values": {"_DENSE_LIMIT": 64},
    "base.columnar.unique": {"FEW_ROWS": 2},
    "base.files.read_file": {"_CHUNK_SIZE": 1 << 10},
    "base.files.operating_system": {"_CHUNK_SIZE": 1 << 10},
    "model.transforms.incremental_merge": {"LEAST_ROWS": 8},
    "emitters.collapsed": {"_ROWS_FOR_WRITER_THREAD": 8},
    "emitters.chrome.chrome": {"_SAMPLES_FOR_WRITER_THREAD": 8},
    "emitters.encoding.json_encoder": {"_FEW": 2},
}
"""Constants of such a kind with other names, by module."""


@cache
def small_parts() -> dict[tuple[str, str], int]:
    """Small value of each constant, by module and name."""
    found = {
        (".".join(path.relative_to(_ROOT).with_suffix("").parts), name): _PIECE
        for path in sorted(_ROOT.rglob("*.py"))
        for name in _NAMED.findall(path.read_text())
    }
    return found | {(module, name): value for module, named in _OTHERS.items() for name, value in named.items()}


def cut_small(patch: pytest.MonkeyPatch) -> None:
    """Let everything be done in tiny pieces until ``patch`` ends."""
    for (module, name), value in small_parts().items():
        patch.setattr(import_module(f"perf2x.{module}"), name, value)
