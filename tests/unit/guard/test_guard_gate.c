// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A gate and guards before the same functions of one process: either goes on to the other, whoever of
 * them is killed, and no guarded block comes to the allocator.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/guard/guard_of_target.h"
#include "user/gate/leftover.h"
#include "user/gate/stub.h"

/* The same functions, as a gate has them: it lets malloc_usable_size be. */
static const uint32_t gate_kinds[] = {GATE_KIND_SIZE_1, GATE_KIND_CALLOC, GATE_KIND_REALLOC,
				      GATE_KIND_FREE,	GATE_KIND_SIZE_2, GATE_KIND_POSIX};
static struct gate_wanted gated[ARRAY_SIZE(gate_kinds)];

static int try_gate(uint64_t mean, struct gate **gate, char reason[static REASON_MAX])
{
	const struct gate_request request = {
		.pid = target.pid,
		.functions = gated,
		.count = ARRAY_SIZE(gated),
		.text = target.text,
		.text_address = target.text_address,
		.text_size = target.text_size,
		.mean = mean,
		.nop = &nop,
	};

	for (size_t i = 0; i < ARRAY_SIZE(gated); i++) {
		gated[i] = wanted[i];
		gated[i].kind = gate_kinds[i];
		gated[i].calls_others = true;
	}
	return gate_open(&request, gate, reason) ?: gate_start(*gate, reason);
}

static struct gate *start_gate(uint64_t mean)
{
	char reason[REASON_MAX] = "";
	struct gate *gate = NULL;

	if (try_gate(mean, &gate, reason))
		fail_msg("%s", reason);
	return gate;
}

static void close_gate(struct gate *gate)
{
	char reason[REASON_MAX] = "";

	if (gate_close(gate, false, reason))
		fail_msg("%s", reason);
}

/* Of the newest gate in the process, where its code is; its header in *header. */
static uint64_t find_gate(struct gate_header *header)
{
	struct iovec to = {header, sizeof(*header)}, from = {NULL, sizeof(*header)};
	uint64_t at = 0;
	struct maps *maps;

	assert_int_equal(maps_read(target.pid, &maps), 0);
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		struct gate_header there;

		if (strcmp(m->path, GATE_PATH) != 0 || !m->exec)
			continue;
		to.iov_base = &there;
		from.iov_base = (void *)(uintptr_t)(m->start + GATE_HEADER);
		assert_int_equal(process_vm_readv(target.pid, &to, 1, &from, 1, 0), sizeof(there));
		if (!at || there.seed > header->seed) {
			*header = there;
			at = m->start;
		}
	}
	maps_free(maps);
	return at;
}

/* Both see their samples while the threads work, and the program's bytes are right. */
static void assert_both_work(const struct guard *guard)
{
	struct gate_header before, after;
	struct guard_header header;
	uint64_t guarded, live;

	find_gate(&before);
	guarded = figures(guard, &live).guarded;
	assert_int_equal(ask("w"), 0);
	find_gate(&after);
	header = figures(guard, &live);
	assert_true(after.sampled > before.sampled + 100);
	assert_true(after.removed > before.removed + 50);
	assert_true(header.guarded > guarded + 100);
	assert_int_equal(header.double_freed + header.invalid_freed + header.changed, 0);
	assert_int_equal(ask("c"), 0);
}

static void clean_up(void)
{
	assert_int_equal(ask("e"), 0);
	assert_int_equal(close_guard(start_guard(1000000)), 0);
	assert_text();
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("f"), 0);
}

static void guards_first(void **state)
{
	struct guard *guard = start_guard(20);
	struct gate *gate = start_gate(2000);
	uint64_t code;
	struct gate_header header;

	(void)state;
	assert_both_work(guard);
	code = find_gate(&header);
	close_gate(gate);
	assert_true(has_jumps());
	assert_int_equal(ask("w"), 0);
	/* Another one finds its pages again. */
	gate = start_gate(1000);
	assert_both_work(guard);
	assert_int_equal(find_gate(&header), code);
	/* The wrong order: they stay, and the gate gives them back. */
	assert_int_equal(close_guard(guard), 1);
	assert_int_equal(ask("w"), 0);
	close_gate(gate);
	assert_true(has_jumps());
	assert_int_equal(ask("w"), 0);
	clean_up();
}

/* Every call is told, and blocks of the pool go through all functions. */
static void each_call(void **state)
{
	struct guard *guard = start_guard(1);
	struct gate *gate = start_gate(0);
	uint64_t live;

	(void)state;
	assert_int_equal(ask("w"), 0);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(ask("b"), 48);
	assert_int_equal(figures(guard, &live).double_freed, 1);
	close_gate(gate);
	assert_int_equal(ask("f"), 0);
	close_guard(guard);
	clean_up();
}

/* No gate stands where one with probes in it does; and one that nobody uses is written over. */
static void gate_first(void **state)
{
	const struct guard_request request = request_of(20);
	char reason[REASON_MAX] = "", path[64];
	struct gate_header header;
	struct guard *guard = NULL;
	struct gate *gate = start_gate(2000);
	uint8_t byte, probe = 0xcc;
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);
	off_t at;
	int memory;

	(void)state;
	assert_int_equal(ask("w"), 0);
	/* As a probe that nobody comes to: the last stub of free is no function's. */
	while (count && stubs[count - 1].kind != GATE_KIND_FREE)
		count--;
	at = (off_t)(find_gate(&header) + stubs[count - 1].freed);
	snprintf(path, sizeof(path), "/proc/%d/mem", target.pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(memory, &byte, 1, at), 1);
	assert_int_equal(pwrite(memory, &probe, 1, at), 1);
	assert_int_equal(guard_open(&request, &guard, reason), -EBUSY);
	assert_string_equal(reason, "a memleakbpf has its gate in it");
	assert_int_equal(ask("w"), 0);
	/* Its tool is gone: that is how a killed one leaves it. */
	assert_int_equal(pwrite(memory, &byte, 1, at), 1);
	close(memory);
	guard = start_guard(20);
	assert_int_equal(ask("w"), 0);
	/* And here it is not, and finds that somebody has changed the functions. */
	assert_true(gate_close(gate, false, reason) < 0);
	gate = start_gate(2000);
	assert_both_work(guard);
	close_gate(gate);
	close_guard(guard);
	clean_up();
}

/* Those of the functions that probes would come to. */
static size_t list_entries(struct gate_entry *entries, bool at_first)
{
	for (size_t i = 0; i < ARRAY_SIZE(gated); i++) {
		entries[i] = (struct gate_entry){
			.address = wanted[i].address, .size = GATE_ENTRY_MAX, .at_first = at_first};
		memcpy(entries[i].file, target.text + (wanted[i].address - target.text_address),
		       GATE_ENTRY_MAX);
	}
	return ARRAY_SIZE(gated);
}

/* Before probes come: a gate that nobody uses goes, guards stay, and nothing comes behind their jumps. */
static void way_for_probes(void **state)
{
	struct gate_entry entries[ARRAY_SIZE(gated)];
	struct guard *guard = start_guard(1);
	char reason[REASON_MAX] = "";
	struct gate_header before, after;

	(void)state;
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, true), reason),
			 0);
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, false), reason),
			 -EBUSY);
	assert_non_null(strstr(reason, "guards"));
	start_gate(0); /* which is left alone */
	assert_int_equal(ask("h"), 0);
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, false), reason),
			 -EBUSY);
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, true), reason),
			 0);
	/* It is not called any more, and the guards are. */
	find_gate(&before);
	assert_true(has_jumps());
	assert_int_equal(ask("f"), 0);
	assert_int_equal(ask("w"), 0);
	find_gate(&after);
	assert_int_equal(after.sampled, before.sampled);
	assert_int_equal(ask("e"), 0);
	assert_int_equal(close_guard(guard), 0);
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, false), reason),
			 0);
	assert_text();
}

/* Comes and goes, with both or either, until it is killed; says when it has come for the first time. */
static void be_tool(int says)
{
	const struct guard_request request = request_of(5);
	unsigned random = (unsigned)getpid();
	char reason[REASON_MAX];

	for (;;) {
		unsigned what = (unsigned)rand_r(&random) % 4;
		struct guard *guard = NULL;
		struct gate *gate = NULL;

		if (what && !guard_open(&request, &guard, reason))
			guard_start(guard, reason);
		if (what != 1)
			try_gate(what == 2 ? 0 : 1000, &gate, reason);
		if (guard && gate && write(says, "s", 1) != 1)
			_exit(1);
		gate_close(gate, false, reason);
		guard_close(guard, false, reason);
	}
}

static void killed(void **state)
{
	unsigned random = (unsigned)getpid();
	int targets = 2, kills = 0, left = 0;

	if (getenv("GUARD_KILLS"))
		targets = (int)strtol(getenv("GUARD_KILLS"), NULL, 10) / 6;
	for (int i = 0; rounds_left(i, targets, left); i++) {
		start_target(state);
		for (int j = 0; j < 6; j++) {
			kill_tool(be_tool, j > 1, &random);
			left += has_jumps();
			kills++;
		}
		assert_int_equal(ask("c"), 0);
		/* A gate takes away what gates have left, and guards what guards have. */
		close_gate(start_gate(1000));
		clean_up();
		end_target(state);
	}
	print_message("%d kills, jumps were left %d times\n", kills, left);
	assert_true(left > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(guards_first, start_target, end_target),
		cmocka_unit_test_setup_teardown(each_call, start_target, end_target),
		cmocka_unit_test_setup_teardown(gate_first, start_target, end_target),
		cmocka_unit_test_setup_teardown(way_for_probes, start_target, end_target),
		cmocka_unit_test(killed),
	};

	(void)argc;
	if (!strcmp(argv[0], "guarded_target"))
		target_run();
	if (gate_nop_choose(&nop)) {
		printf("1..0 # SKIP no nop for probes: %s\n", nop.step);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
