"""The plugin keeps what every emitter keeps: inherit the contract, say what to build, read the numbers back."""

from perf2x_top import Top

from perf2x.plugins.contracts import EmitterContract


class TestTop(EmitterContract):
    def emitter(self) -> Top:
        return Top()

    def total(self, output) -> int:
        return sum(int(line.split()[0]) for line in output.decode().splitlines())
