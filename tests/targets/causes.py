# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# As causes.c, of Python. It ends by a signal: at its exit Python frees what it has.
import functools
import os
import signal
import sys

cache = {}
listeners = []


def remember(key):
    cache[key] = bytes(20000)  # cause: map


def subscribe(text):
    data = text * 20000  # cause: closures
    listeners.append(lambda: data)


@functools.lru_cache(maxsize=None)
def render(number):
    return bytearray(20000)  # cause: memo


def nothing(number):
    return bytes(20000)


work = {'map': remember, 'closures': lambda i: subscribe(chr(97 + i % 26)), 'memo': render, 'nothing': nothing}[sys.argv[1]]
for i in range(1500):
    work(i)
os.kill(os.getpid(), signal.SIGKILL)
