#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kills the tool at random moments of a gate's life: as it attaches, runs, and gives back. After each kill the target works on, nobody traces it, and
nothing of the tool is left in the kernel; after all a last gate gives
back what was left. The target keeps its own books (tests/targets/ledger.c).

gate_kill.py TOOL TARGET LIBRARY ROUNDS SEED OPTION…; LIBRARY is the target's libc.so.6, a copy of its own."""
import ctypes
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time

DEADLINE = int(os.environ.get("DEADLINE") or 60)
# Of one target: its first gate maps pages, the later ones find them.
ROUNDS_EACH = 10
LINK_BY_ID, PROGRAM_BY_ID, SYS_BPF = 30, 13, 321 if os.uname().machine == "x86_64" else 280
tool, target, library, rounds, seed, *options = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)


def fail(why):
    sys.exit(f"{why} (seed {seed})")


def until(what, why):
    end = time.monotonic() + DEADLINE
    while not what():
        if time.monotonic() > end:
            fail(why)
        time.sleep(0.005)


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


class Target:
    def __init__(self):
        directory = os.path.dirname(library)
        self.process = subprocess.Popen(
            [target, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={"LD_LIBRARY_PATH": directory}
        )
        self.pid = self.process.pid
        self.process.stdout.readline()
        self.tell("go")

    def tell(self, command):
        try:
            self.process.stdin.write(command + "\n")
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            fail(f"the target has ended: {self.process.wait()}")
        return json.loads(line)

    def status(self, name):
        """Of each thread."""
        base = f"/proc/{self.pid}/task"
        try:
            threads = os.listdir(base)
        except OSError:
            fail("the target has ended")
        return [m.group(1) for t in threads if (m := re.search(rf"^{name}:\s*(\S+)", read(f"{base}/{t}/status"), re.M))]

    def works(self):
        before = self.tell("stat")["steps"]
        until(lambda: all(a > b for a, b in zip(self.tell("stat")["steps"], before)), "a thread of the target stands still")

    def untraced(self):
        return all(t == "0" for t in self.status("TracerPid")) and not set(self.status("State")) & {"t", "T"}

    def gates(self):
        return sum("memleakbpf-gate" in line and " r-xp " in line for line in read(f"/proc/{self.pid}/maps").splitlines())

    def descriptors(self):
        base = f"/proc/{self.pid}/fd"
        return sum("memleakbpf-gate" in os.readlink(f"{base}/{fd}") for fd in os.listdir(base))

    def changed(self):
        """Bytes of its library that are not as the file has them."""
        for line in read(f"/proc/{self.pid}/maps").splitlines():
            words = line.split()
            if "x" in words[1] and words[-1] == library:
                start, end = (int(w, 16) for w in words[0].split("-"))
                with open(f"/proc/{self.pid}/mem", "rb") as memory, open(library, "rb") as file:
                    memory.seek(start)
                    file.seek(int(words[2], 16))
                    there, wanted = memory.read(end - start), file.read(end - start)
                # Usually they are the same, and byte by byte takes long.
                return 0 if there == wanted else sum(a != b for a, b in zip(there, wanted))
        return fail("the library is not there")


def start():
    return subprocess.Popen(
        [tool, "-i", "1h", *options, "-p", str(victim.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def attached(process):
    for line in process.stderr:
        if "attached to" in line:
            return
    fail("the tool did not attach")


def held(process):
    """The links and programs that it holds."""
    base, found = f"/proc/{process.pid}/fdinfo", set()
    try:
        for fd in os.listdir(base):
            found.update(re.findall(r"^(link|prog)_id:\s*(\d+)", read(f"{base}/{fd}"), re.M))
    except OSError:
        pass
    return found


def is_there(kind, number):
    attr = (ctypes.c_uint32 * 4)(int(number))
    fd = libc.syscall(SYS_BPF, LINK_BY_ID if kind == "link" else PROGRAM_BY_ID, ctypes.byref(attr), ctypes.sizeof(attr))
    if fd >= 0:
        os.close(fd)
    return fd >= 0 or ctypes.get_errno() != 2


def measure():
    """How long an attach and an end take, here and now."""
    began = time.monotonic()
    process = start()
    attached(process)
    took = time.monotonic() - began
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate()
    return took, time.monotonic() - began


def seize(process):
    """Waits until a thread of the target is held, or that is over: the tool has said that it is attached, or has ended."""
    traced = b"TracerPid:\t0\n"
    paths = [f"/proc/{victim.pid}/task/{t}/status" for t in os.listdir(f"/proc/{victim.pid}/task")]
    while process.poll() is None and not select.select([process.stderr], [], [], 0)[0]:
        for path in paths:
            with open(path, "rb") as file:
                if traced not in file.read():
                    return


def strike(chance, times):
    when = chance.choice(["starting", "patching", "patching", "running", "ending", "giving back", "giving back"])
    group = chance.random() < 0.5
    process = start()
    left = set()
    if when in ("running", "ending", "giving back"):
        attached(process)
        left = held(process) if chance.random() < 0.5 else set()
    if when in ("ending", "giving back"):
        process.send_signal(signal.SIGINT)
    if when in ("patching", "giving back"):
        seize(process)
        time.sleep(chance.uniform(0, 0.004))
    else:
        time.sleep(chance.uniform(0, {"starting": times[0], "running": 0.02, "ending": times[1]}[when]))
    if process.poll() is None:
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    else:
        when += ", too late"
    process.communicate()
    until(victim.untraced, "somebody holds the target still")
    until(lambda: not any(is_there(*one) for one in left), "something of the tool's is left in the kernel")
    victim.works()
    return f"{when}, {'jumps' if victim.changed() else 'none'} left"


def give_back():
    """A last gate, and all is as it was."""
    measure()
    if victim.changed():
        fail(f"{victim.changed()} bytes of its text are not as the file has them")
    if victim.gates() > 1 or victim.descriptors() > 0:
        fail(f"{victim.gates()} gates, {victim.descriptors()} descriptors are left in the target")
    victim.tell("leak 1000")
    victim.tell("calm")
    victim.tell("quit")
    if victim.process.wait():
        fail(f"the target has ended with status {victim.process.returncode}")


chance = random.Random(int(seed))
seen = {}
for number in range(int(rounds)):
    if number % ROUNDS_EACH == 0:
        if number:
            give_back()
        victim = Target()
    if number == 0:
        measure()
        times = measure()
        give_back()
        victim = Target()
    what = strike(chance, times)
    seen[what] = seen.get(what, 0) + 1
give_back()
print(f"{rounds} kills, seed {seed}, {' '.join(options)}: {json.dumps(dict(sorted(seen.items())))}")
