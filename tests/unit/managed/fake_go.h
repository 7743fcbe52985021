/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A Go process that never was, with the layout of any version that is known: four functions, a few spans, two goroutines
 * that wait, two types, a list of ten objects, one sample. Include after cmocka.h, or what stands for it.
 */
#ifndef MEMLEAKBPF_TESTS_FAKE_GO_H
#define MEMLEAKBPF_TESTS_FAKE_GO_H

#include <elf.h>
#include <libelf.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/heap/fake_image.h"
#include "user/base/util.h"
#include "user/managed/go_layout.h"
#include "user/managed/managed_heaps.h"

#define FAKE_GO_TEXT	0x401000ull
#define FAKE_GO_TABLE	0x500000ull
#define FAKE_GO_DATA	0x600000ull
#define FAKE_GO_TYPES	0x700000ull
#define FAKE_GO_HEAP	0xc000000000ull
#define FAKE_GO_RUNTIME 0x7f0000000000ull

#define FAKE_GO_TABLE_BYTES 0x400
#define FAKE_GO_ITEMS	    10

/* Functions are so far apart. */
enum {
	FAKE_GO_WAIT,
	FAKE_GO_START,
	FAKE_GO_GOPARK,
	FAKE_GO_GOEXIT,
	FAKE_GO_FUNCTIONS,
};

#define FAKE_GO_FUNCTION(n) (FAKE_GO_TEXT + 0x100ull * (n))

struct fake_go {
	struct heap_image *image;
	struct object_cache *objects;
	struct object *object;
	const struct go_layout *layout;
	unsigned minor;
};

/* ---- the file ------------------------------------------------------------------------------ */

static inline void fake_go_put(uint8_t *to, size_t at, uint64_t value, size_t size)
{
	memcpy(to + at, &value, size);
}

/* runtime.pclntab: header, names, units, files, values, functions. */
static inline void fake_go_table(unsigned minor, uint8_t t[static FAKE_GO_TABLE_BYTES])
{
	static const char *const names[] = {"main.wait", "main.start", "runtime.gopark",
					    "runtime.goexit"};
	/* sp: 0; sp: 16; file 0; line 7. Each over 256 bytes. */
	static const uint8_t values[] = {0, 2, 0x80, 2, 0, 34, 0x80, 2, 0, 16, 0x80, 2, 0};
	static const uint64_t words[] = {
		FAKE_GO_FUNCTIONS, 1, FAKE_GO_TEXT, 0x100, 0x180, 0x190, 0x1c0, 0x200};
	size_t name = 0;

	memset(t, 0, FAKE_GO_TABLE_BYTES);
	fake_go_put(t, 0, minor < 20 ? 0xfffffff0u : 0xfffffff1u, 4);
	t[6] = 1;
	t[7] = 8;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		fake_go_put(t, 8 + 8 * i, words[i], 8);
	memcpy(t + 0x190, "main.go", 8);
	memcpy(t + 0x1c0, values, sizeof(values));
	for (size_t i = 0; i < FAKE_GO_FUNCTIONS; i++) {
		uint8_t *f = t + 0x200 + 64 + 64 * i;

		memcpy(t + 0x100 + name, names[i], strlen(names[i]) + 1);
		fake_go_put(t, 0x200 + 8 * i, 0x100 * i, 4);
		fake_go_put(t, 0x204 + 8 * i, 64 + 64 * i, 4);
		fake_go_put(f, 4, name, 4);
		fake_go_put(f, 16, i == FAKE_GO_GOPARK ? 5 : 1, 4);
		fake_go_put(f, 20, 1, 4);
		fake_go_put(f, 24, 9, 4);
		f[minor < 20 ? 37 : 41] = i == FAKE_GO_GOEXIT; /* no one has called it */
		name += strlen(names[i]) + 1;
	}
	fake_go_put(t, 0x200 + 8 * FAKE_GO_FUNCTIONS, 0x100 * FAKE_GO_FUNCTIONS, 4);
}

struct fake_go_file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[4];
	char names[48];
	uint8_t info[128];
	uint8_t table[FAKE_GO_TABLE_BYTES];
};

static inline int fake_go_file(unsigned minor)
{
	static const char names[] = "\0.gopclntab\0.go.buildinfo\0.shstrtab";
	struct fake_go_file f = {
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct fake_go_file, phdr),
			 .e_shoff = offsetof(struct fake_go_file, shdrs),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3},
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = 0x400000,
			 .p_filesz = sizeof(f),
			 .p_memsz = sizeof(f)},
		.shdrs = {{.sh_type = SHT_NULL},
			  {.sh_name = 1,
			   .sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC,
			   .sh_addr = FAKE_GO_TABLE,
			   .sh_offset = offsetof(struct fake_go_file, table),
			   .sh_size = FAKE_GO_TABLE_BYTES,
			   .sh_addralign = 1},
			  {.sh_name = 12,
			   .sh_type = SHT_PROGBITS,
			   .sh_flags = SHF_ALLOC,
			   .sh_offset = offsetof(struct fake_go_file, info),
			   .sh_size = sizeof(f.info),
			   .sh_addralign = 1},
			  {.sh_name = 26,
			   .sh_type = SHT_STRTAB,
			   .sh_offset = offsetof(struct fake_go_file, names),
			   .sh_size = sizeof(names),
			   .sh_addralign = 1}},
		.info = "\xff Go buildinf:",
	};
	int fd = memfd_create("go", MFD_CLOEXEC);

	memcpy(f.names, names, sizeof(names));
	f.info[14] = 8;
	f.info[15] = 2;
	f.info[32] = (uint8_t)snprintf((char *)f.info + 33, 20, "go1.%u.1", minor);
	fake_go_table(minor, f.table);
	if (fd < 0 || write(fd, &f, sizeof(f)) != sizeof(f))
		abort();
	return fd;
}

/* ---- the memory ---------------------------------------------------------------------------- */

static inline void fake_go_word(struct fake_go *g, uint64_t address, uint64_t word)
{
	fake_word(g->image, address, word);
}

/* Bytes, as the words that they are. */
static inline void fake_go_bytes(struct fake_go *g, uint64_t address, const void *bytes,
				 size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + i, size - i < 8 ? size - i : 8);
		fake_go_word(g, address + i, word);
	}
}

/* runtime.moduledata */
static inline void fake_go_module(struct fake_go *g)
{
	uint64_t w[48] = {
		[0] = FAKE_GO_TABLE, [2] = 1, [3] = 1, [5] = 1, [6] = 1, [17] = 5, [18] = 5};

	w[20] = w[22] = FAKE_GO_TEXT;
	w[21] = w[23] = FAKE_GO_FUNCTION(FAKE_GO_FUNCTIONS);
	/* noptrdata, data, bss, noptrbss */
	w[24] = FAKE_GO_DATA + 0x1000;
	w[25] = w[26] = w[27] = w[28] = FAKE_GO_DATA + 0x2000;
	w[29] = w[30] = w[31] = FAKE_GO_DATA + 0x3000;
	w[g->layout->types / 8] = FAKE_GO_TYPES;
	w[g->layout->etypes / 8] = FAKE_GO_TYPES + 0x1000;
	fake_go_bytes(g, FAKE_GO_DATA, w, sizeof(w));
}

struct fake_go_span {
	uint64_t base, elem_size, nelems, free_index, count, bits;
	uint8_t class, state;
};

static inline void fake_go_put_span(struct fake_go *g, uint64_t address, uint64_t bits,
				    const struct fake_go_span *s)
{
	const struct go_layout *l = g->layout;
	size_t small = l->narrow ? 2 : 8;
	uint8_t b[160] = {0};

	fake_go_put(b, GO_SPAN_START, s->base, 8);
	fake_go_put(b, GO_SPAN_PAGES, 1, 8);
	fake_go_put(b, GO_SPAN_FREE_INDEX, s->free_index, small);
	fake_go_put(b, l->nelems, s->nelems, small);
	fake_go_put(b, l->alloc_bits, bits, 8);
	fake_go_put(b, l->mark_bits, bits, 8);
	fake_go_put(b, l->sweepgen, 4, 4);
	fake_go_put(b, l->alloc_count, s->count, 2);
	fake_go_put(b, l->span_class, s->class, 1);
	fake_go_put(b, l->state, s->state, 1);
	fake_go_put(b, l->elem_size, s->elem_size, 8);
	fake_go_put(b, l->limit, s->base + s->elem_size * s->nelems, 8);
	fake_go_bytes(g, address, b, l->span_bytes);
	fake_go_word(g, bits, s->bits);
}

/* mheap_.allspans, with sweepgen before it and pagesInUse behind. */
static inline void fake_go_spans(struct fake_go *g)
{
	const struct fake_go_span spans[8] = {
		{FAKE_GO_HEAP, 64, 128, FAKE_GO_ITEMS, FAKE_GO_ITEMS, 0, 10, 1},
		{FAKE_GO_HEAP + 0x2000, 1024, 8, 2, 2, 0, 60, 1},
		{FAKE_GO_HEAP + 0x4000, 2048, 0, 0, 0, 0, 0, 2},
		/* of 16 bytes, without pointers: four, of which one lies apart */
		{FAKE_GO_HEAP + 0x6000, 16, 512, 3, 4, 1u << 5, 5, 1},
	};
	const uint64_t mheap[] = {4, FAKE_GO_RUNTIME, 8, 8, 3};

	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		uint64_t at = FAKE_GO_RUNTIME + 0x1000 + 0x100 * i;

		fake_go_word(g, FAKE_GO_RUNTIME + 8 * i, at);
		fake_go_put_span(g, at, FAKE_GO_RUNTIME + 0x2000 + 0x80 * i, &spans[i]);
	}
	fake_go_bytes(g, FAKE_GO_DATA + 0x2100, mheap, sizeof(mheap));
}

/* runtime.allgs, and the texts of what they wait for. */
static inline void fake_go_goroutines(struct fake_go *g)
{
	static const char first[] = "GC assist marking", second[] = "chan receive";
	const struct go_layout *l = g->layout;
	const uint64_t reasons[] = {0,
				    0,
				    FAKE_GO_DATA + 0x1400,
				    sizeof(first) - 1,
				    FAKE_GO_DATA + 0x1440,
				    sizeof(second) - 1};
	const uint64_t slice[] = {FAKE_GO_RUNTIME + 0x3000, 2, 4};

	fake_go_bytes(g, FAKE_GO_DATA + 0x1400, first, sizeof(first));
	fake_go_bytes(g, FAKE_GO_DATA + 0x1440, second, sizeof(second));
	fake_go_bytes(g, FAKE_GO_DATA + 0x1100, reasons, sizeof(reasons));
	fake_go_bytes(g, FAKE_GO_DATA + 0x2200, slice, sizeof(slice));
	for (size_t i = 0; i < 2; i++) {
		uint64_t at = FAKE_GO_RUNTIME + 0x4000 + 0x200 * i;
		uint64_t sp = FAKE_GO_HEAP + 0x4100 + 0x800 * i;
		uint8_t b[GO_G_BYTES] = {0};

		fake_go_put(b, GO_G_STACK, sp - 0x100, 8);
		fake_go_put(b, GO_G_STACK + 8, sp + 0x700, 8);
		fake_go_put(b, GO_G_SCHED + GO_GOBUF_SP, sp, 8);
		fake_go_put(b, GO_G_SCHED + GO_GOBUF_PC, FAKE_GO_FUNCTION(FAKE_GO_GOPARK) + 16, 8);
		fake_go_put(b, GO_G_SCHED + GO_GOBUF_G, at, 8);
		fake_go_put(b, l->status, 4, 4);
		fake_go_put(b, l->wait_reason, 2, 1);
		fake_go_put(b, l->go_pc, FAKE_GO_FUNCTION(FAKE_GO_START) + 16, 8);
		fake_go_put(b, l->start_pc, FAKE_GO_FUNCTION(FAKE_GO_WAIT), 8);
		fake_go_bytes(g, at, b, sizeof(b));
		fake_go_word(g, FAKE_GO_RUNTIME + 0x3000 + 8 * i, at);
		/* gopark()'s frame has 16 bytes; its caller's address is behind. */
		fake_go_word(g, sp + 16, FAKE_GO_FUNCTION(FAKE_GO_WAIT) + 32);
	}
}

static inline void fake_go_type(struct fake_go *g, uint64_t at, uint64_t size, uint8_t kind,
				uint32_t name, const char *text)
{
	char bytes[64] = {0};

	fake_go_word(g, at, size);
	fake_go_word(g, at + 8, size);
	fake_go_word(g, at + 16, (uint64_t)kind << 56 | (at & 0xffffffff));
	fake_go_word(g, at + 40, name);
	bytes[1] = (char)strlen(text);
	memcpy(bytes + 2, text, strlen(text));
	fake_go_bytes(g, FAKE_GO_TYPES + name, bytes, sizeof(bytes));
}

/* *main.Item, and main.Item, which begins with one of these; a variable leads to the first of ten. */
static inline void fake_go_objects(struct fake_go *g)
{
	uint64_t pointer = FAKE_GO_TYPES + 0x100, item = FAKE_GO_TYPES + 0x200;
	const uint64_t field[] = {0, pointer, 0};

	fake_go_type(g, pointer, 8, 22, 0x400, "*main.Item");
	fake_go_word(g, pointer + 48, item);
	fake_go_type(g, item, 64, 25, 0x500, "main.Item");
	fake_go_word(g, item + 56, FAKE_GO_TYPES + 0x300);
	fake_go_word(g, item + 64, 1);
	fake_go_bytes(g, FAKE_GO_TYPES + 0x300, field, sizeof(field));
	fake_go_word(g, FAKE_GO_DATA + 0x1200, pointer);
	fake_go_word(g, FAKE_GO_DATA + 0x1208, FAKE_GO_HEAP);
	for (uint64_t i = 0; i + 1 < FAKE_GO_ITEMS; i++)
		fake_go_word(g, FAKE_GO_HEAP + 64 * i, FAKE_GO_HEAP + 64 * (i + 1));
	if (g->layout->large_type)
		fake_go_word(g, FAKE_GO_HEAP + 0x2000, item);
}

static inline void fake_go_profile(struct fake_go *g)
{
	const uint64_t bucket[] = {0,
				   0,
				   1,
				   0,
				   64,
				   2,
				   FAKE_GO_FUNCTION(FAKE_GO_WAIT) + 17,
				   FAKE_GO_FUNCTION(FAKE_GO_START) + 17,
				   5,
				   2,
				   0,
				   0};

	fake_go_bytes(g, FAKE_GO_RUNTIME + 0x5000, bucket, sizeof(bucket));
	fake_go_word(g, FAKE_GO_DATA + 0x2300, FAKE_GO_RUNTIME + 0x5000);
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Of Go 1.minor, which is known. */
static inline void fake_go_new(struct fake_go *g, unsigned minor)
{
	uint8_t table[FAKE_GO_TABLE_BYTES];

	elf_version(EV_CURRENT);
	*g = (struct fake_go){.layout = go_layout_of(minor), .minor = minor};
	g->image = fake_image("400000-402000 r-xp 00000000 00:01 5 /go\n"
			      "500000-501000 r--p 00000000 00:01 5 /go\n"
			      "600000-603000 rw-p 00000000 00:01 5 /go\n"
			      "700000-701000 r--p 00000000 00:01 5 /go\n"
			      "c000000000-c000010000 rw-p 00000000 00:00 0 \n"
			      "7f0000000000-7f0000006000 rw-p 00000000 00:00 0 \n");
	fake_region(g->image, FAKE_GO_TABLE, 0x1000);
	fake_region(g->image, FAKE_GO_DATA, 0x3000);
	fake_region(g->image, FAKE_GO_TYPES, 0x1000);
	fake_region(g->image, FAKE_GO_HEAP, 0x10000);
	fake_region(g->image, FAKE_GO_RUNTIME, 0x6000);
	g->objects = object_cache_new();
	if (!g->objects || object_cache_take(g->objects, fake_go_file(minor), "/go", &g->object))
		abort();
	fake_go_table(minor, table);
	for (size_t i = 0; i < sizeof(table); i += 8) {
		uint64_t word;

		memcpy(&word, table + i, 8);
		fake_word(g->image, FAKE_GO_TABLE + i, word);
	}
	fake_go_module(g);
	fake_go_spans(g);
	fake_go_goroutines(g);
	fake_go_objects(g);
	fake_go_profile(g);
	fake_finish(g->image);
}

static inline void fake_go_free(struct fake_go *g)
{
	heap_image_free(g->image);
	object_unref(g->object);
	object_cache_free(g->objects);
}

static inline bool fake_go_read(void *ctx, uint64_t address, void *to, size_t size)
{
	const struct fake_go *g = ctx;

	for (size_t i = 0; i < size;) {
		const struct memory_region *r = memory_image_region(g->image->memory, address + i);
		uint64_t at = r ? address + i - r->start : 0, n = size - i;

		if (!r || address + i < r->start)
			return false;
		n = n < r->size - at ? n : r->size - at;
		memcpy((char *)to + i, (const char *)r->words + at, n);
		i += n;
	}
	return true;
}

static inline struct object *fake_go_object(void *ctx, const struct mapping *m)
{
	struct fake_go *g = ctx;

	return m->ino ? g->object : NULL;
}

/* What is read of it: managed_heap_release() and free(). */
static inline struct managed_heap *fake_go_look(struct fake_go *g, struct inventory *inventory,
						size_t *count)
{
	const struct managed_memory memory = {
		.image = g->image->memory,
		.ctx = g,
		.read = fake_go_read,
		.object = fake_go_object,
	};
	struct managed_heap *heaps;

	if (managed_heaps_read(&memory, inventory, &heaps, count))
		abort();
	return heaps;
}

#endif
