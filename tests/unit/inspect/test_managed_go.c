// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is read of a Go program's heap, against what the program says itself: runtime.ReadMemStats(), NumGoroutine(),
 * MemProfile(), and how many objects of which type it has made (go_side.go).
 *
 * GO=/path/to/go takes another Go than the machine's; GO_LOOKS=100 looks as often at one that never rests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/inspect/inspected.h"
#include "tests/unit/rounds.h"
#include "user/inspect/inspect.h"

#define LOOKS 6

static struct sides sides;
static unsigned minor; /* of Go 1.minor; 0: there is no Go */

/* go build, with what it needs of an environment of its own. */
static int go_build(const char *flags, const char *out)
{
	const char *build = getenv("BUILD") ?: "build";
	char path[PATH_MAX];

	if (!realpath(build, path))
		snprintf(path, sizeof(path), "%s", sides.directory);
	return sides_try(&sides,
			 "env GOCACHE='%s/go/cache' GOPATH='%s/go' GOPROXY=off GOTOOLCHAIN=local "
			 "GO111MODULE=off GOFLAGS= CGO_ENABLED=0 \"${GO:-go}\" build %s -o %s "
			 "$S/go_side.go",
			 path, path, flags, out);
}

static int build(void **state)
{
	char path[PATH_MAX];
	FILE *version;

	(void)state;
	sides_open(&sides, __FILE__);
	if (sides_try(&sides, "\"${GO:-go}\" version >version 2>/dev/null"))
		return 0;
	snprintf(path, sizeof(path), "%s/version", sides.directory);
	version = fopen(path, "r");
	assert_non_null(version);
	if (fscanf(version, "go version go1.%u", &minor) != 1)
		minor = 0;
	fclose(version);
	if (!minor)
		return 0;
	return go_build("", "go_side") || go_build("-ldflags='-s -w'", "go_side.s") ||
	       go_build("-buildmode=pie", "go_side.pie");
}

static int clean(void **state)
{
	(void)state;
	sides_close(&sides);
	return 0;
}

static void need_go(void)
{
	if (minor)
		return;
	print_message("skipped: there is no Go here\n");
	skip();
}

/* What the program says of itself. */
struct said {
	uint64_t alloc, inuse, objects, stack, goroutines, profile_stacks, profile_live;
};

static void said_read(const struct side *side, struct said *said)
{
	const struct {
		const char *name;
		uint64_t *to;
	} names[] = {
		{"alloc", &said->alloc},
		{"inuse", &said->inuse},
		{"objects", &said->objects},
		{"stack", &said->stack},
		{"goroutines", &said->goroutines},
		{"profile_stacks", &said->profile_stacks},
		{"profile_live", &said->profile_live},
	};
	char line[200], name[100];
	uint64_t value;

	*said = (struct said){.alloc = 0};
	while (side_says(side, line, sizeof(line))) {
		assert_int_equal(sscanf(line, "%99s %" SCNu64, name, &value), 2);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (!strcmp(names[i].name, name))
				*names[i].to = value;
		}
	}
}

static struct inspection *look(pid_t pid)
{
	const struct inspect_copying how = {.by_fork = true, .max_pause_ns = 60 * NS_PER_S};
	const struct inspect_options options = {.heuristics = 0};
	struct freeze_forks forks = {0};
	struct inspect_source source;
	char reason[REASON_MAX] = "";
	struct inspection *found;

	if (inspect_copy_process(pid, &how, &forks, &source, reason))
		fail_msg("%s", reason);
	assert_int_equal(inspect(&source, &options, &found), 0);
	return found;
}

static const struct managed_heap *heap_of(const struct inspection *found)
{
	assert_int_equal(found->managed_count, 1);
	assert_string_equal(found->managed[0].runtime, "Go");
	return &found->managed[0];
}

static void check_part(const struct managed_heap *heap, const char *name, uint64_t bytes)
{
	const struct managed_part *part = managed_heap_part(heap, name);

	assert_non_null(part);
	if (part->amount.bytes != bytes)
		fail_msg("%s: %" PRIu64 " B, the program says %" PRIu64, name, part->amount.bytes,
			 bytes);
}

/* Goroutines in a function of the program, begun in another. */
static void check_blocked(const struct managed_heap *heap)
{
	static const struct {
		const char *function;
		uint64_t count;
	} blocked[] = {{"main.leakReceive ", 100},
		       {"main.leakSend ", 70},
		       {"main.leakLock ", 50},
		       {"main.leakSelect ", 60},
		       {"main.leakSleep ", 30}};

	for (size_t i = 0; i < ARRAY_SIZE(blocked); i++) {
		uint64_t count = 0;

		for (size_t n = 0; n < heap->thread_group_count; n++) {
			const struct managed_threads *t = &heap->threads[n];

			if (!t->at ||
			    strncmp(t->at, blocked[i].function, strlen(blocked[i].function)) != 0)
				continue;
			count += t->count;
			assert_false(t->own);
			assert_non_null(t->created);
			assert_int_equal(strncmp(t->created, "main.goroutines go_side.go:", 27), 0);
			assert_string_not_equal(t->state, "waiting");
		}
		assert_int_equal(count, blocked[i].count);
	}
}

static uint64_t kind_count(const struct managed_heap *heap, const char *name)
{
	for (size_t i = 0; i < heap->kind_count; i++) {
		if (!strcmp(heap->kinds[i].name, name))
			return heap->kinds[i].live.count;
	}
	return 0;
}

/* What is said of types is exact, or nothing is said: before Go 1.22 only interfaces and closures tell. */
static void check_kinds(const struct managed_heap *heap, uint64_t sessions)
{
	struct amount all = {0};

	assert_int_equal(kind_count(heap, "main.Login"), 10000);
	assert_int_equal(kind_count(heap, "main.Logout"), 10000);
	assert_int_equal(kind_count(heap, "closure main.fill.func1"), 1000);
	for (size_t i = 0; i < heap->kind_count; i++)
		amount_add(&all, &heap->kinds[i].live);
	assert_int_equal(all.bytes + managed_heap_part(heap, "unswept")->amount.bytes,
			 managed_heap_part(heap, "objects")->amount.bytes);
	if (minor < 22)
		return;
	assert_int_equal(kind_count(heap, "main.Big"), 1000);
	assert_int_equal(kind_count(heap, "main.Session"), sessions);
}

static void check_profile(const struct managed_heap *heap, const struct said *said)
{
	uint64_t live = 0;

	for (size_t i = 0; i < heap->sample_count; i++) {
		live += heap->samples[i].live.count;
		assert_true(heap->samples[i].frame_count > 0);
		assert_non_null(heap->samples[i].frames[0].function);
	}
	assert_int_equal(heap->sample_count, said->profile_stacks);
	assert_int_equal(live, said->profile_live);
	if (heap->sample_known)
		assert_int_equal(heap->sample_bytes, 65536);
}

static void check_program(const char *command, uint64_t sessions)
{
	const struct managed_heap *heap;
	struct inspection *found;
	struct side side;
	struct said said;

	side_start(&side, &sides, command);
	said_read(&side, &said);
	found = look(side.pid);
	heap = heap_of(found);
	assert_string_equal(heap->why, "");
	assert_true(heap->read);
	check_part(heap, "objects", said.alloc);
	assert_int_equal(managed_heap_part(heap, "objects")->amount.count, said.objects);
	check_part(heap, "spans", said.inuse);
	check_part(heap, "stacks", said.stack);
	assert_int_equal(heap->thread_count, said.goroutines);
	check_blocked(heap);
	check_kinds(heap, sessions);
	check_profile(heap, &said);
	inspection_free(found);
	side_end(&side);
}

static void test_equal_to_the_program(void **state)
{
	(void)state;
	need_go();
	check_program("exec ./go_side", 20000);
	check_program("exec ./go_side garbage", 10000);
}

static void test_without_symbols(void **state)
{
	(void)state;
	need_go();
	check_program("exec ./go_side.s", 20000);
}

static void test_position_independent(void **state)
{
	(void)state;
	need_go();
	check_program("exec ./go_side.pie", 20000);
}

/* Each part of the memory counts once, and all of Go's is Go's. */
static void test_memory_adds_up(void **state)
{
	struct inspection *found;
	uint64_t sum = 0;
	struct side side;
	struct said said;

	(void)state;
	need_go();
	side_start(&side, &sides, "exec ./go_side");
	said_read(&side, &said);
	found = look(side.pid);
	for (int part = 0; part < MEMORY_PARTS; part++)
		sum += found->parts[part];
	assert_string_equal(heap_of(found)->why, "");
	assert_int_equal(found->parts[MEMORY_UNBELIEVED], 0);
	assert_true(found->parts[MEMORY_IN_USE] > 0);
	assert_true(found->parts[MEMORY_STACKS] > 0);
	assert_true(sum <= found->rss_anon + found->swap + (1u << 20));
	assert_int_equal(found->allocator_count, 1);
	assert_string_equal(found->allocators[0].name, "Go");
	assert_int_equal(found->allocators[0].in_use.bytes, said.alloc);
	assert_int_equal(found->allocators[0].in_use.count, said.objects);
	inspection_free(found);
	side_end(&side);
}

/* At whatever moment: it is read, or why it is not is said; and what stays is there. */
static void test_never_rests(void **state)
{
	const char *looks = getenv("GO_LOOKS");
	int count = looks ? atoi(looks) : rounds(LOOKS), read = 0;
	struct side side;
	struct said said;

	(void)state;
	need_go();
	side_start(&side, &sides, "exec ./go_side churn");
	said_read(&side, &said);
	for (int i = 0; i < count; i++) {
		struct inspection *found = look(side.pid);
		const struct managed_heap *heap = heap_of(found);

		if (heap->read) {
			check_blocked(heap);
			check_kinds(heap, 20000);
			read++;
		} else {
			assert_string_not_equal(heap->why, "");
		}
		inspection_free(found);
	}
	assert_true(2 * read >= count);
	side_end(&side);
}

/* A Go of another version may have all fields elsewhere. */
static void test_other_versions(void **state)
{
	const struct managed_heap *heap;
	struct inspection *found;
	struct side side;
	struct said said;

	(void)state;
	need_go();
	sides_run(&sides, "sed 's/go1\\.%u/go1.99/g' go_side >go_side.new && chmod +x go_side.new",
		  minor);
	side_start(&side, &sides, "exec ./go_side.new");
	said_read(&side, &said);
	found = look(side.pid);
	heap = heap_of(found);
	assert_false(heap->read);
	assert_non_null(strstr(heap->why, "it was built by go1.99"));
	assert_int_equal(heap->part_count, 0);
	/* From 1.26 on its arenas lie somewhere: nothing tells that they are Go's. */
	assert_true(found->parts[MEMORY_UNBELIEVED] > 0 || minor >= 26);
	inspection_free(found);
	side_end(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_to_the_program), cmocka_unit_test(test_without_symbols),
		cmocka_unit_test(test_position_independent), cmocka_unit_test(test_memory_adds_up),
		cmocka_unit_test(test_never_rests),	     cmocka_unit_test(test_other_versions),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
