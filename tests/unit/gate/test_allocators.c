// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The gate in the allocators that are installed here, each loaded into a namespace of its own with a C
 * library and a C++ library that use it: what is told of each function, once and no more, and that
 * operator new throws through it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/rounds.h"
#include "user/base/util.h"
#include "user/gate/leads.h"
#include "user/process/maps.h"

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the allocators' own malloc");
	return 0;
}
#else
#include "tests/unit/gate/in_process.h"
#include "tests/unit/gate/known_functions.h"
#include "tests/unit/gate/stepped.h"

/* ---- an allocator ------------------------------------------------------------------------- */

static const char *const libraries[] = {
	"libc.so.6",
	"libjemalloc.so.2",
	"libtcmalloc_minimal.so.4",
	"libmimalloc.so.2",
};

/* All that the allocator has, whether or not it shares a stub with another. */
static struct way {
	const char *name;
	uint32_t kind;
	void *function;
} ways[ARRAY_SIZE(known_functions)];
static size_t way_count;

static struct gated functions[ARRAY_SIZE(known_functions)];
static void *library;

/* NULL: it is not here. */
static void *open_named_copy(const char *name)
{
	void *there = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	if (!there)
		print_message("%s\n", dlerror());
	return there ? open_copy(dlsym(there, "malloc")) : NULL;
}

static bool read_word(void *data, uint64_t address, uint64_t *out)
{
	(void)data;
	memcpy(out, (const void *)(uintptr_t)address, sizeof(*out));
	return true;
}

static struct leads_object object_of(const void *function)
{
	struct leads_object object = {.word = read_word};
	const struct mapping *m;
	struct maps *maps;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)function);
	assert_non_null(m);
	object.address = m->start;
	object.size = m->end - m->start;
	object.text = (const uint8_t *)(uintptr_t)m->start;
	maps_free(maps);
	return object;
}

static struct gated *gated_at(uint64_t address, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((uintptr_t)functions[i].function == address)
			return &functions[i];
	}
	return NULL;
}

static bool can_have_jump(const struct gated *f)
{
	struct displace_request request = {.size = DISPLACE_CODE_MAX,
					   .code = f->function,
					   .address = (uintptr_t)f->function,
					   .arguments = f->arguments};
	struct displaced plan;
	const char *why;

	if (!displace_plan(&request, &plan, &why))
		return true;
	print_message("  %s: %s\n", f->name, why);
	return false;
}

/* The functions that the library itself has, each place once. */
static size_t find_functions(const struct leads_object *object)
{
	size_t count = 0;

	way_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(known_functions); i++) {
		uint64_t address = (uintptr_t)dlsym(library, known_functions[i].name);
		const char *why;

		if (address - object->address >= object->size)
			continue;
		ways[way_count++] = (struct way){known_functions[i].name, known_functions[i].kind,
						 (void *)(uintptr_t)address};
		if (leads_beginning(object, &address, &why))
			fail_msg("%s: %s", known_functions[i].name, why);
		if (gated_at(address, count))
			continue;
		functions[count] = known_functions[i];
		functions[count++].function = (void *)(uintptr_t)address;
	}
	return count;
}

/* memalign's stub may be posix_memalign's brother's by another name. */
static void find_instead(const struct leads_object *object, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t address;
		const char *why;

		if (!functions[i].instead)
			continue;
		address = (uintptr_t)dlsym(library, functions[i].instead);
		assert_int_equal(leads_beginning(object, &address, &why), 0);
		assert_non_null(gated_at(address, count));
		functions[i].instead = gated_at(address, count)->name;
	}
}

/* Those that cannot have a jump must get their blocks from others. */
static size_t without_wrappers(const struct leads_object *object, size_t count)
{
	uint64_t entries[ARRAY_SIZE(known_functions)];
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		entries[i] = (uintptr_t)functions[i].function;
	for (size_t i = 0; i < count; i++) {
		if (can_have_jump(&functions[i]))
			functions[left++] = functions[i];
		else
			assert_true(leads_calls(object, entries[i], entries, count));
	}
	return left;
}

static void find_callers(const struct leads_object *object, size_t count)
{
	uint64_t entries[ARRAY_SIZE(known_functions)];
	size_t allocating = 0;

	for (size_t i = 0; i < count; i++) {
		if (functions[i].kind != GATE_KIND_FREE)
			entries[allocating++] = (uintptr_t)functions[i].function;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t address = (uintptr_t)functions[i].function;
		bool calls = leads_calls(object, address, entries, allocating);

		if (calls)
			print_message("  %s calls others\n", functions[i].name);
		functions[i].calls_others |= calls;
		if (!leads_writes_all(object, address))
			fail_msg("%s leaves registers alone", functions[i].name);
	}
}

/* False: it is not here. */
static bool open_allocator(const char *name)
{
	struct leads_object object;
	size_t count;

	library = open_named_copy(name);
	if (!library)
		return false;
	object = object_of(dlsym(library, "malloc"));
	count = find_functions(&object);
	print_message("%s: %zu functions in %zu places\n", name, way_count, count);
	count = without_wrappers(&object, count);
	find_callers(&object, count);
	find_instead(&object, count);
	map_gate(functions[0].function);
	gate_put(functions, count);
	gate_hook(true);
	return true;
}

/* ---- use of it ---------------------------------------------------------------------------- */

/* What stands behind the arguments that a stub looks at; jemalloc's flags begin with log2. */
static size_t last(const struct way *way, size_t alignment)
{
	return way->name[0] == 'm' && way->name[1] == 'i' ? alignment
							  : (size_t)__builtin_ctzl(alignment);
}

static bool resizes(const struct way *way)
{
	return way->kind == GATE_KIND_REALLOC || way->kind == GATE_KIND_REALLOC_ARRAY;
}

/* Does it make a block of nothing? */
static bool makes(const struct way *way)
{
	return way->kind != GATE_KIND_FREE && (!resizes(way) || !strcmp(way->name, "realloc"));
}

static void *get(const struct way *way, size_t size, size_t alignment)
{
	static const char nothrow;
	void *block = NULL;

	switch (way->kind) {
	case GATE_KIND_SIZE_1:
		return ((void *(*)(size_t, size_t))way->function)(size, last(way, alignment));
	case GATE_KIND_SIZE_2:
		return ((void *(*)(size_t, size_t))way->function)(alignment, size);
	case GATE_KIND_CALLOC:
		return ((void *(*)(size_t, size_t, size_t))way->function)(8, size / 8,
									  last(way, alignment));
	case GATE_KIND_POSIX:
		if (((int (*)(void **, size_t, size_t))way->function)(&block, alignment, size))
			return NULL;
		return block;
	case GATE_KIND_NEW:
		return ((void *(*)(size_t, const void *))way->function)(size, &nothrow);
	case GATE_KIND_NEW_ALIGNED:
		return ((void *(*)(size_t, size_t, const void *))way->function)(size, alignment,
										&nothrow);
	case GATE_KIND_REALLOC:
		return ((void *(*)(void *, size_t))way->function)(NULL, size);
	default:
		return NULL;
	}
}

static void put(const struct way *way, void *block, size_t size, size_t alignment)
{
	bool sized = strchr(way->name, 'm') && way->name[0] == '_';

	if (sized)
		((void (*)(void *, size_t, size_t))way->function)(block, size, alignment);
	else
		((void (*)(void *, size_t))way->function)(block, alignment);
}

static const struct way *way_of(const char *name)
{
	for (size_t i = 0; i < way_count; i++) {
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	}
	return NULL;
}

/* Which function frees what this one gave. */
static const struct way *end_of(const struct way *way, unsigned which)
{
	static const char *const ends[2][2][2] = {
		{{"_ZdlPv", "_ZdlPvm"}, {"_ZdlPv" ALIGNED, "_ZdlPvm" ALIGNED}},
		{{"_ZdaPv", "_ZdaPvm"}, {"_ZdaPv" ALIGNED, "_ZdaPvm" ALIGNED}},
	};
	const struct way *end = NULL;

	if (way->kind == GATE_KIND_NEW || way->kind == GATE_KIND_NEW_ALIGNED)
		end = way_of(
			ends[way->name[3] == 'a'][way->kind == GATE_KIND_NEW_ALIGNED][which % 2]);
	return end ?: way_of("free");
}

static const size_t sizes[] = {32, 96, 200, 1000, 5000, 40000, 300000, 3000000};
static const size_t alignments[] = {8, 16, 64, 4096};

static void expect_told(const struct way *way, size_t size, size_t alignment, unsigned which)
{
	uint64_t allocated = books.allocated, freed = books.freed;
	void *block = get(way, size, alignment);

	assert_non_null(block);
	if (strstr(way->name, "aligned") || way->kind == GATE_KIND_SIZE_2)
		assert_int_equal((uintptr_t)block % alignment, 0);
	if (books.allocated != allocated + 1 || books.last_block != (uintptr_t)block ||
	    books.last_size != size)
		fail_msg("%s(%zu, %zu): told %lu times, %lx for %lx, of %lu bytes", way->name, size,
			 alignment, (unsigned long)(books.allocated - allocated),
			 (unsigned long)books.last_block, (unsigned long)(uintptr_t)block,
			 (unsigned long)books.last_size);
	put(end_of(way, which), block, size, alignment);
	if (books.freed != freed + 1)
		fail_msg("%s: told %lu times", end_of(way, which)->name,
			 (unsigned long)(books.freed - freed));
}

/* realloc of a block: its end, and what became of it. */
static void *resize(const struct way *way, void *block, size_t size)
{
	void *(*function)(void *, size_t, size_t) =
		(void *(*)(void *, size_t, size_t))way->function;
	size_t element = size % 4 ? 1 : 4;

	return way->kind == GATE_KIND_REALLOC_ARRAY ? function(block, size / element, element)
						    : function(block, size, last(way, 4096));
}

/* A product that is larger than any size: the block stays. */
static void expect_overflow(const struct way *way)
{
	void *block = get(way_of("malloc"), 100, 8);
	uint64_t live = books.live;

	assert_null(((void *(*)(void *, size_t, size_t))way->function)(block, SIZE_MAX / 2 + 1, 4));
	assert_int_equal(books.live, live);
	put(way_of("free"), block, 100, 8);
	assert_int_equal(books.live, live - 1);
}

static void expect_resized(const struct way *way, size_t from, size_t to)
{
	uint64_t allocated, freed, live = books.live;
	void *block = get(way_of("malloc"), from, 8);

	allocated = books.allocated;
	freed = books.freed;
	block = resize(way, block, to);
	assert_non_null(block);
	if (!strcmp(way->name, "rallocx"))
		assert_int_equal((uintptr_t)block % 4096, 0);
	assert_int_equal(books.allocated, allocated + 1);
	assert_int_equal(books.freed, freed + 1);
	assert_int_equal(books.last_block, (uintptr_t)block);
	assert_int_equal(books.last_size, to);
	put(way_of("free"), block, to, 8);
	assert_int_equal(books.live, live);
}

static void each_way(enum gate_mode mode)
{
	gate_set(mode);
	sample_by(1);
	/* The first one of a slot draws its first distance. */
	put(way_of("free"), get(way_of("malloc"), 100, 8), 100, 8);
	for (size_t w = 0; w < way_count; w++) {
		if (!makes(&ways[w]))
			continue;
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
			for (size_t a = 0; a < ARRAY_SIZE(alignments); a++)
				expect_told(&ways[w], sizes[s] + alignments[a] % sizes[s],
					    alignments[a], (unsigned)(s + a));
		}
	}
	for (size_t w = 0; w < way_count; w++) {
		if (!resizes(&ways[w]))
			continue;
		if (ways[w].kind == GATE_KIND_REALLOC_ARRAY)
			expect_overflow(&ways[w]);
		for (size_t from = 0; from < ARRAY_SIZE(sizes); from++) {
			for (size_t to = 0; to < ARRAY_SIZE(sizes); to++)
				expect_resized(&ways[w], sizes[from], sizes[to]);
		}
	}
	assert_books(mode == GATE_SAMPLED);
}

/* Calls that are samples, that are none, and that are told. */
static void unwinding(void)
{
	static const struct {
		enum gate_mode mode;
		uint64_t mean;
	} passes[] = {{GATE_SAMPLED, 1}, {GATE_SAMPLED, 1 << 30}, {GATE_EXACT, 1}};

	steps_begin();
	for (size_t p = 0; p < ARRAY_SIZE(passes); p++) {
		gate_set(passes[p].mode);
		sample_by(passes[p].mean);
		put(way_of("free"), get(way_of("malloc"), 100, 8), 100, 8);
		for (size_t w = 0; w < way_count; w++) {
			void *block;

			if (!makes(&ways[w]))
				continue;
			STEP_ON();
			block = get(&ways[w], 800, 64);
			if (ways[w].kind == GATE_KIND_REALLOC)
				block = ((void *(*)(void *, size_t))ways[w].function)(block, 8000);
			put(end_of(&ways[w], (unsigned)w), block, 800, 64);
			STEP_OFF();
		}
	}
	steps_end();
}

#define CALLS 300000

static void rate(const struct way *way, size_t alignment)
{
	double p = 1 - exp(-400.0 / 4096), z;
	unsigned calls = (unsigned)rounds(CALLS);
	uint64_t before;

	sample_by(4096);
	put(way_of("free"), get(way_of("malloc"), 100, 8), 100, 8);
	before = books.allocated;
	for (unsigned i = 0; i < calls; i++)
		put(end_of(way, i), get(way, 400, alignment), 400, alignment);
	z = ((double)(books.allocated - before) - calls * p) / sqrt(calls * p * (1 - p));
	print_message("  %s, aligned to %zu: z %.2f\n", way->name, alignment, z);
	/* Hundreds of these are looked at; a block that is counted twice makes it some 100. */
	assert_true(fabs(z) < 6);
}

static void rates(void)
{
	gate_set(GATE_SAMPLED);
	for (size_t w = 0; w < way_count; w++) {
		if (!makes(&ways[w]))
			continue;
		rate(&ways[w], 8);
		if (ways[w].kind == GATE_KIND_SIZE_2 || ways[w].kind == GATE_KIND_POSIX ||
		    ways[w].kind == GATE_KIND_NEW_ALIGNED)
			rate(&ways[w], 64);
	}
	assert_books(true);
}

/* ---- exceptions --------------------------------------------------------------------------- */

typedef unsigned throws_fn(size_t size, bool array, size_t alignment);

static void throw_each(throws_fn *throws)
{
	for (size_t alignment = 0; alignment <= 64; alignment += 64) {
		assert_int_equal(throws(SIZE_MAX / 4, false, alignment), 101);
		assert_int_equal(throws(SIZE_MAX / 4, true, alignment), 101);
	}
}

/* mimalloc where it was built as C calls abort() instead. */
static bool throws_by_itself(throws_fn *throws)
{
	int status;
	pid_t child = fork();

	if (!child) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		_exit(throws(SIZE_MAX / 4, false, 0) != 101);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return !status;
}

static throws_fn *load_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);
	void *program;
	Lmid_t space;

	assert_in_range(n, 1, sizeof(path) - 16);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "throws.so");
	assert_int_equal(dlinfo(library, RTLD_DI_LMID, &space), 0);
	program = dlmopen(space, path, RTLD_NOW);
	if (!program)
		fail_msg("%s", dlerror());
	return (throws_fn *)dlsym(program, "throws_new");
}

static void throwing(void)
{
	throws_fn *throws;

	gate_set(GATE_NONE);
	if (!way_of("_Znwm"))
		return;
	throws = load_program();
	if (!throws_by_itself(throws)) {
		print_message("  its operator new throws nothing\n");
		return;
	}
	for (enum gate_mode mode = GATE_NONE; mode <= GATE_EXACT; mode++) {
		uint64_t live;

		gate_set(mode);
		sample_by(1);
		live = books.live;
		throw_each(throws);
		/* The exception may have been the allocator's block for a while. */
		assert_int_equal(books.live, live);
		assert_int_equal(books.unknown, 0);
	}
}

static void try_allocator(void **state)
{
	const char *name = *state;

	if (!open_allocator(name)) {
		assert_string_not_equal(name, libraries[0]);
		return;
	}
	each_way(GATE_SAMPLED);
	each_way(GATE_EXACT);
	unwinding();
	rates();
	throwing();
	gate_set(GATE_NONE);
	memset(functions, 0, sizeof(functions));
	gate.count = 0;
}

/* Room for the thread-local variables of all of them, which the loader takes only at the start. */
static void make_room(char **argv)
{
	static const char *const tunables = "glibc.rtld.optional_static_tls=65536";
	const char *set = getenv("GLIBC_TUNABLES");

	if (set && !strcmp(set, tunables))
		return;
	setenv("GLIBC_TUNABLES", tunables, 1);
	execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[ARRAY_SIZE(libraries)];

	(void)argc;
	make_room(argv);
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		tests[i] = (struct CMUnitTest){.name = libraries[i],
					       .test_func = try_allocator,
					       .initial_state = (void *)(uintptr_t)libraries[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
