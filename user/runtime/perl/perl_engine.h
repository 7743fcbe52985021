/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is an object Perl's interpreter, and how does that keep its contexts? */
#ifndef MEMLEAKBPF_RUNTIME_PERL_ENGINE_H
#define MEMLEAKBPF_RUNTIME_PERL_ENGINE_H

#include <stdint.h>

#include "bpf/runtime/perl_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"

struct perl_runtime {
	char version[16]; /* "5.36.0"; "": unknown */
	struct perl_row row;
	uint64_t exec, exec_end; /* the function that runs Perl's: offsets in the file */
};

/*
 * Not logged.
 *
 * - 0 and *out, whose addresses are those of linking
 * - -ENOENT: it is not Perl
 * - -ENOTSUP, with the reason: the frames of this Perl are not known; *out has its version
 * - -EIO
 */
int perl_find(struct object *object, struct perl_runtime *out, char reason[static REASON_MAX]);

#endif
