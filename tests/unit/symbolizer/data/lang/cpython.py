import sys
import time


class Shape:
    def __init__(self, n) -> None:
        self.n = n

    def area(self) -> int:
        return sum(i * i % 7 for i in range(self.n))

    @staticmethod
    def twice(x) -> int:
        return heavy(x) + heavy(x)


def heavy(n) -> int:
    total = 0
    for i in range(n):
        total += i * i % 13
    return total


def fib(n) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def mapper(n) -> list[int]:
    return sorted(map(lambda v: (v * 7919) % 1009, range(n)))  # noqa: C417 a lambda is wanted


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        Shape(2000).area()
        Shape.twice(3000)
        fib(16)
        mapper(3000)


main()
