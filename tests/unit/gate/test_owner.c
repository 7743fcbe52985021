// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file in memory that a process has been made to make: whatever comes to have its number is left alone, and waited for by nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/gate/owner.h"

#define NAME "memleakbpf-owner"
#define SIZE 4096

static int make(const char *name)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	assert_true(file >= 0);
	return file;
}

static void is_opened(void **state)
{
	int file = make(NAME), ours = owner_open_made(getpid(), file, NAME);
	struct stat st, its;
	void *mapped;

	(void)state;
	assert_true(ours >= 0);
	assert_int_equal(fstat(file, &its) | fstat(ours, &st), 0);
	assert_int_equal(st.st_ino, its.st_ino);
	assert_true(owner_is_number(getpid(), file, ours));
	assert_int_equal(ftruncate(ours, SIZE), 0);
	mapped = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	assert_true(mapped != MAP_FAILED);
	assert_true(owner_is_mapped(getpid(), (uintptr_t)mapped, SIZE, ours));
	munmap(mapped, SIZE);
	/* It has been written to. */
	assert_int_equal(owner_open_made(getpid(), file, NAME), -EBUSY);
	close(ours);
	close(file);
}

static void another_one(void **state)
{
	char path[] = "/tmp/memleakbpf-owner-XXXXXX";
	int file = make(NAME), ours = owner_open_made(getpid(), file, NAME), others;
	struct stat st;

	(void)state;
	others = mkstemp(path);
	assert_true(others >= 0 && !unlink(path));
	assert_int_equal(dup2(others, file), file);
	assert_int_equal(owner_open_made(getpid(), file, NAME), -EBUSY);
	assert_false(owner_is_number(getpid(), file, ours));
	/* One by another name; none. */
	close(others);
	others = make(NAME "-else");
	assert_int_equal(dup2(others, file), file);
	assert_int_equal(owner_open_made(getpid(), file, NAME), -EBUSY);
	assert_int_equal(fstat(others, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(others);
	close(file);
	assert_int_equal(owner_open_made(getpid(), file, NAME), -EBUSY);
	assert_false(owner_is_number(getpid(), file, ours));
	close(ours);
}

/* The same file, open for reading only, with a lease that an opening for writing breaks. */
static int lease(int made)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	close(made);
	assert_int_equal(fcntl(file, F_SETLEASE, F_RDLCK), 0);
	return file;
}

/* Who opens it by the usual flags waits until that is given up, or 45 seconds. */
static void leased(void **state)
{
	int made = make(NAME), mapped = make(NAME);
	void *at;

	(void)state;
	/* What tells the holder. */
	signal(SIGIO, SIG_IGN);
	made = lease(made);
	assert_int_equal(owner_open_made(getpid(), made, NAME), -EWOULDBLOCK);
	close(made);
	assert_int_equal(ftruncate(mapped, SIZE), 0);
	mapped = lease(mapped);
	at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, mapped, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(owner_open(getpid(), (uintptr_t)at, SIZE), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	munmap(at, SIZE);
	close(mapped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_opened),
		cmocka_unit_test(another_one),
		cmocka_unit_test(leased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
