# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""leak_ruby_python.py LIBRUBY: runs Ruby in Python, and Python in that."""
import ctypes
import os
import sys

ruby = ctypes.PyDLL(sys.argv[1])
libc = ctypes.CDLL(None)


def keep(size):
    libc.malloc(size)


@ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def called(_, size):
    # Ruby's small numbers are twice as large, and one more.
    keep(size // 2)
    return 8


def outer():
    ruby.rb_eval_string(b"leaf(20001)")
    ruby.rb_eval_string(b"[20003].each { |size| python(size) }")


ruby.ruby_init()
ruby.rb_define_global_function(b"python", called, 1)
# A string has a NUL behind it.
ruby.rb_eval_string(b"KEPT = []\n\ndef leaf(size)\nKEPT << 'a' * (size - 1)\nend")
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
outer()
print("done", flush=True)
sys.stdin.readline()
