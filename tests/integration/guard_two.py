#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two tools at one target, which come and go, or are killed, at random moments, with guards, a gate, both or probes. The target keeps its own books
(tests/targets/ledger.c): it lives, and its thread does not stand still. At the end a last tool has its guards there.

guard_two.py TOOL TARGET LIBRARY ROUNDS SEED; ROUNDS of each of the two. LIBRARY is the target's libc.so.6, a copy of its own: what others have in the system's, in all
processes, would be its end."""
import collections
import json
import os
import random
import re
import subprocess
import sys
import threading
import time

tool, program, library, rounds, seed = sys.argv[1:]
WAYS = ["--guard=1 --gate", "--guard=1 --gate -s 64k", "--guard=1", "--gate", ""]
# What the second of two may be told, and nothing else.
RIGHT = [
    "attached to",
    "another memleakbpf",
    "it has guards (memleakbpf --guard), whose blocks",
    "is not as in its file: a debugger, or another tracer",
    "(holding) traces it already",  # the child of one that has just been killed
]
target = subprocess.Popen(
    [program, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library)}
)
told, wrong = collections.Counter(), []


def fail(why):
    target.kill()
    sys.exit(f"{why} (seed {seed}): {told}")


def tell(command):
    try:
        target.stdin.write(command + "\n")
        line = target.stdout.readline()
    except OSError:
        line = ""
    if not line:
        fail(f"the target has ended: {target.wait()}")
    return json.loads(line)


def once(way, kill_after=None):
    run = subprocess.Popen(
        [tool, "-p", str(target.pid), "-f", "json", "-i", "20ms", "-n", "1", *way.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = run.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        run.kill()
        out, err = run.communicate()
    for line in err.splitlines():
        told[re.sub(r"\d+", "N", line)] += 1
        if not any(right in line for right in RIGHT):
            wrong.append(line)
    told[f"ends {run.returncode}"] += 1
    return out, err


def come_and_go(chance):
    for _ in range(int(rounds)):
        once(chance.choice(WAYS), chance.uniform(0.05, 2) if chance.random() < 0.25 else None)


target.stdout.readline()
tell("go")
threads = [threading.Thread(target=come_and_go, args=(random.Random(f"{seed} {i}"),)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
before = tell("stat")["steps"]
end = time.monotonic() + 60
while not all(a > b for a, b in zip(tell("stat")["steps"], before)):
    if time.monotonic() > end:
        fail("the target stands still")
if wrong:
    fail(f"it says: {wrong}")
out, err = once("--guard=1 --gate")
if not out or not json.loads(out.splitlines()[-1])["guard"]["on"]:
    fail(f"there are no guards any more: {err}")
with open(f"/proc/{target.pid}/maps") as maps:
    sets = sum("r-xp" in line and "memleakbpf-guard" in line for line in maps)
# One that is killed while it makes them leaves what it has mapped.
if not 1 <= sets <= 1 + told["ends -9"]:
    fail(f"{sets} sets of guards")
target.stdin.close()
if target.wait():
    fail(f"the target has ended: {target.returncode}")
for line, times in sorted(told.items()):
    print(times, line)
