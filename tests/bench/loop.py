# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""loop.py DEPTH: as tests/bench/loop.c, in Python: a bytes object that takes one malloc and one free, made so many functions deep.

Understands "run SECONDS" only, and answers "NS PAIRS".
"""
import sys
import time

BATCH = 256


def work(seconds):
    pairs = 0
    start = now = time.monotonic()
    cpu = time.thread_time_ns()
    while now < start + seconds:
        for _ in range(BATCH):
            bytes(4000)
        pairs += BATCH
        now = time.monotonic()
    return f"{(time.thread_time_ns() - cpu) / pairs:.1f} {pairs / (now - start):.0f}"


def deeper(depth, seconds):
    # Here is main() above it, the module, and work() below.
    if depth > 4:
        return deeper(depth - 1, seconds)
    return work(seconds)


def main(depth):
    for line in sys.stdin:
        print(deeper(depth, float(line.split()[1])), flush=True)


main(int(sys.argv[1]))
