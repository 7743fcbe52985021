/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's memory as it is now. Pages that are not there are not read: nobody may keep us waiting for them. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_MEMORY_H
#define MEMLEAKBPF_RUNTIME_TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory {
	pid_t pid;
	int pagemap;
	uint64_t page; /* that was there when it was last looked at; 1: none */
};

int target_memory_open(struct target_memory *memory, pid_t pid); /* 0 or -errno */
void target_memory_close(struct target_memory *memory);

/* All of it, or false. */
bool target_memory_read(struct target_memory *memory, uint64_t address, void *to, size_t size);
/* The same, whether the pages are there or not. */
bool target_memory_read_any(const struct target_memory *memory, uint64_t address, void *to,
			    size_t size);

#endif
