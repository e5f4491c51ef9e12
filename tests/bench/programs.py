"""Programs to record, and inputs for them that a random number makes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

Program = Callable[[Path, Random], Sequence[str]]


def _text(random: Random, lines: int) -> str:
    words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(400)]
    return "".join(" ".join(random.choices(words, k=random.randint(3, 12))) + "\n" for _ in range(lines))


def _compiler(name: str, suffix: str) -> Program:
    def program(place: Path, random: Random) -> Sequence[str]:
        kind = random.choice(("int", "double", "long"))
        bodies = "".join(
            f"{kind} f{row}({kind} a, {kind} b) {{ for ({kind} i = {row}; i < b; i += 1) "
            f"{{ if (a > {random.randint(1, 99)}) a = a * b - i; else a += f{max(row - 1, 0)}(b, i); }} return a; }}\n"
            for row in range(random.randint(200, 900))
        )
        headers = random.sample(("map", "regex", "vector", "algorithm", "iostream", "unordered_map"), 3)
        begin = "".join(f"#include <{one}>\n" for one in headers) if suffix == "cc" else "#include <stdio.h>\n"
        (place / f"a.{suffix}").write_text(begin + bodies)
        return [name, f"-O{random.randint(0, 3)}", *(["-g"] * random.randint(0, 1)), "-c", f"a.{suffix}"]

    return program


def _rust(place: Path, random: Random) -> Sequence[str]:
    bodies = "".join(
        f"pub fn f{row}(v: &[u64]) -> Vec<String> "
        f"{{ v.iter().map(|x| x * {row}).filter(|x| x % {random.randint(2, 9)} > 0)"
        ".map(|x| x.to_string()).collect() }\n"
        for row in range(random.randint(40, 200))
    )
    (place / "a.rs").write_text(bodies)
    return ["rustc", "--crate-type", "lib", "-C", f"opt-level={random.randint(0, 3)}", "a.rs"]


_PYTHON = (
    "import json\nwhile 1: json.loads(json.dumps({{str(i): [i] * {0} for i in range(999)}}))",
    "import re\nwhile 1: re.findall(r'(\\w+)\\s+\\1|[a-{1}]+{0}', 'ab ab cd efg ' * 999)",
    "import ast, inspect, argparse\nwhile 1: ast.unparse(ast.parse(inspect.getsource(argparse)))",
    "import difflib, random\nwhile 1: difflib.SequenceMatcher(None, random.choices('abc', k={0}0), 'abc' * 30).ratio()",
    "import zlib, hashlib, os\nwhile 1: hashlib.sha256(zlib.compress(os.urandom({0}999), {0} % 9)).digest()",
    "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('create table t (a, b)')\n"
    "while 1: c.executemany('insert into t values (?, ?)', ((i % {0}9, i) for i in range(999)));"
    " c.execute('select a, sum(b) from t group by a').fetchall()",
    "import decimal, fractions\nwhile 1: sum(fractions.Fraction(1, i) for i in range(1, {0}0))",
    "import xml.etree.ElementTree as e\nwhile 1: e.fromstring('<a>' + '<b c=\"1\">x</b>' * {0}99 + '</a>')",
    "import textwrap, csv, io\nwhile 1: textwrap.fill('word ' * {0}99); list(csv.reader(io.StringIO('a,b\\n' * 999)))",
)


def _python(place: Path, random: Random) -> Sequence[str]:
    text = random.choice(_PYTHON).format(random.randint(2, 40), random.choice("efgxyz"))
    (place / "a.py").write_text(text)
    return ["python3", "a.py"]


_PERL = (
    "while (1) {{ my %h; $h{{$_ % {0}9}} .= $_ for 1..9999; join ',', sort keys %h; }}",
    "my $t = 'abc def ' x 999; while (1) {{ (my $u = $t) =~ s/(\\w)(\\w{{{1}}})/$2$1/g; }}",
    "while (1) {{ my @a = map {{ {{ m => $_ % {0} }} }} 1..999; @a = sort {{ $a->{{m}} <=> $b->{{m}} }} @a; }}",
    "use List::Util 'reduce'; while (1) {{ reduce {{ $a + length(sprintf '%{0}d', $b) }} 1..9999; }}",
)


def _perl(_: Path, random: Random) -> Sequence[str]:
    return ["perl", "-e", random.choice(_PERL).format(random.randint(2, 40), random.randint(1, 2))]


_JAVASCRIPT = (
    "for (;;) JSON.parse(JSON.stringify(Array.from({{length: 999}}, (_, i) => ({{a: i, b: 'x'.repeat(i % {0})}}))))",
    "for (;;) {{ const m = new Map(); for (let i = 0; i < 9999; i++) m.set('k' + i % {0}9, i); [...m].sort() }}",
    "class A {{ f(x) {{ return x < 2 ? x : this.f(x - 1) + this.f(x - 2) }} }} for (;;) new A().f({1})",
    "const c = require('crypto'), z = require('zlib'); for (;;) z.deflateSync(c.randomBytes({0}999))",
    "for (;;) 'the quick brown fox '.repeat({0}9).replace(/(\\w+) (\\w+)/g, '$2 $1').split(' ').sort()",
)


def _node(_: Path, random: Random) -> Sequence[str]:
    return ["node", "-e", random.choice(_JAVASCRIPT).format(random.randint(2, 40), random.randint(18, 24))]


def _sqlite(place: Path, random: Random) -> Sequence[str]:
    count = random.randint(20_000, 90_000)
    made = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    question = random.choice(
        ("SELECT a.k, count(*) FROM t a JOIN t b ON a.k = b.v GROUP BY a.k;", "SELECT k, v FROM t ORDER BY v, k;",
         "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY v) FROM t;", "SELECT count(*) FROM t WHERE v LIKE '%7%1%';",
         "CREATE INDEX i ON t(v, k); SELECT * FROM t WHERE v BETWEEN 10 AND 90;")
    )  # fmt: skip
    (place / "a.sql").write_text(
        f"CREATE TABLE t AS {made} SELECT i % {random.randint(50, 999)} AS k, abs(random()) % 1000 AS v FROM n;\n"
        + question
    )
    return ["sqlite3", random.choice((":memory:", "a.db")), ".read a.sql"]


def _git(place: Path, random: Random) -> Sequence[str]:
    for number in range(40):
        (place / f"{number}.txt").write_text(_text(random, random.randint(20, 400)))
    identity = "git -c user.name=a -c user.email=a@b"
    step = f"git add . && {identity} commit -qm x && for i in *.txt; do sort -R $i -o $i; done"
    last = random.choice(
        ("git diff --stat", "git log -p", "git repack -adfq --depth=50", "git blame 3.txt", "git status")
    )
    return ["sh", "-c", f"git init -q . && {step} && {step} && {step}; while :; do {last}; done"]


def _compress(name: str, levels: range) -> Program:
    def program(place: Path, random: Random) -> Sequence[str]:
        (place / "text").write_text(_text(random, random.randint(9_000, 40_000)))
        return ["sh", "-c", f"while :; do {name} -{random.choice(levels)} -c text | {name} -dc | wc; done"]

    return program


def _openssl(_: Path, random: Random) -> Sequence[str]:
    return ["openssl", "speed", "-seconds", "1", random.choice(("sha256", "rsa2048", "ecdsap256", "md5", "ed25519"))]


def _java(place: Path, random: Random) -> Sequence[str]:
    body = random.choice(
        ("var m = new java.util.TreeMap<String, Integer>();"
         " for (int i = 0; i < 99999; i++) m.merge(\"k\" + i % {0}9, i, Integer::sum);",
         "java.util.stream.IntStream.range(0, 999999).mapToObj(Integer::toString)"
         ".filter(s -> s.contains(\"{0}\")).count();",
         "String.join(\",\", java.util.Collections.nCopies({0}999, \"a\")).replaceAll(\"a,(a)\", \"$1\");")
    ).format(random.randint(2, 40))  # fmt: skip
    (place / "A.java").write_text(f"class A {{ public static void main(String[] a) {{ while (true) {{ {body} }} }} }}")
    return ["java", "A.java"]


def _chromium(place: Path, random: Random) -> Sequence[str]:
    rows = "".join(
        f"<tr><td>{line}<td><b>{line[:9]}</b>" for line in _text(random, random.randint(200, 2_000)).split("\n")
    )
    copied = "[...document.querySelectorAll('b')].map((b) => b.cloneNode(1))"
    script = f"<script>for (let i = 0; i < 9; i++) document.body.append(...{copied})</script>"
    style = f"<style>td{{padding:{random.randint(1, 9)}px}}</style>"
    (place / "a.html").write_text(f"{style}<table>{rows}</table>{script}")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place}/profile"]
    return [
        "chromium",
        *words,
        random.choice(("--dump-dom", "--screenshot", "--print-to-pdf")),
        f"file://{place}/a.html",
    ]


def _shell(place: Path, random: Random) -> Sequence[str]:
    (place / "text").write_text(_text(random, random.randint(9_000, 40_000)))
    step = random.choice(
        ("sort -k2 text | uniq -c | sort -rn", "awk '{ n[$1]++ } END { for (i in n) print i, n[i] }' text",
         "find /usr/share -name '*.h' -o -name '*.py' | xargs -n 200 grep -l main", "tar cf - /usr/include | md5sum",
         "sed -E 's/(a+)(b)/\\2\\1/g; y/abc/xyz/' text", "ls -lR /usr/lib | cut -c1-40 | tr a-z A-Z")
    )  # fmt: skip
    return ["sh", "-c", f"while :; do {step}; done"]


PROGRAMS: dict[str, tuple[str, Program]] = {
    "gcc": ("gcc", _compiler("gcc", "c")),
    "g++": ("g++", _compiler("g++", "cc")),
    "rustc": ("rustc", _rust),
    "python": ("python3", _python),
    "perl": ("perl", _perl),
    "node": ("node", _node),
    "java": ("java", _java),
    "sqlite": ("sqlite3", _sqlite),
    "git": ("git", _git),
    "xz": ("xz", _compress("xz", range(1, 7))),
    "zstd": ("zstd", _compress("zstd", range(1, 19))),
    "gzip": ("gzip", _compress("gzip", range(1, 9))),
    "bzip2": ("bzip2", _compress("bzip2", range(1, 9))),
    "openssl": ("openssl", _openssl),
    "chromium": ("chromium", _chromium),
    "shell": ("sh", _shell),
}
"""By service: the program that must be there, and what makes its command line in a folder."""
