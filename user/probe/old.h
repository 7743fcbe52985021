/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on kernels before 5.15, which hand no cookie to a program. Each cookie gets a copy of the
 * program with the cookie among its instructions (bpf/old.bpf.c), attached the way those kernels
 * know.
 */
#ifndef MEMLEAKBPF_PROBE_OLD_H
#define MEMLEAKBPF_PROBE_OLD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_program;

struct old_programs; /* the copies made so far */

struct old_programs *old_programs_new(void);	     /* NULL when out of memory */
void old_programs_free(struct old_programs *copies); /* NULL is fine; probes that use them stay */

/*
 * Puts the cookie's copy of `program` (loaded) on an instruction of the file; pid 0: in every
 * process. Returns a descriptor for unkillable_close(), which takes the probe off; or -errno, not
 * logged.
 */
int old_attach(struct old_programs *copies, const struct bpf_program *program, uint64_t cookie,
	       const char *path, uint64_t offset, uint64_t counter, pid_t pid);

/* The descriptor of copy `i`, from 0 on; it stays borrowed. Negative: there are no more. */
int old_programs_fd(const struct old_programs *copies, size_t i);

#endif
