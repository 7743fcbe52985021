/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The registers of threads as words of memory, in one form wherever they come from:
 * PTRACE_GETREGSET's, general ones first. Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_REGISTERS_H
#define MEMLEAKBPF_FREEZE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/freeze/stop.h"

/* x86_64: where in XSAVE's area each feature's part is (Intel's manual, volume 1, 13.4). */
struct registers_layout {
	struct {
		uint32_t size;	 /* bytes; 0: this processor has no such feature */
		uint32_t offset; /* in the standard form */
		bool aligned;	 /* to 64 bytes, in the compacted form */
		bool kernels;	 /* not the program's */
	} parts[64];
};

/*
 * Asks the processor, which takes a tenth of a millisecond in a virtual machine: call it before a
 * stop.
 */
void registers_layout(struct registers_layout *out);

/*
 * Reads the registers of a thread that the caller has stopped by ptrace. Fills in all but the tid.
 * 0 or -errno.
 */
int registers_read(struct stop_thread *t);

/*
 * Takes the registers of a thread that sleeps in a system call; the vector registers follow
 * `sleeper`. Registers not in use are 0. 0 or -ENOMEM.
 */
int registers_of_sleeper(struct stop_thread *t, const struct sleeper *sleeper,
			 const struct registers_layout *layout);

#endif
