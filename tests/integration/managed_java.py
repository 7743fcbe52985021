#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_java.py TRUTH RESULT: do the stacks of a JSON snapshot have the frames that Java itself saw?

TRUTH is what tests/targets/stacks_java prints: the stack from the method that called the library's on. Behind the
library's methods all of them have to be there, in order, with file and line, and no others.
"""
import re
import sys

from managed_files import truth_and_result

ZLIB = "Java_java_util_zip_Inflater_init"
LIBRARY = ("java.", "jdk.", "sun.")
# Before 15 a class of the JVM's own has in Throwable what its name has not: a number, and in 8 a file and a line that there are not.
HIDDEN = re.compile(r"/(0x)?[0-9a-f]+(?=[.])")


def told(frame, version):
    if version >= 15:
        return frame["function"], frame.get("file"), frame.get("line")
    if frame.get("file") == "<Unknown>":
        frame = {"function": frame["function"]}
    return HIDDEN.sub("", frame["function"]), frame.get("file"), frame.get("line")


def is_right(stack, wanted):
    frames = stack["frames"]
    java = [f for f in frames if f.get("kind") == "java" and "." in f.get("function", "")]
    got = [(f.get("function"), f.get("file"), f.get("line")) for f in java]
    own, rest = got[: len(got) - len(wanted)], got[len(got) - len(wanted) :]
    bare = [f for f in frames if "function" not in f and "module" not in f]
    # Names of its functions JDK 8 has left out.
    native = [f for f in frames[max((i for i, f in enumerate(frames) if f in java), default=0) :] if f.get("kind") != "java"]
    if (
        rest == wanted
        and 0 < len(own) < 12
        and all(f[0].startswith(LIBRARY) for f in own)
        and not bare
        and stack["end"] == "complete"
        and native
        and native[0].get("function", "JavaCalls::call_helper").startswith("JavaCalls::call_helper")
        and native[0]["module"] == "libjvm.so"
    ):
        return True
    print(f"{stack['live']}, end {stack['end']}, bare {bare}, then {native[:1]}:\n  own    {own}\n  got    {rest}\n  wanted {wanted}")
    return False


def main():
    truth, result = truth_and_result()
    failed = 0
    version = truth.pop()["version"]
    assert len(truth) > 8
    for place in truth:
        wanted = [told(f, version) for f in place["stack"]]
        size = place["bytes"]
        found = [
            s
            for s in result["stacks"]
            if (s["live"]["bytes"] == size if size else s["live"]["count"] and any(f.get("function") == ZLIB for f in s["frames"]))
        ]
        # zlib has two blocks for each stream.
        if len(found) != (1 if size else 2) or any(s["live"]["count"] != 1 for s in found):
            print(f"{size} bytes: {[s['live'] for s in found]}, wanted {wanted}")
            failed += 1
        for stack in found:
            failed += not is_right(stack, wanted)
    sys.exit(failed != 0)


main()
