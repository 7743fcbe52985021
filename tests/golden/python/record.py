# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""PYTHON record.py >VERSION.h: what memleakbpf reads of a thread that runs Python functions, taken from CPython's own memory.

For versions of CPython that a machine may lack: tests/targets/recorded_python.c plays the image, and has to be shown with the functions that
sys._current_frames() had at that moment. Offsets of frames are those of the version's headers; objects are found as Python objects.
"""
import _thread
import ctypes
import json
import struct
import sys
import time

SOURCE = """
def leaf(lock):
    ready.append(state())
    lock.acquire()


def generator(lock):
    x = [
        1,
    ]
    leaf(
        lock
    )
    yield x


def naïve(lock):
    for _ in generator(lock):
        pass


class App:
    def middle(self, lock):
        names = {"naïve": naïve, "lock": lock}
        exec(compile("\\n" * 300 + "naïve(lock)", "<text>", "exec"), names)

    def run(self, lock):
        sorted([2, 1], key=lambda n: self.middle(lock))


def main(lock):
    App().run(lock)
"""

BASE = 0x100000000000
MINOR = sys.version_info[1]
# state's frame, or what has it, and where there; a frame's size, code, back; the byte that tells of calls from C, and its value.
LAYOUTS = {
    8: (24, None, 112, 32, 24, None, 0), 9: (24, None, 112, 32, 24, None, 0), 10: (24, None, 112, 32, 24, None, 0),
    11: (56, 8, 80, 32, 48, 68, 1), 12: (56, 0, 72, 0, 8, 70, 3), 13: (72, None, 72, 0, 8, 70, 3),
    14: (72, None, 80, 0, 8, 74, 3),
}

segments = {}  # address: bytes
types = {}  # address of the word that has an object's type: 0 str, 1 bytes, 2 code


def add(address, size):
    if len(segments.get(address, b"")) < size:
        segments[address] = ctypes.string_at(address, size)


def add_object(o):
    add(id(o), sys.getsizeof(o))
    types[id(o) + 8] = ("str", "bytes", "code").index(type(o).__name__)


def word(address):
    return struct.unpack("<Q", ctypes.string_at(address, 8))[0]


def take_frames(state):
    at, inner, size, code, back, owner, from_c = LAYOUTS[MINOR]
    add(state, 96)
    frame = word(state + at)
    if inner is not None:
        add(frame, 16)
        frame = word(frame + inner)
    calls = 0
    while frame:
        add(frame, size)
        calls += owner is None or segments[frame][owner] == from_c
        frame = word(frame + back)
    return calls


def take_code(c):
    add_object(c)
    add_object(c.co_name)
    add_object(c.co_filename)
    if MINOR >= 11:
        add_object(c.co_qualname)
    add_object(c.co_linetable if MINOR >= 10 else c.co_lnotab)


def rebased():
    """All of it one behind the other, with the addresses in it as they are there."""
    places, at = {}, 0
    for address in sorted(segments):
        places[address] = at
        at += len(segments[address]) + 15 & ~15
    image = bytearray(at)
    for address, content in segments.items():
        image[places[address]:places[address] + len(content)] = content

    def move(value):
        for address, content in segments.items():
            if address <= value < address + len(content):
                return BASE + places[address] + value - address
        return 0

    for address, content in segments.items():
        for i in range(0, len(content) - 7, 8):
            value = struct.unpack_from("<Q", content, i)[0]
            if value > 0x10000 and value >> 47 == 0 and move(value & ~7):
                struct.pack_into("<Q", image, places[address] + i, move(value & ~7) | value & 7)
    return bytes(image), move


def escaped(data):
    lines = ["".join(f"\\x{b:02x}" for b in data[i:i + 32]) for i in range(0, len(data), 32)]
    return "\n".join(f'\t"{line}"' for line in lines)


def main():
    names = {"ready": [], "state": ctypes.pythonapi.PyThreadState_Get}
    names["state"].restype = ctypes.c_void_p
    exec(compile(SOURCE, "/srv/app.py", "exec"), names)
    lock = _thread.allocate_lock()
    lock.acquire()
    thread = _thread.start_new_thread(names["main"], (lock,))
    while not names["ready"]:
        time.sleep(0.01)
    # It waits for the lock, and does not come out of it any more.
    frame = sys._current_frames()[thread]
    while frame.f_code.co_name != "leaf" or frame.f_lineno != 4:
        time.sleep(0.01)
        frame = sys._current_frames()[thread]
    calls = take_frames(names["ready"][0])
    stack = []
    while frame:
        c = frame.f_code
        take_code(c)
        stack.append({"function": getattr(c, "co_qualname", c.co_name), "file": c.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    image, move = rebased()
    places = ", ".join(f"{{{move(address) - BASE}, {kind}}}" for address, kind in sorted(types.items()))
    runtime = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime")), 512)
    print("/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */")
    print(f"/* By tests/golden/python/record.py under CPython {sys.version.split()[0]}. */")
    print("/* clang-format off */")
    print(f"#define IMAGE_VERSION 0x{sys.hexversion:08x}")
    print(f"#define IMAGE_BASE 0x{BASE:x}")
    print(f"#define IMAGE_STATE 0x{move(names['ready'][0]):x}")
    print(f"#define IMAGE_CALLS {calls} /* from C */")
    print("#define IMAGE_STACK " + json.dumps(json.dumps(stack, ensure_ascii=False), ensure_ascii=False))
    print(f"static const struct {{\n\tunsigned offset, type;\n}} image_types[] = {{{places}}};")
    if MINOR >= 13:
        print("#define IMAGE_OFFSETS \\\n" + escaped(runtime).replace("\n", " \\\n"))
    print("static const char image[] =\n" + escaped(image) + ";")


main()
