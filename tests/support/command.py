"""Runs the ``perf2x`` command inside the test process, as a shell would."""

from collections.abc import Mapping
from dataclasses import dataclass

from typer.core import TyperCommand, TyperOption
from typer.testing import CliRunner

from tests.support.recordings import CORPUS


@dataclass(frozen=True)
class Ran:
    """Exit code and output, as a shell sees them."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Standard error as one line."""
        return " ".join(self.err.split())


def perf2x(*words: object, env: Mapping[str, str] | None = None) -> Ran:
    """Run the command; an exception that is no exit fails the test that called."""
    from perf2x.cli.app import app

    result = CliRunner().invoke(app, [str(word) for word in words], env=dict(env or {}), prog_name="perf2x")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def spellings(command: TyperCommand) -> dict[str, tuple[TyperOption, bool]]:
    """Every spelling of a command's options without its dashes: the option, and whether it switches it off."""
    found = {}
    for option in command.params:
        if isinstance(option, TyperOption) and option.expose_value:
            for names, negated in ((option.opts, False), (option.secondary_opts, True)):
                found |= {name[2:]: (option, negated) for name in names if name.startswith("--")}
    return found


def recording(name: str) -> str:
    """The path of a recording in the corpus."""
    return str(CORPUS / name / "perf.data")


def folded(*words: object, value: str = "samples", symbols: bool = False) -> dict[str, int]:
    """Collapsed stacks of a conversion: line to number."""
    quick = () if symbols else ("--no-symbols",)
    ran = perf2x("convert", *words, *quick, "--to", "collapsed", "--value", value, "-o", "-", "-q")
    assert ran.code == 0, ran.err
    pairs = (line.rpartition(" ") for line in ran.out.splitlines())
    return {stack: int(number) for stack, _, number in pairs}
