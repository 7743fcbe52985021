# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Allocates at places in Python, each of a size of its own, and prints what stack the interpreter says each had.

As tests/targets/leak_go: "ready PID", then for a line on standard input all of it, one line of JSON: places, each with
bytes, count and stack; and it ends with a second line. With "forks" a child that the first line makes says and does all that once more.
"""
import asyncio
import ctypes
import json
import os
import sys
import threading

# The first gives the interpreter's lock up while it calls, the second does not.
FREE = ctypes.CDLL(None).malloc
HELD = ctypes.PyDLL(None).malloc
for function in (FREE, HELD):
    function.argtypes = [ctypes.c_size_t]
    function.restype = ctypes.c_void_p

places = {}


def stack_of(frame):
    stack = []
    while frame:
        code = frame.f_code
        # Before 3.11 a code object has its short name only.
        stack.append({"function": getattr(code, "co_qualname", code.co_name), "file": code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    return stack


def place(size, frame):
    """Takes the stack down; at the end of the chain is what C has called."""
    stack = stack_of(frame)
    known = places.setdefault(size, {"bytes": 0, "count": 0, "stack": stack})
    assert known["stack"] == stack
    known["bytes"] += size
    known["count"] += 1


def keep(size, malloc=FREE):
    return place(size, sys._getframe()), malloc(size)


class Owner:
    def method(self, size):
        keep(size)

    @staticmethod
    def static(size):
        keep(size, HELD)

    def __del__(self):
        keep(300007)


def generator(size):
    for _ in range(3):
        yield keep(size)


async def worker(size):
    await asyncio.sleep(0)
    keep(size)


async def workers(size):
    await asyncio.gather(worker(size), worker(size))


def deep(depth, size):
    if depth:
        return deep(depth - 1, size)
    return keep(size)


def closes_over(size):
    def inner(_):
        return 0 if keep(
            size
        ) else 1

    return inner


def leaves_an_owner():
    owner = Owner()
    return owner is None


def naïve_größe(size):
    keep(size)


def 割り当て(size):
    keep(size)


def from_text(number):
    """A function that is gone when the next one is made, where it was."""
    names = {"keep": keep}
    text = f"def made_{number}(size):\n" + "\n" * number + "    keep(size)\n"
    exec(compile(text, f"<text {number}>", "exec"), names)
    names[f"made_{number}"](310000 + number)


class Alike:
    """
    The same code at the same address, over and over, of other files, or of one file and further below. Nothing is kept meanwhile that would
    take the place of what goes: the first one's stack is taken down, and the others' are made of it at the end.
    """

    def __init__(self):
        self.stack = None

    def take(self, frame):
        self.stack = self.stack or stack_of(frame)

    def keep(self, size):
        return self.take(sys._getframe()), FREE(size)

    def run(self, first, count, text_of, file_of):
        names = {"keep": self.keep}
        for names["size"] in range(first, first + count):
            exec(compile(text_of(names["size"] - first), file_of(names["size"] - first), "exec"), names)
        for number in range(count):
            made = dict(self.stack[1], file=file_of(number), line=text_of(number).count("\n") + 1)
            places[first + number] = {"bytes": first + number, "count": 1, "stack": [self.stack[0], made, *self.stack[2:]]}


class Begins:
    """Soon begun without a call from C, from 3.12 on by a frame that no traceback has."""

    def __init__(self, size):
        keep(size)


def far_behind(size):
    """Where the table of lines is longer than what an entry's byte can say."""
    names = {"keep": keep}
    text = "def far(size):\n    x = 0\n" + "    x += size * 3 - size\n" * 400 + "\n" * 900 + "    keep(size)\n"
    exec(compile(text, "<far>", "exec"), names)
    names["far"](size)


def begins():
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()


def main():
    begins()
    if "forks" in sys.argv:
        child = os.fork()
        if child:
            os._exit(os.waitpid(child, 0)[1] != 0)
        begins()
    owner = Owner()
    owner.method(300001)
    Owner.static(300002)
    sorted([3, 1, 2], key=closes_over(300003))
    for _ in generator(300004):
        pass
    asyncio.run(workers(300005))
    thread = threading.Thread(target=keep, args=(300006,))
    thread.start()
    thread.join()
    leaves_an_owner()
    # Before 3.11 each is several C functions, of which a stack has so many at the most.
    deep(90 if sys.version_info >= (3, 11) else 20, 300008)
    list(map(lambda size: keep(size), [300009]))
    [keep(size) for size in (300010, 300010)]
    naïve_größe(300012)
    割り当て(300013)
    for number in range(200):
        from_text(number)
    Alike().run(320000, 60, lambda _: "keep(size)", lambda number: f"<cell {number}>")
    Alike().run(330000, 60, lambda number: "\n" * number + "keep(size)", lambda _: "<string>")
    for _ in range(100):
        Begins(300017)
    far_behind(300014)
    owner.method(300015), \
        owner.method(300016)
    print(json.dumps(list(places.values())), flush=True)
    sys.stdin.readline()
    os._exit(0)


main()
