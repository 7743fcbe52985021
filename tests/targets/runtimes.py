# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""runtimes.py ADDON LIBJVM: calls JavaScript (runtimes.js), with the interpreter's lock and without, and Java."""
import ctypes
import sys


class Options(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("count", ctypes.c_int), ("options", ctypes.c_void_p), ("ignore", ctypes.c_ubyte)]


def javascript(call, size):
    call(size)


def jvm_new(path):
    environment, machine = ctypes.c_void_p(), ctypes.c_void_p()
    options = Options(0x00010008, 0, None, 1)
    assert not ctypes.CDLL(path).JNI_CreateJavaVM(ctypes.byref(machine), ctypes.byref(environment), ctypes.byref(options))
    return environment


# Where they are in the table: the Java Native Interface's specification.
FIND_CLASS, NEW_GLOBAL, STATIC_METHOD, CALL_STATIC = 6, 21, 113, 116


def jni(environment, number, *types):
    table = ctypes.cast(environment, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, *types)(table[number])


def java(environment, size):
    name = ctypes.c_char_p
    holder = jni(environment, FIND_CLASS, name)(environment, b"java/nio/ByteBuffer")
    method = jni(environment, STATIC_METHOD, ctypes.c_void_p, name, name)(environment, holder, b"allocateDirect", b"(I)Ljava/nio/ByteBuffer;")
    values = (ctypes.c_int64 * 1)(size)
    block = jni(environment, CALL_STATIC, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(environment, holder, method, ctypes.addressof(values))
    # It is freed with the object.
    assert jni(environment, NEW_GLOBAL, ctypes.c_void_p)(environment, block)


javascript(ctypes.PyDLL(sys.argv[1]).call_javascript, 20001)
javascript(ctypes.CDLL(sys.argv[1]).call_javascript, 20002)
if not hasattr(sys, "jvm"):
    sys.jvm = jvm_new(sys.argv[2])
java(sys.jvm, 20008)
