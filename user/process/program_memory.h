/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a process as long as it is the program that it is now: by its process id what is written would come
 * into the next one, which may have something of its own at the same address.
 */
#ifndef MEMLEAKBPF_PROCESS_PROGRAM_MEMORY_H
#define MEMLEAKBPF_PROCESS_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct program_memory {
	pid_t memory; /* proc_memory_id() */
	int mem;  /* its /proc/PID/mem; -1: of another user's process that takes CAP_DAC_OVERRIDE */
	int maps; /* then its /proc/PID/maps, which is empty when the memory is gone; or -1 */
};

#define PROGRAM_MEMORY_NONE ((struct program_memory){.mem = -1, .maps = -1})

/* `memory`: proc_memory_id(). 0, or -errno, and *out is PROGRAM_MEMORY_NONE. */
int program_memory_open(pid_t memory, struct program_memory *out);
void program_memory_close(struct program_memory *program);

/* All of it: 0, -ESRCH (it has ended, or executed another program) or another -errno. */
int program_memory_read(const struct program_memory *program, uint64_t address, void *to,
			size_t size);
int program_memory_write(const struct program_memory *program, uint64_t address, const void *from,
			 size_t size);

#endif
