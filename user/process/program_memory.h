/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a process, for as long as it runs the program that it runs now. A write by its
 * process id could come into its next program, which may have something of its own at the same
 * address.
 */
#ifndef MEMLEAKBPF_PROCESS_PROGRAM_MEMORY_H
#define MEMLEAKBPF_PROCESS_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct program_memory {
	pid_t memory; /* proc_memory_id() */
	int mem; /* its /proc/PID/mem; -1: another user's process, which takes CAP_DAC_OVERRIDE */
	/* only without mem: its /proc/PID/maps, which is empty when the memory is gone; or -1 */
	int maps;
};

#define PROGRAM_MEMORY_NONE ((struct program_memory){.mem = -1, .maps = -1})

/* `memory`: proc_memory_id(). 0, or -errno, and *out is PROGRAM_MEMORY_NONE. */
int program_memory_open(pid_t memory, struct program_memory *out);
void program_memory_close(struct program_memory *program);

/*
 * Read or write all bytes: 0, -ESRCH (the process has ended, or executed another program) or
 * another -errno.
 */
int program_memory_read(const struct program_memory *program, uint64_t address, void *to,
			size_t size);
int program_memory_write(const struct program_memory *program, uint64_t address, const void *from,
			 size_t size);

#endif
