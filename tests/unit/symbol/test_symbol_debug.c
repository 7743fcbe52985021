// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Separate debug files in all the places where they may be, debuginfod, and files that are made to
 * hurt.
 */
#include "tests/unit/symbol/fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "user/base/util.h"
#include "user/symbol/type_table.h"

/*
 * A program "plain", its debug file "plain.debug" and "stripped", which names that file. The
 * address in hidden_leaf.
 */
static uint64_t split(struct fixture *fixture, const char *flags)
{
	run(fixture,
	    "gcc -g -O1 %s -o plain $S/plain.c && objcopy --only-keep-debug plain plain.debug && "
	    "objcopy --strip-all --add-gnu-debuglink=plain.debug plain stripped",
	    flags);
	return address_of(fixture, "plain", "hidden_leaf") + 4;
}

static void assert_found(const struct frame *frame)
{
	assert_non_null(frame->function);
	assert_string_equal(frame->function, "hidden_leaf");
	assert_int_equal(frame->offset, 4);
	assert_ends_with(frame->file, "plain.c");
	assert_true(frame->line > 0);
}

static void assert_not_found(const struct frame *frame)
{
	assert_null(frame->function);
	assert_null(frame->file);
}

static void debuglink_beside_the_file(void **state)
{
	struct fixture *fixture = *state;

	assert_found(look_up_last(fixture, "stripped", split(fixture, "-Wl,--build-id=none")));
}

static void debuglink_in_dot_debug(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = split(fixture, "-Wl,--build-id=sha1");

	run(fixture, "mkdir .debug && mv plain.debug .debug/");
	assert_found(look_up_last(fixture, "stripped", address));
}

static void debuglink_with_another_crc(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = split(fixture, "-Wl,--build-id=none");

	run(fixture, "printf x >> plain.debug");
	assert_not_found(look_up_last(fixture, "stripped", address));
}

static void debuglink_with_another_build_id(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = split(fixture, "-Wl,--build-id=sha1");

	run(fixture, "gcc -g -O2 -Wl,--build-id=0x1234 -o other $S/plain.c && "
		     "objcopy --only-keep-debug other plain.debug");
	assert_not_found(look_up_last(fixture, "stripped", address));
}

static void debuglink_to_a_fifo(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = split(fixture, "-Wl,--build-id=none");

	run(fixture, "rm plain.debug && mkfifo plain.debug");
	assert_not_found(look_up_last(fixture, "stripped", address));
}

/*
 * The debug file is found by build-id in the root directory of a process that has one of its own.
 */
static void build_id_in_the_targets_root(void **state)
{
	struct fixture *fixture = *state;
	struct object *object;
	struct location location;
	const struct frame *const *frames;
	uint64_t address;
	size_t count;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	address = split(fixture, "-Wl,--build-id=0xab12cd");
	run(fixture, "mkdir -p usr/lib/debug/.build-id/ab && "
		     "mv plain.debug usr/lib/debug/.build-id/ab/12cd.debug");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(fixture->sides.directory) || raise(SIGSTOP))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	object = open_object(fixture, "stripped");
	location.object = object;
	assert_int_equal(object_vaddr_to_offset(object, address, &location.offset), 0);
	assert_int_equal(symbolizer_note_process(fixture->symbolizer, pid), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Its root is held open, so that its end does not matter. */
	assert_int_equal(
		symbolizer_resolve(fixture->symbolizer, &location, pid, false, &frames, &count), 0);
	assert_found(frames[count - 1]);
	object_unref(object);
}

static void minidebuginfo(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address;
	const struct frame *frame;

	if (try_run(fixture, "command -v xz >/dev/null")) {
		print_message("needs xz\n");
		skip();
	}
	address = split(fixture, "");
	/*
	 * As "MiniDebugInfo" in the GDB manual has it: the symbols that .dynsym lacks, compressed,
	 * in a section.
	 */
	run(fixture,
	    "objcopy -S --remove-section .gdb_index --remove-section .comment plain.debug mini && "
	    "objcopy --strip-debug plain.debug mini && xz -f mini && rm plain.debug && "
	    "objcopy --add-section .gnu_debugdata=mini.xz stripped with_mini");
	frame = look_up_last(fixture, "with_mini", address);
	assert_string_equal(frame->function, "hidden_leaf");
	assert_int_equal(frame->offset, 4);
	assert_null(frame->file);
}

/* dwz moves what two programs share into a third file; Debian's debug packages are made so. */
static void dwz_alternate_file(void **state)
{
	struct fixture *fixture = *state;
	struct names names;
	uint64_t address;

	if (try_run(fixture, "command -v dwz >/dev/null")) {
		print_message("needs dwz\n");
		skip();
	}
	run(fixture, "g++ -std=c++17 -g -O2 -o one $S/inlines.cc && "
		     "g++ -std=c++17 -g -O2 -DOTHER -o two $S/inlines.cc && "
		     "mkdir shared && dwz -m shared/common.debug -r one two && "
		     "readelf -SW one | grep -q gnu_debugaltlink");
	address = ask(fixture,
		      "objdump -d --no-show-raw-insn one | awk '/^[0-9a-f]+ <_ZN4shop5outerEi>:/ { "
		      "on = 1 } "
		      "on && /(call|bl)[ \t].*malloc/ { sub(\":\", \"\", $1); print $1; exit }'");
	names = look_up(fixture, "one", address, false, getpid());
	assert_int_equal(names.count, 3);
	assert_string_equal(names.frames[0]->function,
			    "shop::(anonymous namespace)::hidden_helper");
	assert_string_equal(names.frames[1]->function, "shop::middle");
	assert_string_equal(names.frames[2]->function, "shop::outer(int)");
	assert_ends_with(names.frames[0]->file, "inlines.cc");
	/* Without it there is half of the truth: the symbol table's half. */
	run(fixture, "mv shared/common.debug gone && mkfifo shared/common.debug");
	names = look_up(fixture, "two", address, false, getpid());
	assert_int_equal(names.count, 1);
	assert_string_equal(names.frames[0]->function, "shop::outer(int)");
	assert_null(names.frames[0]->file);
}

/* A server on the loopback device. Its URL goes to DEBUGINFOD_URLS. */
static int start_server(struct fixture *fixture)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[PATH_MAX];

	assert_true(server >= 0);
	assert_int_equal(bind(server, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server, 8), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	snprintf(text, sizeof(text), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", text, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	snprintf(text, sizeof(text), "%s/cache", fixture->sides.directory);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
	return server;
}

static void use_debuginfod(struct fixture *fixture, bool allowed)
{
	struct symbolizer_options options = {.inlines = true, .debuginfod = allowed};

	symbolizer_free(fixture->symbolizer);
	fixture->symbolizer = symbolizer_new(&options);
	assert_non_null(fixture->symbolizer);
}

static void debuginfod_only_when_asked_for(void **state)
{
	struct fixture *fixture = *state;
	int server = start_server(fixture);
	struct pollfd ready = {.fd = server, .events = POLLIN};
	uint64_t address = split(fixture, "-Wl,--build-id=sha1");

	run(fixture, "rm plain.debug");
	use_debuginfod(fixture, false);
	assert_not_found(look_up_last(fixture, "stripped", address));
	assert_int_equal(poll(&ready, 1, 0), 0);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
}

/* Answers one request with a file. Runs in a child. */
static void serve_one(int server, const char *path)
{
	int client = accept(server, NULL, NULL);
	char request[4096];
	char block[4096];
	struct stat status;
	ssize_t used = 0;
	int file = open(path, O_RDONLY);

	if (client < 0 || file < 0 || fstat(file, &status))
		_exit(1);
	do {
		ssize_t n = read(client, request + used, sizeof(request) - 1 - (size_t)used);

		if (n <= 0)
			_exit(2);
		used += n;
		request[used] = '\0';
	} while (!strstr(request, "\r\n\r\n"));
	if (strncmp(request, "GET /buildid/", 13) != 0 || !strstr(request, "/debuginfo "))
		_exit(3);
	dprintf(client, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\nConnection: close\r\n\r\n",
		(long)status.st_size);
	for (;;) {
		ssize_t n = read(file, block, sizeof(block));

		if (n <= 0 || write(client, block, (size_t)n) != n)
			break;
	}
	_exit(0);
}

static void debuginfod_delivers(void **state)
{
	struct fixture *fixture = *state;
	int server = start_server(fixture);
	uint64_t address = split(fixture, "-Wl,--build-id=sha1");
	char path[PATH_MAX];
	int status;
	pid_t pid;

	run(fixture, "mv plain.debug served.debug");
	snprintf(path, sizeof(path), "%s/served.debug", fixture->sides.directory);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_one(server, path);
	}
	use_debuginfod(fixture, true);
	assert_found(look_up_last(fixture, "stripped", address));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
}

static void truncated_while_in_use(void **state)
{
	struct fixture *fixture = *state;
	struct object *object;
	struct location location;
	const struct frame *const *frames;
	uint64_t address;
	size_t count;

	run(fixture, "g++ -std=c++17 -g -O2 -o inlines $S/inlines.cc");
	address = address_of(fixture, "inlines", "main");
	assert_string_equal(look_up_last(fixture, "inlines", address)->function, "main");
	object = open_object(fixture, "inlines");
	location.object = object;
	assert_int_equal(object_vaddr_to_offset(object, address, &location.offset), 0);
	run(fixture, ": > inlines");
	/* With a mapping this would be SIGBUS. */
	for (int i = 1; i < 200; i++) {
		location.offset++;
		assert_int_equal(symbolizer_resolve(fixture->symbolizer, &location, getpid(), false,
						    &frames, &count),
				 0);
	}
	object_unref(object);
}

/* Bytes changed at random: any answer will do, but there must be one. */
static void damaged_files(void **state)
{
	struct fixture *fixture = *state;
	unsigned int seed = 20;
	uint64_t address;
	char name[32];
	char path[PATH_MAX];
	struct stat status;

	run(fixture, "g++ -std=c++17 -g -O2 -o inlines $S/inlines.cc");
	address = address_of(fixture, "inlines", "_ZN4shop5outerEi");
	for (int round = 0; round < 60; round++) {
		int fd;

		snprintf(name, sizeof(name), "damaged%d", round);
		snprintf(path, sizeof(path), "%s/%s", fixture->sides.directory, name);
		run(fixture, "cp inlines %s", name);
		fd = open(path, O_RDWR);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &status), 0);
		for (int i = 0; i < 200; i++) {
			uint8_t byte = (uint8_t)rand_r(&seed);
			/* Not the headers: such a file is no object at all. */
			off_t at = 0x1000 + rand_r(&seed) % (status.st_size - 0x1000);

			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		close(fd);
		for (int i = 0; i < 40; i++)
			look_up(fixture, name, address + (uint64_t)i, false, getpid());
		assert_int_equal(unlink(path), 0);
	}
}

/* For whom the time is too short for types, lines are there all the same; types are not asked for again. */
static void no_time_for_types(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address = split(fixture, "");
	struct object *object = open_object(fixture, "plain");
	struct type_table *table;

	assert_int_equal(
		symbolizer_types(fixture->symbolizer, object, getpid(), UINT64_MAX, &table), 0);
	assert_non_null(table);
	type_table_free(table);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(symbolizer_types(fixture->symbolizer, object, getpid(),
						  i ? UINT64_MAX : 0, &table),
				 0);
		assert_null(table);
		assert_found(look_up_last(fixture, "plain", address));
	}
	object_unref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		symbol_test(debuglink_beside_the_file),
		symbol_test(debuglink_in_dot_debug),
		symbol_test(debuglink_with_another_crc),
		symbol_test(debuglink_with_another_build_id),
		symbol_test(debuglink_to_a_fifo),
		symbol_test(build_id_in_the_targets_root),
		symbol_test(minidebuginfo),
		symbol_test(dwz_alternate_file),
		symbol_test(debuginfod_only_when_asked_for),
		symbol_test(debuginfod_delivers),
		symbol_test(truncated_while_in_use),
		symbol_test(damaged_files),
		symbol_test(no_time_for_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
