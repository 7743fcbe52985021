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
#include "tests/unit/guard/gate_of_target.h"
#include "user/base/clock.h"
#include "user/freeze/remote.h"
#include "user/gate/stub.h"

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

/* A gate whose tool has been killed: its jumps and pages, and nobody's. */
static void leave_gate(uint64_t mean)
{
	pid_t tool = fork();
	int status;

	if (!tool) {
		start_gate(mean);
		_exit(0);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_int_equal(status, 0);
	assert_true(has_jumps());
}

/* No guards come behind a gate that somebody has; and one that nobody uses is written over. */
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
	assert_int_equal(guard_open(&request, &guard, reason), -EBUSY);
	assert_string_equal(reason, "a memleakbpf has its gate in it");
	close_gate(gate);
	leave_gate(2000);
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
	assert_int_equal(pwrite(memory, &byte, 1, at), 1);
	close(memory);
	guard = start_guard(20);
	assert_int_equal(ask("w"), 0);
	gate = start_gate(2000);
	assert_both_work(guard);
	close_gate(gate);
	close_guard(guard);
	clean_up();
}

/*
 * Two tools whose gates come at the same time: what one has mapped, and not begun yet, the other one leaves alone, and
 * it may go; and so does what it has taken over of one that was killed.
 */
static void two_gates(void **state)
{
	char reason[REASON_MAX];

	for (int taken_over = 0; taken_over < 2; taken_over++) {
		struct gate *first = NULL, *second = NULL;
		struct gate_header header;
		uint64_t code;

		start_target(state);
		if (taken_over)
			leave_gate(1000);
		assert_int_equal(open_gate(1000, &first, reason), 0);
		code = find_gate(&header);
		second = start_gate(1000);
		assert_int_not_equal(find_gate(&header), code);
		assert_int_equal(ask("w"), 0);
		assert_int_equal(gate_start(first, reason), -ESTALE);
		close_gate(first);
		assert_int_equal(ask("w"), 0);
		find_gate(&header);
		assert_true(header.sampled > 100);
		assert_int_equal(try_gate(1000, &first, reason), -EBUSY);
		assert_string_equal(reason, "another memleakbpf has its gate in it");
		close_gate(second);
		assert_int_equal(ask("c"), 0);
		assert_text();
		end_target(state);
	}
}

/*
 * A gate's code without its data, as a tool of before left it that was killed between the two: no gate
 * takes it over. Its place may have come to the program since, whose memory it is then.
 */
static void half_of_a_gate(void **state)
{
	struct gate *gate = start_gate(1000);
	struct gate_header header;
	char reason[REASON_MAX] = "";
	uint64_t code = find_gate(&header);
	const uint64_t at[6] = {code + GATE_HEADER, GATE_SIZE - GATE_HEADER};
	const uint64_t map[6] = {at[0], 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1};
	struct remote *remote;
	uint64_t word = 12345, there = 0;
	struct iovec ours = {&word, sizeof(word)}, its = {(void *)(uintptr_t)at[0], sizeof(word)};
	long result;

	(void)state;
	close_gate(gate);
	/* Or one of its threads might still be in the code. */
	assert_int_equal(ask("e"), 0);
	assert_int_equal(remote_begin(target.pid, 20 * NS_PER_S, &remote, reason), 0);
	assert_int_equal(remote_call_must(remote, "unmap", SYS_munmap, at, &result, reason), 0);
	remote_end(remote);
	gate = start_gate(1000);
	assert_int_not_equal(find_gate(&header), code);
	close_gate(gate);
	/* And what is the program's stays as it is. */
	assert_int_equal(remote_begin(target.pid, 20 * NS_PER_S, &remote, reason), 0);
	assert_int_equal(remote_call_must(remote, "map", SYS_mmap, map, &result, reason), 0);
	remote_end(remote);
	assert_int_equal(process_vm_writev(target.pid, &ours, 1, &its, 1, 0), sizeof(word));
	close_gate(start_gate(1000));
	close_gate(start_gate(0));
	ours.iov_base = &there;
	assert_int_equal(process_vm_readv(target.pid, &ours, 1, &its, 1, 0), sizeof(word));
	assert_int_equal(there, word);
	assert_text();
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
			 -EEXIST);
	assert_non_null(strstr(reason, "guards"));
	leave_gate(0);
	assert_int_equal(ask("h"), 0);
	assert_int_equal(gate_make_way(target.pid, entries, list_entries(entries, false), reason),
			 -EEXIST);
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
static void be_tool(int says, struct tool_tries *met)
{
	const struct guard_request request = request_of(5);
	unsigned random = (unsigned)getpid();
	char reason[REASON_MAX];

	for (;;) {
		unsigned what = (unsigned)rand_r(&random) % 4;
		struct guard *guard = NULL;
		struct gate *gate = NULL;

		met->tries++;
		if (what && !note_refusal(guard_open(&request, &guard, reason), reason, met->guard))
			note_refusal(guard_start(guard, reason), reason, met->guard);
		if (what != 1)
			note_refusal(try_gate(what == 2 ? 0 : 1000, &gate, reason), reason,
				     met->gate);
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

/* It is at the same addresses again, with memory of its own where a header was. */
static void exec_anew(uint64_t own)
{
	char command[32];

	assert_int_equal(ask("x"), 0);
	free(target.text);
	find_text();
	snprintf(command, sizeof(command), "p%llx", (unsigned long long)own);
	assert_int_equal(ask(command), 0);
}

/* What has not heard of that yet writes nothing there, and unmaps nothing. */
static void exec_meanwhile(void **state)
{
	char reason[REASON_MAX] = "";
	struct gate_header header;
	struct guard *guard;
	struct gate *gate;

	(void)state;
	exec_anew(0x10000000);
	guard = open_guard(1);
	exec_anew(guard_place(guard).code + GUARD_HEADER);
	guard_close(guard, false, reason);
	assert_int_equal(ask("q"), 0);
	assert_int_equal(open_gate(1000, &gate, reason), 0);
	exec_anew(find_gate(&header) + GATE_HEADER);
	assert_true(gate_set_level(gate, 1) < 0);
	assert_int_equal(ask("q"), 0);
	assert_int_equal(gate_close(gate, false, reason), 0);
	assert_int_equal(ask("q"), 0);
	/* Of one that has started: it is found out when its jumps are to go. */
	guard = start_guard(1000000);
	exec_anew(guard_place(guard).code + GUARD_HEADER);
	assert_true(guard_start(guard, reason) < 0);
	assert_true(guard_close(guard, false, reason) < 0);
	assert_int_equal(ask("q"), 0);
	assert_int_equal(ask("w"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(guards_first, start_target, end_target),
		cmocka_unit_test_setup_teardown(each_call, start_target, end_target),
		cmocka_unit_test_setup_teardown(gate_first, start_target, end_target),
		cmocka_unit_test(two_gates),
		cmocka_unit_test_setup_teardown(way_for_probes, start_target, end_target),
		cmocka_unit_test_setup_teardown(half_of_a_gate, start_target, end_target),
		cmocka_unit_test_setup_teardown(exec_meanwhile, start_target, end_target),
		cmocka_unit_test(killed),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
