"""docs/fleet.md's questions about a fleet have the answers that stand there; what was planted comes first.

``python -m tests.unit.fleet.test_fleet_statistics`` writes the answers anew; read the difference.
"""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from perf2x.base.students_t import student
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.datasets import add_recordings, name_places, rows
from tests.support.extremes import EVENT, SAMPLE, STAMP
from tests.support.recordings import ROOT

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")
pa = pytest.importorskip("pyarrow")

PAGE = ROOT / "docs" / "fleet.md"
SECTION = re.compile(r"(## Questions about a fleet\n)(.*?)(?=\n## )", re.DOTALL)
QUESTION = re.compile(r"(\*\*([^*]+)\*\*.*?```sql\n(.*?)```\n\n```text\n)(.*?)```", re.DOTALL)
SECONDS = 10
SHOP, LIBC, ZLIB = (0x10000, "/usr/bin/shop"), (0x70000, "/lib/libc.so.6"), (0xA0000, "/lib/libz.so.1")
BASE = {  # CPU seconds of ten
    "web": {"render": 2.4, "route": 2.6, "memcpy": 2.0, "malloc": 1.5, "inflate": 1.5},
    "db": {"scan": 4.0, "memcpy": 3.0, "malloc": 1.0, "inflate": 2.0},
}
HOSTS = {"web": 6, "db": 5}
CODE = {"render": (SHOP, 0), "route": (SHOP, 1), "scan": (SHOP, 2), "memcpy": (LIBC, 0), "malloc": (LIBC, 1),
        "inflate": (ZLIB, 0)}  # fmt: skip


def address(name: str) -> int:
    (start, _), row = CODE[name]
    return start + 0x100 * row


def recording(host: str, seconds: dict[str, float]) -> bytes:
    """Ten seconds of a host in which functions ran so long."""
    maps: list[forge.Record] = [
        forge.Mmap2(pid=10, tid=10, addr=start, len=0x10000, filename=name, stamp=STAMP, build_id=name[-9:].encode())
        for start, name in (SHOP, LIBC, ZLIB)
    ]
    step = SECONDS * 10**9 // (len(seconds) - 1)
    samples = [
        replace(SAMPLE, time=1000 + row * step, period=round(took * 1e9), ip=address(name),
                chain=(k.CONTEXT_USER, address(name)))
        for row, (name, took) in enumerate(seconds.items())
    ]  # fmt: skip
    return forge.write_file(forge.Session((EVENT,), features=forge.Features(hostname=host)), [*maps, *samples])


def made_fleet(folder: Path, partition: Sequence[str] = ()) -> Path:
    """A fleet of two days; what ``render`` costs grows, and a host of ``db`` allocates more than the others."""
    random = Random(11)
    for service, base in BASE.items():
        for number in range(1, HOSTS[service] + 1):
            own = {name: took * random.uniform(0.9, 1.1) for name, took in base.items()}
            own["malloc"] *= 4 if (service, number) == ("db", 4) else 1
            for day in range(2):
                seconds = {name: took * random.uniform(0.97, 1.03) for name, took in own.items()}
                if service == "web" and day:
                    seconds["render"] *= 3
                file = folder / f"{service}{number}-2026112{1 + day}.data"
                file.write_bytes(recording(f"{service}{number}", seconds))
                tags = {"service": service, "version": "2" if service == "web" and day else "1"}
                add_recordings(folder / "profiles", [file], tags, partition, start_time="*-%Y%m%d.data")
    owner = {(file, address(name) - start): name for name, ((start, file), _) in CODE.items()}
    seen = {owner[row["file"], row["file_offset"]]: row for row in rows(folder / "profiles", "places")}
    for name, row in seen.items():
        name_places(folder / "profiles", [row], [(name, name, "", 0)])
    return folder / "profiles"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_fleet(tmp_path_factory.mktemp("fleet"))


def questions() -> dict[str, tuple[str, str]]:
    (section,) = SECTION.findall(PAGE.read_text(encoding="utf-8"))
    return {title: (sql, said) for _, title, sql, said in QUESTION.findall(section[1])}


def answer(data: Path, sql: str, form: str = "table") -> str:
    ran = perf2x("fleet", "query", data, sql, "--format", form)
    assert (ran.code, ran.err) == (0, "")
    return "".join(f"{line.rstrip()}\n" for line in ran.out.splitlines())


@pytest.mark.parametrize("title", questions())
def test_answers_are_those_of_the_page(fleet: Path, title: str) -> None:
    sql, said = questions()[title]
    assert answer(fleet, sql) == said


def test_the_planted_changes_come_first_and_few_others_are_told(fleet: Path) -> None:
    hours, changed, outliers = (answer(fleet, sql, "csv").splitlines()[1:] for sql, _ in questions().values())
    assert len(hours) == 3
    service, function, hosts, before, after, *_ = changed[0].split(",")
    assert (service, function, hosts) == ("web", "render", "6")
    assert 22 < float(before) < 25 < 43 < float(after) < 50
    assert all(row.startswith("web,") for row in changed)  # what the others lost to it
    assert outliers[0].split(",")[:3] == ["db", "db4", "malloc"]
    assert all(row.startswith("db,db4,") for row in outliers)


def test_equal_fleets_seldom_differ() -> None:
    """Of fleets whose hosts differ by a third, and whose days do not, nearly all tables are empty."""
    duckdb = pytest.importorskip("duckdb")
    told = dict.fromkeys(list(questions())[1:], 0)
    for seed in range(25):
        random = np.random.default_rng(seed)
        usual = random.dirichlet(np.full(30, 1.0))
        rows = []
        for host in range(8):
            own = usual * np.exp(random.normal(0, 0.3, 30))
            for day in ("2026-11-21", "2026-11-22"):
                costs = own * np.exp(random.normal(0, 0.1, 30))
                rows += [(f"{host} {day}", f"h{host}", day, f"f{row}", cost) for row, cost in enumerate(costs.tolist())]
        with duckdb.connect() as connection:
            connection.create_function("student", student, ["DOUBLE", "BIGINT", "BIGINT"], "DOUBLE")
            columns = zip(("recording", "host", "date", "function", "cost"), zip(*rows, strict=True), strict=True)
            connection.register("all_rows", pa.table({name: list(values) for name, values in columns}))
            connection.execute(
                "CREATE VIEW recordings AS SELECT DISTINCT recording, host, date, MAP {'service': 'web'} AS tags "
                "FROM all_rows"
            )
            connection.execute(
                "CREATE VIEW by_function AS SELECT recording, host, date, 'web' AS service, function, "
                "cost AS cpu_seconds, 1 AS weight FROM all_rows"
            )
            for title in told:
                told[title] += bool(connection.sql(questions()[title][0]).fetchall())
    assert max(told.values()) <= 3, told


def test_services_of_one_host_have_no_interval_and_are_not_told(fleet: Path) -> None:
    for sql, _ in list(questions().values())[1:]:
        asked = sql.replace("SELECT service, host", "SELECT host AS service, host", 1)
        found = answer(Path(f"{fleet}?service=db"), asked, "csv")
        assert len(found.splitlines()) == 1, sql


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        data = made_fleet(Path(place))
        text = PAGE.read_text(encoding="utf-8")
        new = SECTION.sub(
            lambda all_: all_[1] + QUESTION.sub(lambda q: f"{q[1]}{answer(data, q[3])}```", all_[2]), text
        )
        PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
