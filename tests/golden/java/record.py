# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""JAVA_ROOT=DIR python3 record.py CLASSES >VERSION.h: what memleakbpf reads of a JVM and of a stack of its, taken from a real one's memory.

For versions of Java that a machine may lack: tests/targets/recorded_java.c plays the image, and has to be shown with the methods
that Thread.getStackTrace() had at that moment. DIR: the root of a system that has the Java to be recorded (unpacked packages will do), CLASSES:
where javac has put Recorded.java's. Needs root, and gdb, which says where the stack of C ends and Java's begins. Members and sizes
are those that the JVM's own tables say; what is there is looked for by its form, and no walk is made: each word of the stack that may be an address
in compiled code, or a method, counts as one.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

ROUNDS = 3000
JAVA = (
    "java -Xbatch -XX:-TieredCompilation -XX:CompileThreshold=300 -XX:+UseSerialGC -Xmx64m -XX:-UsePerfData -XX:CompileCommand=quiet"
    " -XX:CompileCommand=exclude,Recorded.interpreted -XX:CompileCommand=exclude,Recorded.main -XX:CompileCommand=dontinline,Recorded$Reader.call"
)
# All members of these are kept.
TYPES = (
    "CodeCache AbstractInterpreter Abstract_VM_Version GrowableArrayBase GenericGrowableArray GrowableArray<int> CodeHeap VirtualSpace StubQueue"
    " CodeBlob nmethod CompiledMethod PcDesc Method ConstMethod ConstantPool Klass InstanceKlass Symbol HeapBlock"
).split()
# Where gdb's frames are: address, stack pointer and frame pointer of each.
FRAMES = """
for t in gdb.selected_inferior().threads():
    if t.ptid[1] == %d:
        t.switch()
f = gdb.newest_frame()
for i in range(40):
    print("frame", *(int(f.read_register(r)) for r in ("rip", "rsp", "rbp")), flush=True)
    f = f.older()
"""


class Process:
    def __init__(self, pid, root):
        self.memory = open(f"/proc/{pid}/mem", "rb", 0)
        self.taken = {}  # address: byte
        maps = [line.split() for line in open(f"/proc/{pid}/maps")]
        library = [m for m in maps if m[-1].endswith("/libjvm.so")]
        self.base = int(library[0][0].split("-")[0], 16)
        path = library[0][-1]
        path = path if path.startswith(root) else root + path
        symbols = subprocess.run(["nm", "-D", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        symbols = {s[-1].split("@")[0]: int(s[0], 16) for s in map(str.split, symbols.splitlines()) if len(s) == 3}
        self.variable = lambda name: self.word(self.base + symbols["gHotSpotVM" + name])
        self.read_tables()

    def read(self, address, size):
        return os.pread(self.memory.fileno(), size, address)

    def number(self, address, form):
        return struct.unpack(form, self.read(address, struct.calcsize(form)))[0]

    def word(self, address):
        return self.number(address, "<Q")

    def text(self, address):
        return self.read(address, 128).split(b"\0")[0].decode()

    def take(self, address, size):
        for i, byte in enumerate(self.read(address, size)):
            self.taken[address + i] = byte

    def take_word(self, address):
        self.take(address, 8)
        return self.word(address)

    def read_tables(self):
        self.fields, self.sizes = {}, {}
        at, stride = self.variable("Structs"), self.variable("StructEntryArrayStride")
        where = [self.variable(f"StructEntry{n}Offset") for n in ("TypeName", "FieldName", "IsStatic", "Offset", "Address")]
        while self.word(at + where[0]) and self.word(at + where[1]):
            kind, name = self.text(self.word(at + where[0])), self.text(self.word(at + where[1]))
            is_static = self.number(at + where[2], "<i")
            self.fields.setdefault((kind, name), (is_static, self.word(at + where[3]), self.word(at + where[4])))
            at += stride
        at, stride = self.variable("Types"), self.variable("TypeEntryArrayStride")
        where = [self.variable(f"TypeEntry{n}Offset") for n in ("TypeName", "Size")]
        while self.word(at + where[0]):
            self.sizes[self.text(self.word(at + where[0]))] = self.word(at + where[1])
            at += stride

    def offset(self, *names):
        """Of the first of these members that there is."""
        for name in names:
            if tuple(name.split("::")) in self.fields:
                return self.fields[tuple(name.split("::"))][1]
        return None

    def static(self, name):
        found = self.fields.get(tuple(name.split("::")))
        return found and self.take_word(found[2])

    # ---- methods

    def symbol(self, pool, index):
        return self.word(pool + self.sizes["ConstantPool"] + 8 * index) & ~1

    def name_of(self, symbol):
        length = self.number(symbol + self.offset("Symbol::_length"), "<H")
        return self.read(symbol + self.offset("Symbol::_body", "Symbol::_body[0]"), length).decode()

    def take_symbol(self, symbol):
        length = self.offset("Symbol::_length")
        self.take(symbol + length, 2)
        self.take(symbol + self.offset("Symbol::_body", "Symbol::_body[0]"), self.number(symbol + length, "<H"))

    def take_method(self, method):
        """If it is one."""
        if not method or method & 7:
            return
        try:
            part = self.word(method + self.offset("Method::_constMethod"))
            pool = self.word(part + self.offset("ConstMethod::_constants"))
            holder = self.word(pool + self.offset("ConstantPool::_pool_holder"))
            class_name = self.word(holder + self.offset("Klass::_name"))
            name = self.number(part + self.offset("ConstMethod::_name_index"), "<H")
            whole = 8 * self.number(part + self.offset("ConstMethod::_constMethod_size"), "<i")
            text = self.name_of(class_name), self.name_of(self.symbol(pool, name))
        except (OSError, OverflowError, struct.error, UnicodeDecodeError):
            return
        if not re.fullmatch(r"[\w/$]+", text[0]) or not re.fullmatch(r"[\w$<>]+", text[1]) or not 0 < whole <= 4096:
            return
        print("method", *text, file=sys.stderr)
        self.take_word(method + self.offset("Method::_constMethod"))
        self.take(part, whole)
        self.take_word(pool + self.offset("ConstantPool::_pool_holder"))
        self.take_word(holder + self.offset("Klass::_name"))
        self.take_symbol(class_name)
        source = self.offset("ConstantPool::_source_file_name_index")
        source_at = pool + source if source is not None else holder + self.offset("InstanceKlass::_source_file_name_index")
        self.take(source_at, 2)
        for index in (name, self.number(source_at, "<H")):
            if index:
                self.take_word(pool + self.sizes["ConstantPool"] + 8 * index)
                self.take_symbol(self.symbol(pool, index))

    # ---- code

    def take_heaps(self):
        heaps = self.static("CodeCache::_heaps")
        if heaps:
            length = heaps + self.offset("GrowableArrayBase::_len", "GenericGrowableArray::_len")
            self.take(length, 4)
            data = self.take_word(heaps + self.offset("GrowableArray<int>::_data"))
            heaps = [self.take_word(data + 8 * i) for i in range(self.number(length, "<i"))]
        else:
            heaps = [self.static("CodeCache::_heap")]
        low, high = self.offset("VirtualSpace::_low_boundary"), self.offset("VirtualSpace::_high_boundary")
        self.heaps = []
        for heap in heaps:
            memory, segments = heap + self.offset("CodeHeap::_memory"), heap + self.offset("CodeHeap::_segmap")
            shift = heap + self.offset("CodeHeap::_log2_segment_size")
            self.take(shift, 4)
            self.heaps.append(tuple(map(self.take_word, (memory + low, memory + high, segments + low))) + (self.number(shift, "<i"),))
        queue = self.static("AbstractInterpreter::_code")
        self.take_word(queue + self.offset("StubQueue::_stub_buffer"))
        self.take(queue + self.offset("StubQueue::_buffer_limit"), 4)

    def heap_of(self, address):
        return next((h for h in self.heaps if h[0] <= address < h[1]), None)

    def take_code(self, pc):
        """If there is any: what makes it out, and what it is."""
        heap = self.heap_of(pc)
        if not heap:
            return
        # What called may be looked for in front of it, and what it goes on with.
        self.take(pc - 8, 16)
        segment = pc - heap[0] >> heap[3]
        while True:
            self.take(heap[2] + segment, 1)
            back = self.read(heap[2] + segment, 1)[0]
            if back == 0xFF:
                return
            if not back:
                break
            segment -= back
        blob = heap[0] + (segment << heap[3]) + self.sizes["HeapBlock"]
        if blob in self.blobs:
            return
        self.blobs.add(blob)
        name = self.word(blob + self.offset("CodeBlob::_name"))
        kind = self.text(name)
        self.take(name, len(kind) + 1)
        kinds = ("CodeBlob",) + (("nmethod", "CompiledMethod") if "nmethod" in kind else ())
        last = max(offset for (t, _), (is_static, offset, _) in self.fields.items() if t in kinds and not is_static)
        # The programs read as much of whatever it is.
        self.take(blob, max(last, self.offset("nmethod::_compile_id")) + 8)
        print("code", kind, file=sys.stderr)
        if "nmethod" in kind:
            self.take_method(self.word(blob + self.offset("nmethod::_method", "CompiledMethod::_method")))
        if kind == "nmethod":
            self.take_tables(blob)

    def half(self, blob, name, form="<i"):
        return self.number(blob + self.offset(name), form)

    def take_tables(self, blob):
        """As nmethod.hpp of the version has them: all addresses that calls return to, their scopes, and the methods."""
        relocations = "CodeBlob::_mutable_data"
        pcs = self.half(blob, "nmethod::_scopes_pcs_offset")
        if self.offset("nmethod::_immutable_data") is not None:
            immutable = self.word(blob + self.offset("nmethod::_immutable_data"))
            scopes = self.half(blob, "nmethod::_scopes_data_offset")
            pcs, pcs_end = immutable + pcs, immutable + scopes
            scopes = immutable + scopes, immutable + self.half(blob, "nmethod::_immutable_data_size")
            if self.offset(relocations) is not None:
                metadata = self.word(blob + self.offset(relocations)) + self.half(blob, "CodeBlob::_relocation_size")
            else:
                metadata = blob + self.half(blob, "CodeBlob::_data_offset") + self.half(blob, "nmethod::_metadata_offset", "<H")
            count = 32
        else:
            pcs, pcs_end = blob + pcs, blob + self.half(blob, "nmethod::_dependencies_offset")
            begin = self.offset("CompiledMethod::_scopes_data_begin", "nmethod::_scopes_data_begin")
            begin = self.word(blob + begin) if begin is not None else blob + self.half(blob, "nmethod::_scopes_data_offset")
            scopes = begin, pcs
            metadata = blob + self.half(blob, "nmethod::_metadata_offset")
            count = (begin - metadata) // 8
        self.take(pcs, pcs_end - pcs)
        self.take(scopes[0], min(scopes[1] - scopes[0], 4096))
        for i in range(count):
            self.take_method(self.take_word(metadata + 8 * i))

    def take_stack(self, sp):
        entry = self.fields["StubRoutines", "_call_stub_return_address"][2]
        entry = self.word(entry)
        end = sp
        while self.word(end) != entry:
            end += 8
        # What main() goes back to is the stub, of which its frame pointer leads to the end.
        stub = self.word(end - 8)
        assert end < stub < end + 4096 and stub - sp < 65536
        self.take(sp - 8, stub + 16 - (sp - 8))
        self.blobs = set()
        for at in range(sp - 8, stub + 16, 8):
            word = self.word(at)
            self.take_code(word)
            self.take_method(word)
        return stub

    def segments(self):
        """Runs of bytes, over gaps of less than 8 in 0."""
        runs = []
        for address in sorted(self.taken):
            if runs and address - runs[-1][0] - len(runs[-1][1]) < 8:
                runs[-1][1].extend(bytes(address - runs[-1][0] - len(runs[-1][1])))
                runs[-1][1].append(self.taken[address])
            else:
                runs.append((address, bytearray([self.taken[address]])))
        return runs


def escaped(data):
    """One literal of C."""
    text, digits = "", False
    for byte in data:
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        # A digit would belong to what is in front of it.
        if plain and not (digits and char.isdigit()):
            text, digits = text + char, False
        else:
            text, digits = text + f"\\{byte:o}", True
    return f'"{text}"'


def main():
    root = os.environ.get("JAVA_ROOT", "").rstrip("/")
    with tempfile.TemporaryDirectory(dir=(root or "") + "/tmp") as classes:
        for name in os.listdir(sys.argv[1]):
            with open(f"{sys.argv[1]}/{name}", "rb") as source, open(f"{classes}/{name}", "wb") as to:
                to.write(source.read())
        command = ["chroot", root or "/"] + JAVA.split() + ["-cp", classes[len(root):], "Recorded", str(ROUNDS)]
        java = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        java.stdin.write(b"x" * ROUNDS)
        java.stdin.flush()
        try:
            record(java, root)
        finally:
            java.kill()
            java.wait()


def record(java, root):
    stack = java.stdout.readline().decode().strip()
    for thread in os.listdir(f"/proc/{java.pid}/task"):
        if open(f"/proc/{java.pid}/task/{thread}/syscall").read().startswith("0 0x0 "):
            break
    ask = ["gdb", "-nx", "-batch", "-ex", f"set sysroot {root or '/'}", "-p", str(java.pid), "-ex", f"python exec({FRAMES % int(thread)!r})"]
    frames = subprocess.run(ask, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    process = Process(java.pid, root)
    process.take_heaps()
    version = process.fields.get(("Abstract_VM_Version", "_vm_major_version"))
    # 8's calls itself 25.
    version = process.number(version[2], "<i") if ("CodeCache", "_heaps") in process.fields else 8
    frames = [tuple(map(int, line.split()[1:])) for line in frames.splitlines() if line.startswith("frame ")]
    pc, sp, fp = next(f for f in frames if process.heap_of(f[0]))
    assert process.word(sp - 8) == pc
    stub = process.take_stack(sp)
    kept = sorted((t, f) + process.fields[t, f] for t, f in process.fields if t in TYPES)
    for _, _, is_static, _, address in kept:
        if is_static:
            process.take_word(address)
    print("/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */")
    print(f"/* By tests/golden/java/record.py of Java {version}. */")
    print("/* clang-format off */")
    print(f"#define IMAGE_SP   0x{sp:x}\n#define IMAGE_FP   0x{fp:x}\n#define IMAGE_STUB 0x{stub:x}")
    print("#define IMAGE_STACK " + json.dumps(stack))
    print("static struct field image_fields[] = {")
    for kind, name, is_static, offset, address in kept:
        print(f'\t{{"{kind}", "{name}", {is_static}, {offset}, {address:#x}}},')
    print("\t{0},\n};\nstatic struct type image_types[] = {")
    for kind in sorted(set(TYPES) & set(process.sizes)):
        print(f'\t{{"{kind}", {process.sizes[kind]}}},')
    print("\t{0},\n};\nstatic const struct segment image_segments[] = {")
    for address, content in process.segments():
        print(f"\t{{0x{address:x}, {len(content)}, {escaped(content)}}},")
    print("};")


main()
