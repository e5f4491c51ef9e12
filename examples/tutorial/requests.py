"""Bytes that a web server sent for each path, without requests from blocked addresses."""

from collections import Counter
from collections.abc import Collection


def address(number: int) -> str:
    return f"10.0.{number // 250}.{number % 250}"


def request(number: int) -> str:
    return f"{address(number * 7919 % 4000)} GET /item/{number % 100} 200 {number % 1500}"


def is_blocked(blocked: Collection[str], source: str) -> bool:
    return source in blocked


def bytes_by_path(blocked: Collection[str], requests: int) -> Counter[str]:
    sent: Counter[str] = Counter()
    for number in range(requests):
        source, _, path, _, size = request(number).split()
        if not is_blocked(blocked, source):
            sent[path] += int(size)
    return sent


def main() -> None:
    blocked = [address(number) for number in range(0, 4000, 2)]
    print(bytes_by_path(blocked, 200_000).total(), "bytes")


main()
