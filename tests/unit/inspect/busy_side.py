# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# As busy_side.c: four threads that make and drop objects. Each of those that stay is held by the one before alone.
import sys
import threading

GC_HEAD = 16  # in front of what the collector looks after: the block begins there


def busy(seed):
    held = [None] * 2000
    number = seed
    while True:
        number = (number * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        slot = (number >> 33) % len(held)
        if held[slot] is None:
            kind = slot % 4
            if kind == 0:
                held[slot] = [number, str(number)]
            elif kind == 1:
                held[slot] = {number: (slot, seed)}
            elif kind == 2:
                held[slot] = bytes(slot)
            else:
                held[slot] = "x" * (slot * 10)
        else:
            held[slot] = None


steady = None
blocks = []
for i in range(2000):
    steady = [steady]
    blocks.append(id(steady) - GC_HEAD)
sys.stdout.write("".join("block %x\n" % block for block in blocks) + "ready\n")
sys.stdout.flush()
for seed in range(4):
    threading.Thread(target=busy, args=(seed,), daemon=True).start()
sys.stdin.read()
sys.stdout.flush()
import os  # noqa: E402

os._exit(0)
