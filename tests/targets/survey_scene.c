// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process of the survey's scene, by its kind:
 *     idle            sleeps
 *     churn           allocates and frees
 *     sawtooth        fills a cache and drops it, again and again
 *     warmup          fills a cache in 5 s and keeps it
 *     leak RATE       loses RATE bytes per second, in leaked_here()
 *     mapped RATE     the same by brk(2), behind every allocator's back
 *     handmade RATE   the same by mmap(2), in mapped_here()
 *     fragments RATE  keeps next to nothing, but in such places that no later block fits between
 *     both RATE       at SIGUSR1 takes 64 MiB for good, and from then on loses RATE bytes per
 *     second
 *     late RATE       does nothing until SIGUSR1, and from then on the same as leak
 *     children RATE   forks one child after the other; each leaks for 6 s and exits
 *     spawn N         at SIGUSR1 runs N children, one after the other, that take 16 MiB and exit at
 *     once; each second one by a child of its own
 *     bursts RATE     the same as leak, with 8,000 allocations at once every second
 *     busy            nothing but malloc and free, and loses 3 MB a second
 * With PACE=N in the environment all of it, rates and times, is N times as fast: what a survey with an
 * interval N times as short sees of it is the same, sample by sample.
 * It names itself after its kind (prctl), says "ready" and goes on until it is killed or its
 * parent's end closes standard input.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITE  __attribute__((noipa, used))
#define STEPS 20 /* a second, or in what PACE makes of one */

SITE void *leaked_here(size_t size)
{
	char *block = malloc(size);

	if (block)
		memset(block, 1, size);
	__asm__ volatile("" ::: "memory");
	return block;
}

SITE void *cached_here(size_t size)
{
	char *block = malloc(size);

	if (block)
		memset(block, 2, size);
	__asm__ volatile("" ::: "memory");
	return block;
}

static int pace = 1;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * Sleeps until the next step; ends when standard input does. Steps that come late on a busy machine
 * are made up for, so that rates are what they are said to be; after a second of that, not any
 * more.
 */
static void step(void)
{
	static int64_t next;
	struct pollfd fd = {.fd = 0, .events = POLLIN};
	int64_t now = now_us(), wait;
	struct timespec timeout;
	char c;

	if (!next || now - next > 1000000 / pace)
		next = now;
	next += 1000000 / STEPS / pace;
	wait = next > now ? next - now : 0;
	timeout = (struct timespec){.tv_nsec = wait * 1000};
	if (ppoll(&fd, 1, &timeout, NULL) == 1 && read(0, &c, 1) <= 0)
		exit(0);
}

static void leak(uint64_t rate, unsigned steps)
{
	size_t size = (size_t)(rate / STEPS / 8);

	for (unsigned i = 0; !steps || i < steps; i++) {
		for (int n = 0; n < 8; n++)
			leaked_here(size);
		/* Not more calls a second, which would cost more time with probes on them. */
		for (int n = 0; n < 20 / pace; n++)
			free(cached_here(300));
		step();
	}
}

static void bursts(uint64_t rate)
{
	for (;;) {
		leak(rate, STEPS);
		for (int i = 0; i < 8000; i++)
			free(cached_here(64));
	}
}

static void children(uint64_t rate)
{
	for (;;) {
		pid_t child = fork();

		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			leak(rate, 6 * STEPS);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		step();
	}
}

static void live_briefly(bool by_another)
{
	pid_t child = fork();

	if (child == 0) {
		if (by_another)
			live_briefly(false);
		else
			leaked_here(16 << 20);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static volatile sig_atomic_t told;

static void on_usr1(int signal)
{
	(void)signal;
	told = 1;
}

static void spawn(uint64_t count)
{
	while (!told)
		step();
	for (uint64_t i = 0; i < count; i++)
		live_briefly(i % 2);
}

static __attribute__((noinline)) void late(uint64_t rate)
{
	while (!told)
		step();
	leak(rate, 0);
}

/*
 * Not inlined: the compiler would make its call of leak() one with main's, and that one's line a
 * place in here.
 */
static __attribute__((noinline)) void both(uint64_t rate)
{
	while (!told)
		step();
	cached_here(64 << 20);
	leak(rate, 0);
}

static void churn(void)
{
	for (;;) {
		void *blocks[64];

		for (size_t i = 0; i < 64; i++)
			blocks[i] = cached_here(1000 + 100 * i);
		for (size_t i = 0; i < 64; i++)
			free(blocks[i]);
		step();
	}
}

static void fill(unsigned steps, size_t size, void **blocks)
{
	for (unsigned i = 0; i < steps; i++) {
		blocks[i] = cached_here(size);
		step();
	}
}

static void sawtooth(void)
{
	static void *blocks[5 * STEPS];

	for (;;) {
		fill(5 * STEPS, 200000, blocks);
		for (size_t i = 0; i < 5 * STEPS; i++)
			free(blocks[i]);
	}
}

static void mapped(uint64_t rate)
{
	for (;;) {
		size_t size = (size_t)(rate / STEPS);
		char *block = sbrk((intptr_t)size);

		memset(block, 3, size);
		step();
	}
}

SITE void *mapped_here(size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages != MAP_FAILED)
		memset(pages, 4, size);
	__asm__ volatile("" ::: "memory");
	return pages;
}

static void handmade(uint64_t rate)
{
	for (;;) {
		mapped_here((size_t)(rate / STEPS));
		step();
	}
}

SITE void *shrunk_here(void *block)
{
	block = realloc(block, 24);
	__asm__ volatile("" ::: "memory");
	return block;
}

/*
 * A block that shrinks in place leaves a hole; each step's blocks are larger than those that the
 * steps before have left.
 */
static void fragments(uint64_t rate)
{
	for (size_t size = 2000;; size += 48) {
		void *blocks[100];
		size_t count = rate / STEPS / size < 100 ? rate / STEPS / size : 100;

		for (size_t i = 0; i < count; i++)
			blocks[i] = cached_here(size);
		for (size_t i = 0; i < count; i++)
			shrunk_here(blocks[i]);
		step();
	}
}

/* Loses 3 MB a second among all the rest. */
static void busy(void)
{
	struct timespec last = {0}, now;

	for (uint64_t i = 0;; i++) {
		struct pollfd fd = {.fd = 0, .events = POLLIN};
		char c;

		free(cached_here(64));
		if (i % 10000)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000 <
		    1000 / STEPS)
			continue;
		last = now;
		leaked_here(3000000 / STEPS);
		if (poll(&fd, 1, 0) == 1 && read(0, &c, 1) <= 0)
			exit(0);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "idle";
	uint64_t rate = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	static void *blocks[5 * STEPS];

	if (getenv("PACE"))
		pace = (int)strtol(getenv("PACE"), NULL, 10);
	prctl(PR_SET_NAME, kind);
	signal(SIGUSR1, on_usr1);
	puts("ready");
	fflush(stdout);
	if (!strcmp(kind, "leak"))
		leak(rate, 0);
	else if (!strcmp(kind, "late"))
		late(rate);
	else if (!strcmp(kind, "mapped"))
		mapped(rate);
	else if (!strcmp(kind, "handmade"))
		handmade(rate);
	else if (!strcmp(kind, "fragments"))
		fragments(rate);
	else if (!strcmp(kind, "both"))
		both(rate);
	else if (!strcmp(kind, "bursts"))
		bursts(rate);
	else if (!strcmp(kind, "children"))
		children(rate);
	else if (!strcmp(kind, "spawn"))
		spawn(rate);
	else if (!strcmp(kind, "churn"))
		churn();
	else if (!strcmp(kind, "sawtooth"))
		sawtooth();
	else if (!strcmp(kind, "busy"))
		busy();
	else if (!strcmp(kind, "warmup"))
		fill(5 * STEPS, 300000, blocks);
	for (;;)
		step();
}
