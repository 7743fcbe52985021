// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The places on this kernel: a perf event on each counts its hits in a child process. Whether the
 * kernel single-stepped shows in the child's memory map: only then it needs its out-of-line area,
 * "[uprobes]"; a 5-byte nop turned into a call goes through "[uprobes-trampoline]". Needs the right
 * to place uprobes (root); skipped without.
 *
 * The C library is a copy, a file of this test's own: in the machine's other tools may have probes,
 * whose breakpoints would be read for code and whose return probes leave the same trace as a single
 * step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/probe/place.h"

#define OWN_LIBC   "TEST_OWN_LIBC" /* environment: the directory with the copy of the C library */
#define CALLS	   1000
#define NULL_CALLS 10

enum child_status {
	CHILD_STEPPED = 1,
	CHILD_TRAMPOLINE = 2,
	CHILD_FAILED = 4,
};

/* A function to probe, and who calls it how often. */
struct subject {
	const void *address; /* of the probe, in this process */
	void (*calls)(const struct subject *subject);
	void *function;
};

static int uprobe_type(void)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	return f && fscanf(f, "%d", &type) == 1 ? type : -1;
}

/* The file and the file offset that an address of this process comes from. */
static bool locate(const void *address, char path[4096], uint64_t *offset)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end, file_offset;
	char line[8192];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &start, &end, &file_offset,
			   path) != 4)
			continue;
		if ((uintptr_t)address < start || (uintptr_t)address >= end)
			continue;
		*offset = file_offset + (uintptr_t)address - start;
		return true;
	}
	return false;
}

static int open_counter(pid_t pid, const void *address)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char path[4096];
	uint64_t offset;

	if (!locate(address, path, &offset))
		return -ENOENT;
	attr.type = (uint32_t)uprobe_type();
	attr.config1 = (uintptr_t)path;
	attr.config2 = offset;
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Without stdio, which would call malloc: its calls would count. */
static int map_status(void)
{
	static char maps[256 * 1024];
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	while ((n = read(fd, maps + size, sizeof(maps) - 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0 || size == sizeof(maps) - 1)
		return CHILD_FAILED;
	return (strstr(maps, "[uprobes]") ? CHILD_STEPPED : 0) |
	       (strstr(maps, "[uprobes-trampoline]") ? CHILD_TRAMPOLINE : 0);
}

/* Runs the subject in a child with a counter on its probe. -errno when there can be no probe. */
static int run(const struct subject *subject, uint64_t *hits, int *status)
{
	int go[2], fd;
	pid_t pid;
	char byte;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(CHILD_FAILED);
		subject->calls(subject);
		_exit(map_status());
	}
	close(go[0]);
	fd = open_counter(pid, subject->address);
	if (fd >= 0)
		assert_int_equal(write(go[1], "", 1), 1);
	close(go[1]);
	assert_int_equal(waitpid(pid, status, 0), pid);
	if (fd < 0)
		return fd;
	assert_true(WIFEXITED(*status));
	*status = WEXITSTATUS(*status);
	assert_int_equal(read(fd, hits, sizeof(*hits)), sizeof(*hits));
	close(fd);
	return 0;
}

static void need_uprobes(void)
{
	int fd = open_counter(0, (const void *)(uintptr_t)uprobe_type);

	if (fd == -EACCES || fd == -EPERM || uprobe_type() < 0) {
		print_message("needs root\n");
		skip();
	}
	assert_true(fd >= 0);
	close(fd);
}

/* Functions of one instruction and what undoes it; aligned, so that none crosses a page. */
#define FUNCTION(name, body)                                                          \
	void name(void);                                                              \
	__asm__(".pushsection .text\n.p2align 5\n.globl " #name "\n.type " #name      \
		", %function\n" #name ":\n" body "\nret\n.size " #name ", . - " #name \
		"\n.popsection\n")

#if defined(__x86_64__)
#define SUBJECT_SIZE 16

FUNCTION(push_rbx, "push %rbx\npop %rbx");
FUNCTION(push_r12, "push %r12\npop %r12");
FUNCTION(nop1, "nop");
FUNCTION(nop2, ".byte 0x66, 0x90");
FUNCTION(nop3, ".byte 0x0f, 0x1f, 0x00");
FUNCTION(nop4, ".byte 0x0f, 0x1f, 0x40, 0x00");
FUNCTION(nop5, ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00");
FUNCTION(nop6, ".byte 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00");
FUNCTION(nop7, ".byte 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00");
FUNCTION(nop8, ".byte 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00");
FUNCTION(jmp8, "jmp 1f\n1:");
FUNCTION(jmp32, ".byte 0xe9, 0, 0, 0, 0");
FUNCTION(jcc8, "je 1f\n1:");
FUNCTION(jcc32, ".byte 0x0f, 0x84, 0, 0, 0, 0");
FUNCTION(call32, "call nop1");
FUNCTION(endbr, "endbr64");
FUNCTION(test_rdi, "test %rdi, %rdi");
FUNCTION(mov_rax, "mov %rdi, %rax");
FUNCTION(sub_rsp, "sub $8, %rsp\nadd $8, %rsp");
FUNCTION(lea_rax, "lea nop1(%rip), %rax");
FUNCTION(xor_eax, "xor %eax, %eax");

#define SUBJECTS                                                                                 \
	S(push_rbx), S(push_r12), S(nop1), S(nop2), S(nop3), S(nop4), S(nop5), S(nop6), S(nop7), \
		S(nop8), S(jmp8), S(jmp32), S(jcc8), S(jcc32), S(call32), S(endbr), S(test_rdi), \
		S(mov_rax), S(sub_rsp), S(lea_rax), S(xor_eax)

#elif defined(__aarch64__)
/* One instruction: behind it is a place already, ret. */
#define SUBJECT_SIZE 4

/*
 * paciasp, autiasp and bti are hints, which an assembler knows that does not know the extensions.
 */
FUNCTION(paciasp, "hint #25\nhint #29");
FUNCTION(bti_c, "hint #34");
FUNCTION(nop, "nop");
FUNCTION(branch, "b 1f\n1:");
FUNCTION(branch_ne, "b.ne 1f\n1:");
FUNCTION(cbz_x0, "cbz x0, 1f\n1:");
FUNCTION(tbnz_w0, "tbnz w0, #3, 1f\n1:");
FUNCTION(adrp_x3, "adrp x3, nop");
FUNCTION(adr_x3, "adr x3, adr_x3");
FUNCTION(only_ret, "ret");
FUNCTION(stp_push, "stp x29, x30, [sp, #-16]!\nldp x29, x30, [sp], #16");
FUNCTION(sub_sp, "sub sp, sp, #16\nadd sp, sp, #16");
FUNCTION(mov_x3, "mov x3, x0");
FUNCTION(cmp_x0, "cmp x0, #8");

#define SUBJECTS                                                                                  \
	S(paciasp), S(bti_c), S(nop), S(branch), S(branch_ne), S(cbz_x0), S(tbnz_w0), S(adrp_x3), \
		S(adr_x3), S(only_ret), S(stp_push), S(sub_sp), S(mov_x3), S(cmp_x0)
#endif

static void call_function(const struct subject *subject)
{
	void (*function)(void) = (void (*)(void))(uintptr_t)subject->function;

	for (int i = 0; i < CALLS; i++)
		function();
}

/* What place_find() says an instruction costs is what this kernel does with it. */
static void test_instructions(void **state)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} subjects[] = {
#define S(name) {#name, name}
		SUBJECTS,
#undef S
	};

	(void)state;
	need_uprobes();
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		/* The instruction alone is the whole function: there is nothing better to find. */
		struct place_request request = {
			.code = (const uint8_t *)(uintptr_t)subjects[i].function,
			.size = SUBJECT_SIZE,
			.vaddr = (uintptr_t)subjects[i].function,
			.args_read = 1};
		struct subject subject = {.address = (const void *)(uintptr_t)subjects[i].function,
					  .function = (void *)(uintptr_t)subjects[i].function,
					  .calls = call_function};
		uint64_t hits = 0;
		struct place place;
		int status = 0, expected;

		place_find(&request, &place);
		if (place.offset != 0) { /* a stepped one at the entry, with a ret's place behind */
			print_error("%s: +%u\n", subjects[i].name, place.offset);
			fail();
		}
		assert_int_equal(run(&subject, &hits, &status), 0);
		expected = place.cost == PLACE_STEPPED ? CHILD_STEPPED
			   : place.cost == PLACE_NOP5  ? CHILD_TRAMPOLINE
						       : 0;
		/*
		 * Prefixed ones are called stepped, as kernels differ: some refuse a 2-byte nop,
		 * others emulate it.
		 */
		if (request.code[0] == 0x66 && !status)
			expected = 0;
		if (status != expected)
			print_error("%s: status %d, expected %d\n", subjects[i].name, status,
				    expected);
		assert_int_equal(status, expected);
		assert_int_equal(hits, CALLS);
	}
}

static void call_malloc(const struct subject *subject)
{
	void *(*function)(size_t) = (void *(*)(size_t))(uintptr_t)subject->function;

	for (int i = 0; i < CALLS; i++) {
		if (!function((size_t)i * 10))
			_exit(CHILD_FAILED);
	}
}

static void call_calloc(const struct subject *subject)
{
	void *(*function)(size_t, size_t) = (void *(*)(size_t, size_t))(uintptr_t)subject->function;

	for (int i = 0; i < CALLS; i++) {
		if (!function((size_t)i, 10))
			_exit(CHILD_FAILED);
	}
}

static void call_realloc(const struct subject *subject)
{
	void *(*function)(void *, size_t) = (void *(*)(void *, size_t))(uintptr_t)subject->function;
	void *p = NULL;

	for (size_t i = 1; i <= CALLS; i++) {
		p = function(p, i * 100);
		if (!p)
			_exit(CHILD_FAILED);
	}
}

static void *libc;

static void call_free(const struct subject *subject)
{
	void (*function)(void *) = (void (*)(void *))(uintptr_t)subject->function;
	void *(*allocate)(size_t) = (void *(*)(size_t))(uintptr_t)dlsym(libc, "malloc");

	for (int i = 0; i < CALLS; i++)
		function(allocate(100));
	for (int i = 0; i < NULL_CALLS; i++)
		function(NULL);
}

static const char *dlsym_file(void *library, const char *name)
{
	Dl_info info;

	return dladdr(dlsym(library, name), &info) ? info.dli_fname : "";
}

/* The C library's own functions, in whatever build this machine has: each call is one hit. */
static void test_libc(void **state)
{
	static const struct {
		const char *name;
		unsigned args_read;
		bool free;
		void (*calls)(const struct subject *subject);
	} functions[] = {
		{"malloc", 1, false, call_malloc},
		{"calloc", 3, false, call_calloc},
		{"realloc", 3, false, call_realloc},
		{"free", 1, true, call_free},
	};

	(void)state;
	need_uprobes();
	/* Not dlsym(RTLD_DEFAULT): AddressSanitizer has functions of these names. */
	libc = dlopen("libc.so.6", RTLD_NOW);
	assert_non_null(libc);
	assert_non_null(strstr(dlsym_file(libc, "malloc"), getenv(OWN_LIBC)));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct subject subject = {.calls = functions[i].calls,
					  .function = dlsym(libc, functions[i].name)};
		struct place_request request = {.code = subject.function,
						.args_read = functions[i].args_read,
						.null_skippable = functions[i].free};
		uint64_t hits = 0, expected = CALLS;
		const ElfW(Sym) *symbol = NULL;
		struct place place;
		int status = 0;
		Dl_info info;

		assert_non_null(subject.function);
		assert_int_not_equal(
			dladdr1(subject.function, &info, (void **)&symbol, RTLD_DL_SYMENT), 0);
		request.size = symbol->st_size;
		request.vaddr = (uintptr_t)subject.function - (uintptr_t)info.dli_fbase;
		place_find(&request, &place);
		subject.address = (const uint8_t *)subject.function + place.offset;
		assert_int_equal(run(&subject, &hits, &status), 0);
		assert_false(status & CHILD_FAILED);
		assert_int_equal(status & CHILD_STEPPED,
				 place.cost == PLACE_STEPPED ? CHILD_STEPPED : 0);
		if (functions[i].free && !strstr(place.reason, "NULL"))
			expected += NULL_CALLS;
		print_message("%s+%u (%s): %lu hits\n", functions[i].name, place.offset,
			      place.instruction, (unsigned long)hits);
		assert_int_equal(hits, expected);
	}
	dlclose(libc);
}

static bool copy_file(const char *from, const char *to)
{
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t n = 0;

	while (in >= 0 && out >= 0 && (n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	return in >= 0 && out >= 0 && !n;
}

/* Starts this program anew with a copy of the C library. Returns only when that fails. */
static void begin_again(char **argv)
{
	const void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	char directory[] = "/tmp/test_place_live.XXXXXX";
	char path[sizeof(directory) + sizeof("/libc.so.6")];
	Dl_info info;

	if (!symbol || !dladdr(symbol, &info) || !mkdtemp(directory))
		return;
	snprintf(path, sizeof(path), "%s/libc.so.6", directory);
	if (copy_file(info.dli_fname, path)) {
		setenv(OWN_LIBC, directory, 1);
		setenv("LD_LIBRARY_PATH", directory, 1);
		execv("/proc/self/exe", argv);
	}
	unlink(path);
	rmdir(directory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_libc),
	};
	const char *directory = getenv(OWN_LIBC);
	char path[4096];
	int failed;

	(void)argc;
	if (!directory) {
		begin_again(argv);
		perror("cannot start with a copy of the C library");
		return 1;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(path, sizeof(path), "%s/libc.so.6", directory);
	unlink(path);
	rmdir(directory);
	return failed;
}
