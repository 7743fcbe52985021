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
 * How long the main thread of a process has been on a processor, in ns (/proc/PID/schedstat). 0, or
 * -errno, not logged: -ENOTSUP where the kernel does not count that.
 */
int proc_ran_ns(pid_t pid, uint64_t *ran_ns);

/* The name of a process's main thread. comm is left alone on failure. 0 or -errno. */
int proc_comm(pid_t pid, char comm[16]);

/*
 * The arguments, NULL-terminated, in one allocation: free(*out). Kernel threads and zombies have
 * none: an empty list. Longer ones than 1 MiB are cut. 0 or -errno, not logged.
 */
int proc_cmdline(pid_t pid, char ***out);

/* Where its program begins to run (AT_ENTRY of getauxval(3)). 0 or -errno, not logged; -ENOENT: it says nothing. */
int proc_entry(pid_t pid, uint64_t *entry);

/*
 * A number for the program that a process is, which its next exec changes: the kernel puts each one's stack and vDSO to
 * other places, if it is not told not to (ADDR_NO_RANDOMIZE). 0: it is not known.
 */
uint64_t proc_program(pid_t pid);

/*
 * What /proc/PID/status has behind "NAME:", from the tab on to the line's end; free(*out). 0,
 * -ENOENT: there is no such line, or -errno, not logged.
 */
int proc_status_field(pid_t pid, const char *name, char **out);

/* The decimal number there; `unknown` where there is no such line, or no process. */
long proc_status_number(pid_t pid, const char *name, long unknown);

/* Does seccomp(2) look at the system calls of its main thread? False too where that is unknown. */
bool proc_has_filter(pid_t pid);

/* The process that a thread (or process) id belongs to, or -ESRCH. */
pid_t proc_tgid(pid_t tid);

/*
 * The id by which the kernel shows a process's memory: pid, as long as its main thread lives. When
 * that has ended before the others (pthread_exit() in main) it is a zombie without memory, under
 * whose id maps and mem are empty, exe and root lead nowhere, and process_vm_readv() fails; any
 * other thread's id stands for the process then. pid too when there is no process.
 */
pid_t proc_memory_id(pid_t pid);
/* A thread that has its memory, neither the main one nor `but`; 0: there is none. */
pid_t proc_other_thread(pid_t pid, pid_t but);

/*
 * The id that a process has in its own pid namespace (the same as pid outside of containers), or
 * -errno.
 */
pid_t proc_ns_pid(pid_t pid);

/*
 * Calls back for each process there is until the callback returns something else than 0, which is
 * returned; else 0, or -errno.
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
 * The other processes that run in the same memory (clone(CLONE_VM) without CLONE_THREAD, vfork); by
 * kcmp(2). *out is freed by the caller. A snapshot. 0 or -errno: -ENOSYS where the kernel does not
 * tell, -EPERM for another user's process.
 */
int proc_sharers(pid_t pid, pid_t **out, size_t *count);
/* Do two processes run in the same memory? False where that cannot be told. */
bool proc_shares(pid_t pid, pid_t other);

enum proc_elf {
	PROC_ELF_NATIVE,
	PROC_ELF_32BIT,
	PROC_ELF_FOREIGN, /* another architecture: runs under emulation */
	/*
	 * Valgrind, which runs a translation of another program's code: a breakpoint in that is
	 * translated with it, and kills it (SIGTRAP); what it allocates never comes to one.
	 */
	PROC_ELF_VALGRIND,
};

/*
 * What kind of program a process runs. enum proc_elf, or -errno (-EACCES when it may not be looked
 * at).
 */
int proc_elf(pid_t pid);

#endif
