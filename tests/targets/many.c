// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Much of everything. "stacks N": one block by each of N different stacks; "maps N": N mappings
 * more, or as many as the kernel gives; "forks N": N children, one after the other, each of which
 * frees and leaks; "storm N": four children at once that do this; "programs N FILE": N copies of
 * that program, each a file of its own in the working directory, run one after the other with the
 * argument "leak"; "churn": blocks that come and go. Usage: many [leak]
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

#include "truth.h"

static char extra[64];

SITE static void *many_leak(size_t size)
{
	void *p = truth_count(THIS_SITE(), malloc(size), size);

	NOT_A_TAIL_CALL();
	return p;
}

SITE static void *by_bits(uint32_t bits, int left);

SITE static void *zero(uint32_t bits, int left)
{
	void *p = by_bits(bits >> 1, left - 1);

	NOT_A_TAIL_CALL();
	return p;
}

SITE static void *one(uint32_t bits, int left)
{
	void *p = by_bits(bits >> 1, left - 1);

	NOT_A_TAIL_CALL();
	return p;
}

/* The number's bits become a path of calls: every number a stack of its own. */
SITE static void *by_bits(uint32_t bits, int left)
{
	void *p;

	if (left == 0)
		p = many_leak(32);
	else
		p = bits & 1 ? one(bits, left) : zero(bits, left);
	NOT_A_TAIL_CALL();
	return p;
}

/* Protections alternate: neighbours that are alike would become one mapping. */
static void map_many(unsigned int count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned int done = 0;

	while (done < count && mmap(NULL, page, done & 1 ? PROT_READ : PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		done++;
	snprintf(extra, sizeof(extra), ",\"maps\":%u", done);
}

SITE static void *child_leak(size_t size)
{
	void *p = malloc(size);

	NOT_A_TAIL_CALL();
	return p;
}

/* Returns how many children ended as they should. */
static unsigned int fork_many(unsigned int count)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < count; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			void *p = child_leak(48);

			free(child_leak(16));
			_exit(p ? 7 : 8);
		}
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 7)
			good++;
	}
	return good;
}

static unsigned int fork_storm(unsigned int count)
{
	pid_t children[4];
	unsigned int good = 0;

	for (size_t i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(fork_many(count) == count ? 7 : 8);
	}
	for (size_t i = 0; i < 4; i++) {
		int status;

		if (children[i] > 0 && waitpid(children[i], &status, 0) == children[i] &&
		    WIFEXITED(status) && WEXITSTATUS(status) == 7)
			good += count;
	}
	return good;
}

static void say_children(unsigned int good)
{
	snprintf(extra, sizeof(extra), ",\"children\":%u", good);
}

/* One that is there from the last time is run as it is. */
static int copy_once(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	int err = in < 0 || (out < 0 && errno != EEXIST);

	while (!err && out >= 0) {
		ssize_t n = sendfile(out, in, NULL, 1 << 20);

		err = n < 0;
		if (n <= 0)
			break;
	}
	close(in);
	close(out);
	return err;
}

static void run_many(unsigned int count, const char *file)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < count; i++) {
		char name[32];
		int status;
		pid_t child;

		snprintf(name, sizeof(name), "./program.%u", i);
		child = copy_once(file, name) ? -1 : fork();
		if (child == 0) {
			execl(name, name, "leak", NULL);
			_exit(9);
		}
		if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 7)
			good++;
	}
	snprintf(extra, sizeof(extra), ",\"programs\":%u", good);
}

static const char *obey(const char *command)
{
	unsigned int count = 0;
	char file[128];

	extra[0] = '\0';
	if (sscanf(command, "stacks %u", &count) == 1) {
		for (uint32_t i = 0; i < count; i++)
			by_bits(i, 20);
	} else if (sscanf(command, "maps %u", &count) == 1) {
		map_many(count);
	} else if (sscanf(command, "forks %u", &count) == 1) {
		say_children(fork_many(count));
	} else if (sscanf(command, "storm %u", &count) == 1) {
		say_children(fork_storm(count));
	} else if (sscanf(command, "programs %u %127s", &count, file) == 2) {
		run_many(count, file);
	} else {
		return NULL;
	}
	return extra;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "leak"))
		_exit(child_leak(80) ? 7 : 8);
	return truth_serve(obey);
}
