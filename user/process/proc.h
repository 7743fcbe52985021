/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts of a process, from /proc. Formats: proc_pid_stat(5), proc_pid_status(5),
 * proc_pid_cmdline(5).
 */
#ifndef MEMLEAKBPF_PROCESS_PROC_H
#define MEMLEAKBPF_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char comm[16]; /* as the kernel has it: any bytes */
	char state;    /* 'R', 'S', 'Z' … */
	pid_t ppid;
	unsigned threads;
	/* since boot, in units of sysconf(_SC_CLK_TCK); with the pid it names a process for good */
	uint64_t start_ticks;
	bool kernel_thread;
};

/* Reads /proc/PID/stat. 0, or -errno, not logged: -ESRCH when there is no such process. */
int proc_stat(pid_t pid, struct proc_stat *out);

/* Parses one line of that file; for proc_stat() and tests. 0 or -EBADMSG. */
int proc_stat_parse(const char *text, struct proc_stat *out);

/*
 * Returns how long the main thread of a process has run on a processor, in ns
 * (/proc/PID/schedstat). 0, or -errno, not logged: -ENOTSUP where the kernel does not count that.
 */
int proc_ran_ns(pid_t pid, uint64_t *ran_ns);

/* The name of a process's main thread. comm is left alone on failure. 0 or -errno. */
int proc_comm(pid_t pid, char comm[16]);

/*
 * The arguments, NULL-terminated, in one allocation: free(*out). Kernel threads and zombies have an
 * empty list. More than 1 MiB is cut. 0 or -errno, not logged.
 */
int proc_cmdline(pid_t pid, char ***out);

/*
 * Where the program begins to run (AT_ENTRY of getauxval(3)). 0 or -errno, not logged; -ENOENT: the
 * process does not say.
 */
int proc_entry(pid_t pid, uint64_t *entry);

/*
 * A number for the program that a process runs now; the next exec changes it. The kernel puts each
 * program's stack and vDSO elsewhere, unless ADDR_NO_RANDOMIZE forbids that. 0: it is not known.
 */
uint64_t proc_program(pid_t pid);

/*
 * The rest of the line "NAME:" of /proc/PID/status, from the tab on; free(*out). 0, -ENOENT: there
 * is no such line, or -errno, not logged.
 */
int proc_status_field(pid_t pid, const char *name, char **out);

/* The decimal number there; `unknown` where there is no such line, or no process. */
long proc_status_number(pid_t pid, const char *name, long unknown);

/* Does seccomp(2) filter the system calls of the main thread? False too where that is unknown. */
bool proc_has_filter(pid_t pid);

/* The process that a thread (or process) id belongs to, or -ESRCH. */
pid_t proc_tgid(pid_t tid);

/*
 * The id under which the kernel shows a process's memory: pid, as long as its main thread lives. A
 * main thread that has ended before the others (pthread_exit() in main) is a zombie without memory.
 * Under its id maps and mem are empty, exe and root lead nowhere, and process_vm_readv() fails.
 * Then another thread's id stands for the process. pid too when there is no process.
 */
pid_t proc_memory_id(pid_t pid);
/*
 * A thread of the process that still has memory, neither the main one nor `but`; 0: there is none.
 */
pid_t proc_other_thread(pid_t pid, pid_t but);

/*
 * The id of a process in its own pid namespace (the same as pid outside of containers), or -errno.
 */
pid_t proc_ns_pid(pid_t pid);

/*
 * Calls visit for each process until it returns something else than 0. Returns that, else 0, or
 * -errno.
 */
int proc_each(int (*visit)(void *ctx, pid_t pid), void *ctx);
/* The same for the threads of a process. -ESRCH: it has ended. */
int proc_each_thread(pid_t pid, int (*visit)(void *ctx, pid_t tid), void *ctx);

/*
 * The processes whose parent is pid; *out is freed by the caller. A snapshot: some may have ended
 * by now. 0 or -errno.
 */
int proc_children(pid_t pid, pid_t **out, size_t *count);

/*
 * Finds by kcmp(2) the other processes that run in the same memory (clone(CLONE_VM) without
 * CLONE_THREAD, vfork). *out is freed by the caller. A snapshot. 0 or -errno: -ENOSYS where the
 * kernel does not tell, -EPERM for another user's process.
 */
int proc_sharers(pid_t pid, pid_t **out, size_t *count);
/* Do two processes run in the same memory? False where that cannot be told. */
bool proc_shares(pid_t pid, pid_t other);

enum proc_elf {
	PROC_ELF_NATIVE,
	PROC_ELF_32BIT,
	PROC_ELF_FOREIGN, /* another architecture: runs under emulation */
	/*
	 * Valgrind, which runs a translation of another program's code. It would translate a
	 * breakpoint in that code, which then kills the program (SIGTRAP). Its allocations never
	 * come to a breakpoint.
	 */
	PROC_ELF_VALGRIND,
};

/* What kind of program a process runs: enum proc_elf, or -errno (-EACCES when we may not look). */
int proc_elf(pid_t pid);

#endif
