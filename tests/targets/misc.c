// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Small cases, one command each. */
#include <signal.h>
#include <sys/resource.h>

#include "truth.h"

#define OLD_BLOCKS 10

void free_sized(void *block, size_t size) __attribute__((weak));
void free_aligned_sized(void *block, size_t alignment, size_t size) __attribute__((weak));

static void *old_blocks[OLD_BLOCKS];

SITE static void leak_deep(void)
{
	truth_keep(THIS_SITE(), malloc(60), 60);
}

SITE static void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		leak_deep();
	NOT_A_TAIL_CALL();
}

SITE static void leak_handler(int number)
{
	truth_keep(THIS_SITE(), malloc((size_t)number + 100), (size_t)number + 100);
}

SITE static void raiser(void)
{
	raise(SIGUSR2);
	NOT_A_TAIL_CALL();
}

SITE static void leak_limited(size_t size)
{
	truth_keep(THIS_SITE(), malloc(size), size);
}

/* Failing for lack of memory, not for a size that is refused at once. */
static void limited(void)
{
	struct rlimit was, now;

	if (getrlimit(RLIMIT_AS, &was))
		truth_die("getrlimit");
	now = was;
	now.rlim_cur = 1 << 20;
	if (setrlimit(RLIMIT_AS, &now))
		truth_die("setrlimit");
	for (int i = 0; i < 10; i++)
		leak_limited(64 << 20);
	if (setrlimit(RLIMIT_AS, &was))
		truth_die("setrlimit");
	if (truth_site("leak_limited")->alloc_count)
		truth_die("malloc worked under the limit");
	leak_limited(64 << 20);
}

SITE static void leak_strdup(void)
{
	truth_keep(THIS_SITE(), strdup("twelve bytes"), 13);
}

SITE static void leak_sized(int keep)
{
	void *p = truth_keep(THIS_SITE(), malloc(56), 56);

	if (keep)
		return;
	truth_forget(p);
	free_sized(p, 56);
}

SITE static void leak_sizes(void)
{
	static const size_t sizes[] = {1, 99, 100, 101, 1000, 1001, 1 << 16};

	for (size_t i = 0; i < 7; i++)
		truth_keep(THIS_SITE(), malloc(sizes[i]), sizes[i]);
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "null")) {
		for (int i = 0; i < 100; i++) {
			free(NULL);
			NOT_A_TAIL_CALL();
		}
	} else if (!strcmp(command, "old")) {
		for (int i = 0; i < OLD_BLOCKS; i++) {
			free(old_blocks[i]);
			old_blocks[i] = NULL;
			truth_unknown_frees++;
		}
	} else if (!strcmp(command, "deep")) {
		recurse(300);
	} else if (!strcmp(command, "shallow")) {
		recurse(100);
	} else if (!strcmp(command, "signal")) {
		for (int i = 0; i < 10; i++)
			raiser();
	} else if (!strcmp(command, "limit")) {
		limited();
	} else if (!strcmp(command, "strdup")) {
		for (int i = 0; i < 10; i++)
			leak_strdup();
	} else if (!strcmp(command, "sized")) {
		if (!free_sized)
			return ",\"skip\":\"this C library has no free_sized\"";
		for (int i = 0; i < 10; i++)
			leak_sized(i % 2);
	} else if (!strcmp(command, "sizes")) {
		leak_sizes();
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	signal(SIGUSR2, leak_handler);
	for (int i = 0; i < OLD_BLOCKS; i++)
		old_blocks[i] = malloc(1000);
	return truth_serve(obey);
}
