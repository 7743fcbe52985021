// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No JVM, but what looks like HotSpot's 17 from outside, with one heap of code whose books lead anywhere. Says "ready PID", and for each
 * line on its standard input allocates from code that it has made in that heap, as many bytes as no other, and says "done":
 * "right": what is compiled there is Forged.method; "circle": the map of segments leads back for ever; "free": to what is free;
 * "large": a frame of 2^31 words; "far": a class that is in no memory; "name": one whose name is of 65,535 characters that
 * are none; "name_far": whose name is in no memory; "scopes": a scope that is its own caller.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct entry {
	const char *type, *field;
	uint64_t is_static, offset;
	void *address;
};

struct type {
	const char *name;
	uint64_t size;
};

struct list {
	int length, max;
	void **data;
};

struct space {
	void *low, *high;
};

/* Of CodeHeap: at 0 its memory, at 16 its segments. */
struct heap {
	struct space memory, segments;
	int shift;
};

/* CodeBlob and nmethod, with the header of the block that it is in before. */
struct blob {
	uint64_t header[2];
	const char *name;
	int frame_size, compile_id;
	void *method, *code;
	int pcs_offset, pcs_end_offset, metadata_offset, pad;
	void *scopes;
	int pcs[4];
	void *metadata[1];
};

struct symbol {
	uint32_t hash;
	uint16_t length;
	char body[];
};

struct class
{
	void *name;
};

struct pool {
	struct class *holder;
	uint64_t source;
	void *entries[4];
};

struct const_method {
	struct pool *pool;
	int whole;
	uint16_t flags, code_size, name, signature, pad[2];
};

struct method {
	struct const_method *constant;
};

static int major = 17;
static struct heap heap;
static void *heap_at = &heap;
static struct list heaps_list = {1, 1, &heap_at}, *heaps = &heaps_list;
static uint8_t segments[4096];

#define FIELD(t, f, s, m)                                      \
	{                                                      \
		t, f, 0, __builtin_offsetof(struct s, m), NULL \
	}
#define BLOB(t, f, m)                                                  \
	{                                                              \
		t, f, 0, __builtin_offsetof(struct blob, m) - 16, NULL \
	}
static struct entry entries[] = {
	{"CodeCache", "_heaps", 1, 0, &heaps},
	{"Abstract_VM_Version", "_vm_major_version", 1, 0, &major},
	FIELD("GrowableArrayBase", "_len", list, length),
	FIELD("GrowableArray<int>", "_data", list, data),
	FIELD("CodeHeap", "_memory", heap, memory),
	FIELD("CodeHeap", "_segmap", heap, segments),
	FIELD("CodeHeap", "_log2_segment_size", heap, shift),
	FIELD("VirtualSpace", "_low_boundary", space, low),
	FIELD("VirtualSpace", "_high_boundary", space, high),
	BLOB("CodeBlob", "_name", name),
	BLOB("CodeBlob", "_frame_size", frame_size),
	BLOB("CodeBlob", "_code_begin", code),
	BLOB("nmethod", "_compile_id", compile_id),
	BLOB("CompiledMethod", "_method", method),
	BLOB("nmethod", "_scopes_pcs_offset", pcs_offset),
	BLOB("nmethod", "_dependencies_offset", pcs_end_offset),
	BLOB("nmethod", "_metadata_offset", metadata_offset),
	BLOB("CompiledMethod", "_scopes_data_begin", scopes),
	{"PcDesc", "_pc_offset", 0, 0, NULL},
	{"PcDesc", "_scope_decode_offset", 0, 4, NULL},
	FIELD("Method", "_constMethod", method, constant),
	FIELD("ConstMethod", "_constants", const_method, pool),
	FIELD("ConstMethod", "_constMethod_size", const_method, whole),
	FIELD("ConstMethod", "_flags", const_method, flags),
	FIELD("ConstMethod", "_code_size", const_method, code_size),
	FIELD("ConstMethod", "_name_index", const_method, name),
	FIELD("ConstMethod", "_signature_index", const_method, signature),
	FIELD("ConstantPool", "_pool_holder", pool, holder),
	FIELD("ConstantPool", "_source_file_name_index", pool, source),
	FIELD("Klass", "_name", class, name),
	FIELD("Symbol", "_length", symbol, length),
	FIELD("Symbol", "_body", symbol, body),
	{NULL, NULL, 0, 0, NULL},
};

static struct type types[] = {
	{"HeapBlock", 16},
	{"ConstMethod", sizeof(struct const_method)},
	{"ConstantPool", __builtin_offsetof(struct pool, entries)},
	{"PcDesc", 16},
	{NULL, 0},
};

/* What the tool looks for by name. */
struct entry *gHotSpotVMStructs = entries;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct entry);
uint64_t gHotSpotVMStructEntryTypeNameOffset = __builtin_offsetof(struct entry, type);
uint64_t gHotSpotVMStructEntryFieldNameOffset = __builtin_offsetof(struct entry, field);
uint64_t gHotSpotVMStructEntryOffsetOffset = __builtin_offsetof(struct entry, offset);
uint64_t gHotSpotVMStructEntryAddressOffset = __builtin_offsetof(struct entry, address);
struct type *gHotSpotVMTypes = types;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(struct type);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = __builtin_offsetof(struct type, name);
uint64_t gHotSpotVMTypeEntrySizeOffset = __builtin_offsetof(struct type, size);

static struct symbol *symbol(const char *text, uint16_t length)
{
	struct symbol *s =
		mmap(NULL, 1 << 17, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(s, 1, 1 << 17);
	s->length = length;
	memcpy(s->body, text, strlen(text));
	return s;
}

#define FAR ((void *)0x10000)

int main(void)
{
	static const uint8_t code[] = {
		0x55,			/* push %rbp */
		0x48, 0x83, 0xec, 0x10, /* sub $16, %rsp */
		0xff, 0xd6,		/* call *%rsi */
		0x48, 0x83, 0xc4, 0x10, /* add $16, %rsp */
		0x5d, 0xc3,		/* pop %rbp; ret */
	};
	static struct class forged_class;
	static struct pool pool = {.holder = &forged_class};
	static struct const_method constant = {.pool = &pool, .whole = 6, .name = 1};
	static struct method method = {&constant};
	static uint8_t scopes[64] = {0};
	/* Segments of 128 bytes: the piece of code begins at the 8th. */
	uint8_t *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct blob *blob = (struct blob *)(memory + 8 * 128);
	void *(*forged)(size_t, void *(*)(size_t));
	char line[64];
	size_t size = 5000;

	heap = (struct heap){
		{memory, memory + (1 << 16)}, {segments, segments + sizeof(segments)}, 7};
	memset(segments, 0xff, sizeof(segments));
	forged = (void *(*)(size_t, void *(*)(size_t)))(memory + 12 * 128);
	memcpy(memory + 12 * 128, code, sizeof(code));
	forged_class.name = symbol("Forged", 6);
	pool.entries[1] = symbol("method", 6);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 8; i < 16; i++)
			segments[i] = (uint8_t)(i - 8);
		*blob = (struct blob){.name = "nmethod",
				      .frame_size = 4,
				      .compile_id = (int)size,
				      .method = &method,
				      .code = forged,
				      .scopes = scopes};
		blob->metadata[0] = &method;
		forged_class.name = symbol("Forged", 6);
		pool.holder = &forged_class;
		if (!strncmp(line, "circle", 6))
			memset(segments, 1, sizeof(segments)), segments[0] = 200;
		else if (!strncmp(line, "free", 4))
			segments[8] = 0xff;
		else if (!strncmp(line, "large", 5))
			blob->frame_size = INT32_MIN;
		else if (!strncmp(line, "far", 3))
			pool.holder = FAR;
		else if (!strncmp(line, "name_far", 8))
			forged_class.name = FAR;
		else if (!strncmp(line, "name", 4))
			forged_class.name = symbol("\x1b[2J\xff", 65535);
		if (!strncmp(line, "scopes", 6)) {
			blob->pcs_offset = (int)__builtin_offsetof(struct blob, pcs) - 16;
			blob->pcs_end_offset = blob->pcs_offset + 16;
			blob->metadata_offset = (int)__builtin_offsetof(struct blob, metadata) - 16;
			blob->pcs[0] = 7; /* behind the call */
			blob->pcs[1] = 9;
			memcpy(scopes + 9, (uint8_t[]){9, 1, 1}, 3);
		}
		forged(++size, malloc);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
