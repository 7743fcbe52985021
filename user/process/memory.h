/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How much memory a process uses, as the kernel counts it. */
#ifndef MEMLEAKBPF_PROCESS_MEMORY_H
#define MEMLEAKBPF_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads resident bytes and the anonymous part of them from /proc/PID/status (proc_pid_status(5));
 * cheap. 0, or -errno, not logged, with both 0: -ESRCH when the process is gone or has no memory
 * any more.
 */
int proc_memory(pid_t pid, uint64_t *rss, uint64_t *anon);

struct proc_usage {
	/* bytes: resident in all, its anonymous and its shared part, swapped out */
	uint64_t rss, anon, shmem, swap;
	uint64_t size;	  /* of its address space, in bytes */
	uint64_t threads; /* that it has */
	uid_t uid, ruid;  /* effective, real */
};

/*
 * The same file's VmSize, VmRSS, RssAnon, RssShmem, VmSwap, Threads and Uid. 0, or -errno, not logged: -ESRCH when the
 * process is gone or has no memory.
 */
int proc_usage(pid_t pid, struct proc_usage *usage);

/*
 * Proportional set size in bytes, from /proc/PID/smaps_rollup (proc_pid_smaps(5)). The kernel walks
 * the page tables for it, which takes milliseconds per GiB resident. 0, or -errno, not logged.
 */
int proc_pss(pid_t pid, uint64_t *pss);

/*
 * How many bytes the machine could still give to processes: MemAvailable and SwapFree of
 * /proc/meminfo (proc_meminfo(5)). 0 or -errno, not logged.
 */
int machine_memory_left(uint64_t *bytes);

#endif
