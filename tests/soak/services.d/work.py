# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A worker of tests/soak/services.
import sys

kept = []


def keep(size):
    kept.append(bytes(size))


for line in sys.stdin:
    number, leak = map(int, line.split())
    scratch = [bytes(number % 900 + i * 10) for i in range(1000)]
    if leak:
        keep(leak)
    for _ in range(10):
        number = number * 48271 % 2147483647
    print(number, flush=True)
