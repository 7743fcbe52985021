# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A program of Python's whose objects are put into groups. It says of each what Python itself has as its type, by where it begins: "block ADDRESS
SIZE python NAME"; then "ready", and waits for the end of its input."""
import collections
import ctypes
import enum
import gc
import sys
import types


class Session:
    def __init__(self, number):
        self.number = number
        self.text = "text of %d" % number


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1.5
        self.b = None


class Meta(type):
    pass


class MetaMeta(type):
    pass


class Meta2(type, metaclass=MetaMeta):
    pass


class Of(metaclass=Meta):
    pass


class Of2(metaclass=Meta2):
    pass


class MyDict(dict):
    pass


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Point = collections.namedtuple("Point", "x y")

kept = [Session(i) for i in range(300)]
kept += [Slots() for i in range(200)]
kept += [Of() for i in range(70)] + [Of2() for i in range(60)] + [MyDict(a=i) for i in range(50)]
kept += [Point(i, str(i)) for i in range(40)]
kept += [[i] * 3 for i in range(500)] + [{"k%d" % i: [i]} for i in range(450)]
kept += [set([i]) for i in range(30)] + [(i, [i]) for i in range(100)]
kept += [float(i) + 0.5 for i in range(333)] + [1 << (70 + i) for i in range(222)]
kept += ["a string of %d" % i for i in range(444)] + [b"bytes of %d" % i for i in range(111)]
kept += ["\u20ac and \U0001f600 %d" % i for i in range(55)]
kept += [lambda: None for i in range(22)]

debug_head = int(sys.argv[1])  # what PYTHONMALLOC puts in front of each
HEAPTYPE, HAVE_GC, PRE_HEADER = 1 << 9, 1 << 14, (1 << 4) | (1 << 3)

usable = ctypes.CDLL(None).malloc_usable_size
usable.argtypes = [ctypes.c_void_p]
usable.restype = ctypes.c_size_t
by_malloc = len(sys.argv) > 2


def book(o):
    if isinstance(o, type) and not o.__flags__ & HEAPTYPE:
        return  # a variable
    t = type(o)
    before = (16 if t.__flags__ & HAVE_GC else 0) + (16 if t.__flags__ & PRE_HEADER else 0) + debug_head
    address = id(o) - before
    # A string's own size is what it has in one piece.
    size = before + (t.__basicsize__ if t is not str else o.__sizeof__())
    if by_malloc:
        size = usable(address)
    name = t.__name__ if t.__module__ == "builtins" else t.__module__ + "." + t.__name__
    print("block %x %d python %s +%d" % (address, size, name, before))


def book_part(o, name):
    """What a list or a dictionary has in a block of its own."""
    address = ctypes.c_size_t.from_address(id(o) + (24 if type(o) is list else 32)).value - debug_head
    size = usable(address) if by_malloc else o.__sizeof__() - type(o).__basicsize__ + debug_head
    if not debug_head:
        print("block %x %d python %s +0" % (address, size, name))


gc.collect()
gc.disable()


class Garbage:
    """Instances that only the collector can find: what leads to one is in itself."""

    __slots__ = ("itself",)

    def __init__(self):
        self.itself = self


objects = gc.get_objects()
tracked = {id(o) for o in objects}
objects += [o for o in kept if id(o) not in tracked]
for o in objects:
    if o is not objects and not isinstance(o, types.FrameType):
        book(o)
for o in kept:
    if type(o) is list:
        book_part(o, "list (items)")
    elif type(o) is dict:
        book_part(o, "dict (keys)")
for number in [id(Garbage()) for i in range(100)]:
    before = 16 + debug_head
    print("block %x %d python __main__.Garbage +%d" % (number - before, before + Garbage.__basicsize__, before))
print("ready", flush=True)
sys.stdin.read()
