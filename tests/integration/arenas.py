# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A target of arenas.bats: keeps small objects, which CPython has in arenas of its own, and says what CPython's books have."""
import gc
import json
import mmap
import os
import re
import signal
import sys
import tempfile
import threading

held = []
mapped = []
blocks = []


def books():
    """What sys._debugmallocstats() writes to C's standard error."""
    with tempfile.TemporaryFile() as out:
        stderr = os.dup(2)
        os.dup2(out.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(stderr, 2)
        os.close(stderr)
        out.seek(0)
        text = out.read().decode()
    return {
        name: int(re.search(rf"^# arenas {words} += +([0-9,]+)", text, re.M)[1].replace(",", ""))
        for name, words in (("mapped", "allocated total"), ("unmapped", "reclaimed"))
    } | {"size": int(re.search(r"\* ([0-9]+) bytes/arena", text)[1])}


def keep(count):
    for number in range(count):
        held.append((number, object()))


def obey(command):
    if command == "grow":
        keep(200000)
    elif command == "drop":
        held.clear()
        gc.collect()
    elif command == "others":
        # Of the same size and not CPython's: by its module mmap, and a thread's stack.
        mapped.append(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        threading.stack_size(1 << 20)
        threading.Thread(target=int).start()
    elif command == "large":
        # malloc's, each a mapping of its own.
        blocks.extend(bytearray(1 << 20) for _ in range(8))
    elif command == "fork" and not os.fork():
        before = books()
        keep(200000)
        say(command="child", pid=os.getpid(), before=before)
        signal.pause()


def say(command, **more):
    print(json.dumps({"phase": command, **more, "books": books()}, separators=(",", ":")), flush=True)


print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    command = line.strip()
    obey(command)
    say(command)
    if command == "quit":
        # With all that is there.
        os._exit(0)
