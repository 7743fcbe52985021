// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that sandboxes itself: "sandboxed HOW" says ready, waits for a line, makes blocks, forbids itself (by seccomp, which
 * kills for it) all but what its malloc needs, frees and makes more, and says fine. HOW is "prctl", "syscall"; "tsync", which
 * forbids it to four threads that allocate and free all the while; "vfork" and "fork", where a child does so with its
 * parent's blocks, and the parent goes on without a filter; "probe", which asks for one in a way that fails first;
 * "strict", which may only read and write; "raw", which makes the system call itself.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS	400
#define ROUNDS	20000
#define THREADS 4

static void *blocks[BLOCKS];
static atomic_ulong pairs[THREADS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void make_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(100), 1, 100);
}

static void free_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void churn(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		char *volatile block = malloc(100);

		block[0] = 1;
		free(block);
	}
}

enum how { BY_PRCTL, BY_SYSCALL, BY_ITSELF };

static long set_filter(enum how how, unsigned flags, struct sock_fprog *program)
{
	long result = SYS_seccomp;

	switch (how) {
	case BY_PRCTL:
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
	case BY_SYSCALL:
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
	default:
		break;
	}
#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(SECCOMP_SET_MODE_FILTER), "S"(flags), "d"(program)
			 : "rcx", "r11", "memory");
#endif
	return result;
}

static void forbid(enum how how, unsigned flags)
{
	static const int allowed[] = {SYS_read,	 SYS_write,    SYS_exit_group, SYS_brk,
				      SYS_mmap,	 SYS_munmap,   SYS_mprotect,   SYS_futex,
				      SYS_fstat, SYS_getrandom};
	enum { ALLOWED = sizeof(allowed) / sizeof(*allowed) };
	struct sock_filter filter[2 * ALLOWED + 2];
	struct sock_fprog program = {.len = 2 * ALLOWED + 2, .filter = filter};

	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int i = 0; i < ALLOWED; i++) {
		filter[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								 (unsigned)allowed[i], 0, 1);
		filter[2 * i + 2] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[2 * ALLOWED + 1] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || set_filter(how, flags, &program))
		die("seccomp");
}

static void *work(void *arg)
{
	atomic_ulong *done = arg;

	for (;;) {
		churn(1);
		atomic_fetch_add(done, 1);
	}
	return NULL;
}

/* Each thread has made that many more pairs. */
static void wait_for_pairs(unsigned long more)
{
	unsigned long before[THREADS];

	for (int i = 0; i < THREADS; i++)
		before[i] = pairs[i];
	for (int i = 0; i < THREADS; i++) {
		while (pairs[i] < before[i] + more)
			;
	}
}

static void in_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, work, &pairs[i]))
			die("pthread_create");
	}
	wait_for_pairs(1000);
	forbid(BY_SYSCALL, SECCOMP_FILTER_FLAG_TSYNC);
	wait_for_pairs(1000);
}

static void child_forbids(void)
{
	forbid(BY_PRCTL, 0);
	free_blocks();
	churn(1000);
	_exit(0);
}

static void in_child(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("child");
	if (status) {
		printf("a child ended with %#x\n", status);
		exit(1);
	}
}

static void strict(void)
{
	static const char fine[] = "fine\n";

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		die("prctl");
	free_blocks();
	make_blocks();
	free_blocks();
	if (write(1, fine, sizeof(fine) - 1) != sizeof(fine) - 1)
		abort();
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "prctl";
	char line[16];

	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	make_blocks();
	free_blocks();
	make_blocks();
	if (!strcmp(how, "strict"))
		strict();
	if (!strcmp(how, "probe") &&
	    (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) || errno != EFAULT))
		die("seccomp");
	if (!strcmp(how, "tsync")) {
		in_threads();
	} else if (!strcmp(how, "fork")) {
		pid_t pid = fork();

		if (!pid)
			child_forbids();
		in_child(pid);
	} else if (!strcmp(how, "vfork")) {
		pid_t pid = vfork();

		if (!pid)
			child_forbids();
		in_child(pid);
		make_blocks();
	} else {
		forbid(!strcmp(how, "prctl") ? BY_PRCTL
		       : !strcmp(how, "raw") ? BY_ITSELF
					     : BY_SYSCALL,
		       0);
	}
	free_blocks();
	churn(ROUNDS);
	puts("fine");
	fflush(stdout);
	_exit(0);
}
