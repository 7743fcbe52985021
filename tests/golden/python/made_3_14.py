# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""made_3_14.py <3.13.h >3.14.h: what CPython 3.13 had in memory, as the headers of 3.14 say that it is there.

There was no 3.14 to record. Of what is read, these differ: a frame keeps a tagged reference to its code, and who owns it 4 bytes further on; a code
object has a number more before its first traceable instruction; struct _Py_DebugOffsets has more members.
"""
import re
import struct
import sys

text = sys.stdin.read()
base, state = (int(re.search(rf"#define {name} (0x[0-9a-f]+)", text)[1], 16) for name in ("IMAGE_BASE", "IMAGE_STATE"))


def bytes_of(part):
    return bytearray(bytes.fromhex("".join(re.findall(r"\\x([0-9a-f]{2})", part))))


def escaped(data):
    return "\n".join('\t"' + "".join(f"\\x{b:02x}" for b in data[i:i + 32]) + '"' for i in range(0, len(data), 32))


offsets, image = re.search(r"#define IMAGE_OFFSETS(.*?)static const char image\[\] =(.*)", text, re.S).groups()
old, image = struct.unpack("<64Q", bytes_of(offsets)), bytes_of(image)
frame = struct.unpack_from("<Q", image, state + 72 - base)[0] - base
while frame >= 0:
    code, = struct.unpack_from("<Q", image, frame)
    instruction, = struct.unpack_from("<Q", image, frame + 56)
    struct.pack_into("<Q", image, frame, code | 1)
    struct.pack_into("<Q", image, frame + 56, instruction + 8)
    image[frame + 74], image[frame + 70] = image[frame + 70], 0
    frame = struct.unpack_from("<Q", image, frame + 8)[0] - base
for offset in re.findall(r"\{(\d+), 2\}", text):
    code = int(offset) - 8
    image[code + 192:code + 196] = image[code + 184:code + 188]
new = [0] * 64
new[0], new[1] = old[0], 0x030e00f0
new[22:31] = old[19:28]
new[31:37] = old[28:34]
new[36] = 74
new[39:49] = old[34:44]
new[48] = 208
text = re.sub(r"IMAGE_VERSION 0x[0-9a-f]+", "IMAGE_VERSION 0x030e00f0", text)
text = re.sub(r"/\* By .*? \*/", "/* By tests/golden/python/made_3_14.py: not recorded. */", text)
text = text[:text.index("#define IMAGE_OFFSETS")]
print(text + "#define IMAGE_OFFSETS \\\n" + escaped(struct.pack("<64Q", *new)).replace("\n", " \\\n"))
print("static const char image[] =\n" + escaped(image) + ";")
