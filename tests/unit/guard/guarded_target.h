/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program whose threads free each other's blocks and look at every byte of them, and that makes bugs
 * when it is told to: this test's own, started anew. A line a command, and a line of answer.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_GUARD_GUARDED_TARGET_H
#define MEMLEAKBPF_TESTS_UNIT_GUARD_GUARDED_TARGET_H

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/gate/nop.h"

#define TARGET_THREADS 3

struct target_block {
	uint32_t size;
	uint32_t tag;
	uint8_t bytes[];
};

static _Atomic(struct target_block *) target_blocks[TARGET_THREADS * 64];
static atomic_ulong target_turns, target_wrong;
static atomic_bool target_ends;

static void target_check(const struct target_block *block, size_t size)
{
	for (size_t i = 0; i < size - sizeof(*block); i++) {
		if (block->bytes[i] != (uint8_t)block->tag) {
			target_wrong++;
			break;
		}
	}
}

static void target_free(struct target_block *block)
{
	if (block)
		target_check(block, block->size);
	free(block);
}

static struct target_block *target_make(unsigned what, size_t size)
{
	void *block = NULL;

	if (what == 0)
		return calloc(1, size);
	if (what == 1)
		return aligned_alloc(32, size);
	if (what == 2 && !posix_memalign(&block, 64, size))
		return block;
	return malloc(size);
}

static void *target_work(void *arg)
{
	unsigned random = (unsigned)(uintptr_t)arg * 7919 + 1;

	while (!target_ends) {
		unsigned i = (unsigned)rand_r(&random) % (TARGET_THREADS * 64);
		size_t size = sizeof(struct target_block) + (size_t)rand_r(&random) % 500;
		struct target_block *block = atomic_exchange(&target_blocks[i], NULL);

		if (block && (unsigned)rand_r(&random) % 4 == 0) {
			size_t old = block->size;

			block = realloc(block, size);
			target_check(block, old < size ? old : size);
		} else {
			target_free(block);
			block = target_make((unsigned)rand_r(&random) % 8, size);
		}
		block->size = (uint32_t)size;
		block->tag = random;
		memset(block->bytes, (uint8_t)random, size - sizeof(*block));
		target_free(atomic_exchange(&target_blocks[i], block));
		target_turns++;
	}
	return NULL;
}

/* A thread that was joined is among the process's for a moment longer (proc(5): as many links as threads, and two). */
static void wait_until_alone(void)
{
	struct stat st;

	while (!stat("/proc/self/task", &st) && st.st_nlink > 3)
		usleep(1000);
}

/* A child that uses and frees what it has inherited. */
static int target_fork(void)
{
	char *volatile block = malloc(100);
	int status = -1;
	pid_t pid;

	memset(block, 7, 100);
	pid = fork();
	if (!pid) {
		int right = block[99] == 7;

		block = realloc(block, 1000);
		right &= block[99] == 7;
		for (int i = 0; i < 1000; i++) {
			free(block);
			block = calloc(1, 50);
			right &= block[49] == 0;
		}
		_exit(!right);
	}
	waitpid(pid, &status, 0);
	free(block);
	return status;
}

static bool target_holds(const uint8_t *block, int byte, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (block[i] != byte)
			return false;
	}
	return true;
}

/* The functions that only some allocators have, each on a block of its own. How many went wrong? */
static unsigned long target_own(void)
{
	static const char *const ends[] = {"dallocx",
					   "sdallocx",
					   "_ZdlPv",
					   "_ZdaPv",
					   "_ZdlPvm",
					   "_ZdaPvm",
					   "_ZdlPvRKSt9nothrow_t",
					   "_ZdlPvSt11align_val_t",
					   "_ZdaPvmSt11align_val_t",
					   "_ZdlPvSt11align_val_tRKSt9nothrow_t",
					   "mi_free_size",
					   "mi_cfree",
					   "tc_free_sized",
					   "cfree"};
	static const char *const sizes[] = {"sallocx", "xallocx", "malloc_size", "mi_usable_size",
					    "tc_malloc_size"};
	void *(*rallocx)(void *, size_t, int) = dlsym(RTLD_DEFAULT, "rallocx");
	unsigned long wrong = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		bool last = ends[i][0] == 's' || strstr(ends[i], "Pvm");
		void (*end)(void *, size_t, size_t) = dlsym(RTLD_DEFAULT, ends[i]);
		uint8_t *block = malloc(96);

		memset(block, 5, 96);
		for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++) {
			size_t (*size)(void *, size_t, size_t, int) = dlsym(RTLD_DEFAULT, sizes[j]);

			wrong += size && size(block, sizes[j][0] == 'x' ? 96 : 0, 0, 0) < 96;
		}
		if (rallocx) {
			/* Aligned to 64, and what is new is zero. */
			block = rallocx(block, 200, 6 | 0x40);
			wrong += !target_holds(block, 5, 96) || !target_holds(block + 96, 0, 104) ||
				 (uintptr_t)block % 64;
			block = rallocx(block, 96, 0);
			wrong += !target_holds(block, 5, 96);
		}
		if (!end)
			free(block);
		else if (last)
			end(block, 96, ends[i][0] == 's' ? 0 : 8);
		else
			end(block, ends[i][0] == 'm' || ends[i][0] == 't' ? 96 : 0, 0);
	}
	/* The text of what was not found last is a block that is kept until it has been asked for. */
	dlerror();
	dlerror();
	return wrong;
}

static bool target_is_guarded(const uint8_t *block, size_t size)
{
	return !(((uintptr_t)block + size) % 4096) || !((uintptr_t)block % 4096);
}

/* Operators new, where the allocator has them. How many gave guarded blocks? 1000 more for each that was wrong. */
static unsigned long target_new(void)
{
	static const struct {
		const char *name;
		size_t first, second;
	} news[] = {{"_Znwm", 96, 0},
		    {"_Znam", 96, 0},
		    {"_ZnwmRKSt9nothrow_t", 96, 0},
		    {"_ZnamRKSt9nothrow_t", 96, 0},
		    {"_ZnwmSt11align_val_t", 128, 64},
		    {"_ZnamSt11align_val_t", 128, 64},
		    {"_ZnwmSt11align_val_tRKSt9nothrow_t", 128, 64},
		    {"_ZnamSt11align_val_tRKSt9nothrow_t", 128, 64},
		    {"mi_new", 96, 0},
		    {"mi_new_nothrow", 96, 0},
		    {"mi_new_n", 6, 16},
		    {"mi_new_aligned", 128, 64},
		    {"mi_new_aligned_nothrow", 128, 64}};
	unsigned long answer = 0;

	for (size_t i = 0; i < sizeof(news) / sizeof(*news); i++) {
		uint8_t *(*new)(size_t, size_t, void *) = dlsym(RTLD_DEFAULT, news[i].name);
		size_t size = news[i].second == 64 ? 128 : 96;
		uint8_t *block;

		if (!new)
			continue;
		block = new (news[i].first, news[i].second, NULL);
		memset(block, 3, size);
		answer += target_is_guarded(block, size);
		if (size == 128 && (uintptr_t)block % 64)
			answer += 1000;
		free(block);
	}
	dlerror();
	dlerror();
	return answer;
}

/* What has been freed is read: are the old bytes there? And it is freed once more. */
static int target_bugs(void)
{
	char *volatile block = malloc(48);
	int old = 0;

	memset(block, 9, 48);
	free(block);
	for (int i = 0; i < 48; i++)
		old += block[i] == 9;
	free(block);
	return old;
}

/* From now on this thread's madvise is the process's end; or that of another advice than the stub's only. */
static int target_filter(bool allows)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allows ? MADV_DONTNEED : 1000, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The same of madvise of more than that, whatever the advice. */
static int target_filter_longer(const char *length)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)strtoul(length, NULL, 10), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static uint8_t *target_map(const char *address)
{
	void *at = mmap((void *)strtoul(address, NULL, 16), 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return at == MAP_FAILED ? NULL : memset(at, 5, 4096);
}

/* And frees their blocks. */
static inline void target_end_threads(const pthread_t *threads)
{
	target_ends = true;
	for (size_t i = 0; i < TARGET_THREADS; i++)
		pthread_join(threads[i], NULL);
	wait_until_alone();
	for (size_t i = 0; i < TARGET_THREADS * 64; i++)
		target_free(atomic_exchange(&target_blocks[i], NULL));
}

static inline void target_run(void)
{
	static void *held[200];
	pthread_t threads[TARGET_THREADS];
	uint8_t *own = NULL;
	char line[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	setvbuf(stdout, NULL, _IOLBF, 256);
	for (uintptr_t i = 0; i < TARGET_THREADS; i++)
		pthread_create(&threads[i], NULL, target_work, (void *)i);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long answer = 0, until;

		switch (*line) {
		case 'w': /* works for a while; how many blocks were wrong? */
			until = target_turns + 20000;
			while (target_turns < until)
				usleep(1000);
			answer = target_wrong;
			break;
		case 'h': /* holds blocks */
			for (size_t i = 0; i < 200; i++)
				held[i] = malloc(i);
			break;
		case 'e':
			target_end_threads(threads);
			answer = target_wrong;
			break;
		case 'f': /* frees what it holds */
			for (size_t i = 0; i < 200; i++) {
				free(held[i]);
				held[i] = NULL;
			}
			break;
		case 'c':
			answer = (unsigned long)target_fork();
			break;
		case 'o':
			answer = target_own();
			break;
		case 'n':
			answer = target_new();
			break;
		case 'b':
			answer = (unsigned long)target_bugs();
			break;
		case 's':
			answer = (unsigned long)target_filter(false);
			break;
		case 'a':
			answer = (unsigned long)target_filter(true);
			break;
		case 'l':
			answer = (unsigned long)target_filter_longer(line + 1);
			break;
		case 'm': /* locks all that it has, and will have */
			answer = (unsigned long)mlockall(MCL_CURRENT | MCL_FUTURE);
			break;
		case 'p': /* has a page of its own at that address */
			own = target_map(line + 1);
			answer = !own;
			break;
		case 'q': /* is that as it was? */
			answer = !target_holds(own, 5, 4096);
			break;
		case 'x': /* becomes the same program anew, and has everything where that has it each time */
			personality(ADDR_NO_RANDOMIZE);
			execl("/proc/self/exe", "guarded_target", NULL);
			_exit(127);
		}
		printf("%lu\n", answer);
	}
	exit(0);
}

/* It, with that library preloaded unless NULL: what it is told by and answers by. Its first answer is 0. */
static inline pid_t target_start(const char *library, FILE **says, FILE **answers)
{
	int to[2], from[2];
	pid_t pid;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execl("/proc/self/exe", "guarded_target", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	*says = fdopen(to[1], "w");
	*answers = fdopen(from[0], "r");
	return pid;
}

/*
 * How main() begins in such a test: started as the target it is that, and does not come back. False: probes have no nop on
 * this machine, which is said.
 */
static inline bool target_test_begins(char **argv, struct gate_nop *nop)
{
	if (!strcmp(argv[0], "guarded_target"))
		target_run();
	if (!gate_nop_choose(nop))
		return true;
	printf("1..0 # SKIP no nop for probes: %s\n", nop->step);
	return false;
}

#endif
