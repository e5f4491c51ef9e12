"""Fresh recordings of this machine, held against perf: ``python -m tests.oracle.fresh``.

``modes`` are ways to record the programs of ``programs``, ``recording`` runs perf and perf2x, ``comparison`` says what
differs, and ``known`` which of that docs/differences.md has.
"""
