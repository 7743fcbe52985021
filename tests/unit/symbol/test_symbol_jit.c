// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Perf maps of real processes: children of the test that live in a root directory of their own, or
 * in ours.
 */
#include "tests/unit/symbol/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "user/base/util.h"

/* A child that waits to be killed; in its own root (the test's directory) when `own_root`. */
static pid_t start_child(struct fixture *fixture, bool own_root)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* A test that fails must not leave it behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (own_root && (chroot(fixture->sides.directory) || chdir("/")))
			_exit(1);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void write_map(struct fixture *fixture, pid_t pid, const char *mode, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tmp", fixture->sides.directory);
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
	snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", fixture->sides.directory, pid);
	file = fopen(path, mode);
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static const struct frame *resolve(struct fixture *fixture, pid_t pid, uint64_t address,
				   bool is_return_address)
{
	struct location location = {.object = NULL, .offset = address};
	const struct frame *const *frames;
	size_t count;

	assert_int_equal(symbolizer_resolve(fixture->symbolizer, &location, pid, is_return_address,
					    &frames, &count),
			 0);
	assert_int_equal(count, 1);
	assert_int_equal(frames[0]->module_offset, address);
	return frames[0];
}

static void assert_name(struct fixture *fixture, pid_t pid, uint64_t address, const char *name,
			uint64_t offset)
{
	const struct frame *frame = resolve(fixture, pid, address, false);

	if (name) {
		assert_non_null(frame->function);
		assert_string_equal(frame->function, name);
		assert_int_equal(frame->offset, offset);
	} else {
		assert_null(frame->function);
		assert_int_equal(frame->offset, address);
	}
}

static void assert_text(const char *text, const char *wanted)
{
	assert_int_equal(!text, !wanted);
	if (text)
		assert_string_equal(text, wanted);
}

static void assert_script(const struct frame *frame, enum frame_kind kind, const char *symbol,
			  const char *file, const char *module, uint32_t line)
{
	assert_int_equal(frame->kind, kind);
	assert_text(frame->symbol, symbol);
	assert_text(frame->file, file);
	assert_text(frame->module_path, file);
	assert_text(frame->module, module);
	assert_int_equal(frame->line, line);
}

static void names_from_a_map(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	write_map(fixture, pid, "w",
		  "7f0000001000 40 LazyCompile:*add /app/math.js:10\n"
		  "0x7f0000002000 0x20 with prefixes\n"
		  "not a line at all\n"
		  "7f0000003000 zz broken\n"
		  "7f0000003000 0 empty\n"
		  "11112222333344445 10 too many digits\n"
		  "7f0000004000 100 old\n"
		  "7f0000004040 20 new in old\n"
		  "7f0000005000 10 evil\x1b]0;name\x07\n"
		  "fffffffffffffff0 ffff to the end\n"
		  "7f0000006000 10 not written to its e");
	assert_name(fixture, pid, 0x7f0000001000, "add", 0);
	assert_name(fixture, pid, 0x7f000000103f, "add", 0x3f);
	assert_name(fixture, pid, 0x7f0000001040, NULL, 0);
	assert_name(fixture, pid, 0x7f000000201f, "with prefixes", 0x1f);
	assert_name(fixture, pid, 0x7f0000003000, NULL, 0);
	assert_name(fixture, pid, 0x7f0000004000, "old", 0);
	assert_name(fixture, pid, 0x7f0000004040, "new in old", 0);
	assert_name(fixture, pid, 0x7f0000004060, "old", 0x60);
	assert_name(fixture, pid, 0x7f0000005000, "evil?]0;name?", 0);
	assert_name(fixture, pid, 0xfffffffffffffff8, "to the end", 8);
	assert_name(fixture, pid, 0x7f0000006000, NULL, 0);
	assert_name(fixture, pid, 0x10, NULL, 0);
	assert_script(resolve(fixture, pid, 0x7f000000103f, false), FRAME_KIND_JAVASCRIPT,
		      "LazyCompile:*add /app/math.js:10", "/app/math.js", "math.js", 10);
	assert_script(resolve(fixture, pid, 0x7f0000004040, false), FRAME_KIND_JIT, NULL, NULL,
		      NULL, 0);
	/* Without a name nobody knows what it is. */
	assert_script(resolve(fixture, pid, 0x10, false), FRAME_KIND_NATIVE, NULL, NULL, NULL, 0);
	/* The call is the last instruction of its code. */
	assert_string_equal(resolve(fixture, pid, 0x7f0000002020, true)->function, "with prefixes");
	assert_int_equal(resolve(fixture, pid, 0x7f0000002020, true)->offset, 0x20);
	end_child(pid);
}

static void appended_and_rewritten(void **state)
{
	struct fixture *fixture = *state;
	const struct frame *before;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	/* Before there is a map. */
	assert_name(fixture, pid, 0x5000, NULL, 0);
	write_map(fixture, pid, "w", "1000 100 first\n2000 10 half a na");
	assert_name(fixture, pid, 0x1000, "first", 0);
	before = resolve(fixture, pid, 0x1000, false);
	assert_name(fixture, pid, 0x2000, NULL, 0);
	write_map(fixture, pid, "a", "me\n3000 10 third\n");
	assert_name(fixture, pid, 0x2000, "half a name", 0);
	assert_name(fixture, pid, 0x3000, "third", 0);
	/* Written anew, shorter. */
	write_map(fixture, pid, "w", "5000 10 fifth\n");
	assert_name(fixture, pid, 0x5000, "fifth", 0);
	/* Names already given stay, and so do the frames. */
	assert_ptr_equal(before, resolve(fixture, pid, 0x1000, false));
	assert_string_equal(before->function, "first");
	/* Another file in its place. */
	run(fixture, "printf '6000 10 sixth\\n' > tmp/new && mv tmp/new tmp/perf-%d.map", pid);
	assert_name(fixture, pid, 0x6000, "sixth", 0);
	end_child(pid);
}

static void outlives_the_process(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	write_map(fixture, pid, "w", "1000 100 alive\n");
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, pid), 0);
	write_map(fixture, pid, "a", "2000 100 last words\n");
	run(fixture, "cp tmp/perf-%d.map copy && cat copy >> copy2", pid);
	end_child(pid);
	run(fixture, "rm tmp/perf-%d.map", pid);
	assert_name(fixture, pid, 0x1004, "alive", 4);
	assert_name(fixture, pid, 0x2004, "last words", 4);
}

static void dead_before_it_was_noted(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = start_child(fixture, false);

	end_child(pid);
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, pid), 0);
	assert_name(fixture, pid, 0x1000, NULL, 0);
}

/* Fork storms: nothing may be left of children that are gone. */
static void many_processes_leave_nothing(void **state)
{
	struct fixture *fixture = *state;
	pid_t self = getpid();

	for (pid_t pid = 1; pid <= 20000; pid++) {
		/* Some exist, most do not; ours is noted twice more below. */
		if (pid == self)
			continue;
		assert_int_equal(symbolizer_note_process(fixture->symbolizer, pid), 0);
		symbolizer_forget_process(fixture->symbolizer, pid);
	}
	assert_int_equal(symbolizer_process_count(fixture->symbolizer), 0);
	/* An exec: the old target's note goes after the new one's has come. */
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, self), 0);
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, self), 0);
	symbolizer_forget_process(fixture->symbolizer, self);
	assert_int_equal(symbolizer_process_count(fixture->symbolizer), 1);
	symbolizer_forget_process(fixture->symbolizer, self);
	assert_int_equal(symbolizer_process_count(fixture->symbolizer), 0);
	symbolizer_forget_process(fixture->symbolizer, self);
}

static void names_of_one_go_others_stay(void **state)
{
	struct fixture *fixture = *state;
	const struct frame *kept;
	pid_t gone, stays;

	need_root();
	gone = start_child(fixture, true);
	stays = start_child(fixture, true);
	write_map(fixture, gone, "w", "1000 100 gone\n");
	write_map(fixture, stays, "w", "1000 100 stays\n");
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, gone), 0);
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, stays), 0);
	assert_name(fixture, gone, 0x1000, "gone", 0);
	kept = resolve(fixture, stays, 0x1000, false);
	symbolizer_forget_process(fixture->symbolizer, gone);
	assert_int_equal(symbolizer_process_count(fixture->symbolizer), 1);
	assert_ptr_equal(kept, resolve(fixture, stays, 0x1000, false));
	/* A process that comes to have its pid finds nothing of it. */
	write_map(fixture, gone, "w", "1000 100 anew\n");
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, gone), 0);
	assert_name(fixture, gone, 0x1000, "anew", 0);
	end_child(gone);
	end_child(stays);
}

static void maps_that_are_not_files(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	run(fixture, "mkdir tmp && printf '1000 10 secret\\n' > tmp/other");
	run(fixture, "ln -s other tmp/perf-%d.map", pid);
	assert_name(fixture, pid, 0x1000, NULL, 0);
	/* Nobody writes to it: opened plainly, this would never return. */
	run(fixture, "rm tmp/perf-%d.map && mkfifo tmp/perf-%d.map", pid, pid);
	assert_name(fixture, pid, 0x1000, NULL, 0);
	run(fixture, "rm tmp/perf-%d.map && mkdir tmp/perf-%d.map", pid, pid);
	assert_name(fixture, pid, 0x1000, NULL, 0);
	/* Somebody else's. */
	run(fixture,
	    "rmdir tmp/perf-%d.map && cp tmp/other tmp/perf-%d.map && chown 12345 tmp/perf-%d.map",
	    pid, pid, pid);
	assert_name(fixture, pid, 0x1000, NULL, 0);
	run(fixture, "chown 0 tmp/perf-%d.map", pid);
	assert_name(fixture, pid, 0x1000, "secret", 0);
	end_child(pid);
}

static void links_stay_in_the_root(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	/* In the child's root /tmp leads to /elsewhere, which is not ours. */
	run(fixture,
	    "mkdir elsewhere && ln -s /elsewhere tmp && printf '1000 10 inside\\n' > "
	    "elsewhere/perf-%d.map",
	    pid);
	assert_name(fixture, pid, 0x1000, "inside", 0);
	end_child(pid);
}

static void many_entries(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid;

	need_root();
	pid = start_child(fixture, true);
	/* Each covers all that follow: a search that walks back over entries would take minutes. */
	run(fixture,
	    "mkdir tmp && awk 'BEGIN { for (i = 0; i < 200000; i++) printf \"%%x %%x f%%d\\n\", i "
	    "* 16, 4000000 - i * 16, i }' > tmp/perf-%d.map",
	    pid);
	for (uint64_t i = 0; i < 200000; i += 97) {
		char name[32];

		snprintf(name, sizeof(name), "f%lu", (unsigned long)i);
		assert_name(fixture, pid, i * 16 + 3, name, 3);
	}
	end_child(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		symbol_test(names_from_a_map),
		symbol_test(appended_and_rewritten),
		symbol_test(outlives_the_process),
		symbol_test(dead_before_it_was_noted),
		symbol_test(many_processes_leave_nothing),
		symbol_test(names_of_one_go_others_stay),
		symbol_test(maps_that_are_not_files),
		symbol_test(links_stay_in_the_root),
		symbol_test(many_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
