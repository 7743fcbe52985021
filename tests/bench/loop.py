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


def deeper(depth):
    """work(), called through so many functions less main(), the module and itself: each another one, as a function that is there twice is read once."""
    names = {"inner": work}
    for i in range(depth - 3):
        exec(compile(f"def f{i}(seconds, inner=inner):\n    return inner(seconds)\n", __file__, "exec"), names)
        names["inner"] = names[f"f{i}"]
    return names["inner"]


def main(run):
    for line in sys.stdin:
        print(run(float(line.split()[1])), flush=True)


main(deeper(int(sys.argv[1])))
