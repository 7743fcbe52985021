/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One process's heap as a profile of its own: what Go's net/http/pprof gives of a Go program. */
#ifndef MEMLEAKBPF_EXPORT_PPROF_PROFILE_H
#define MEMLEAKBPF_EXPORT_PPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/report.h"

struct pprof_about {
	const char *default_type; /* "inuse_space" */
	const char *build_id;	  /* of the program, in hexadecimal, for a comment; NULL: unknown */
	bool difference; /* amounts are of what has changed in snapshot->elapsed_ns, as int64_t */
};

/*
 * As -f pprof has it, of one report, whose stacks all have their frames; *data is malloc'ed. 0,
 * -ENOMEM or -EIO.
 */
int pprof_profile(const struct report *report, const struct pprof_about *about, uint8_t **data,
		  size_t *len);

#endif
