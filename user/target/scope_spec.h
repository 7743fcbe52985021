/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What --scope names: a function, and what of its arguments tells its calls apart. */
#ifndef MEMLEAKBPF_TARGET_SCOPE_SPEC_H
#define MEMLEAKBPF_TARGET_SCOPE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/scope_abi.h"

struct scope_spec {
	const char *text; /* as given; borrowed */
	/* FUNC of [OBJECT:]FUNC[#TAG], or FILE of FILE:LINE[#TAG]; owned */
	char *function;
	char *object;  /* path or file name of the object that has it; NULL: any. Owned */
	uint32_t line; /* 0: it is a function's name */
	struct scope_tag_spec tag;
};

/*
 * Parses "[OBJECT:]FUNC[#TAG]" or "FILE:LINE[#TAG]". 0; -EINVAL (not logged) or -ENOMEM, then there
 * is nothing to release. TAG is one of
 *
 * - tid
 * - argN[:TYPE], N from 1 to 6
 * - "+OFFS(argN)[:TYPE]", the kernel's notation for what an argument leads to, nested up to
 *   SCOPE_STEPS times
 *
 * TYPE is int, hex, str, or the kernel's s8 to s64, u8 to u64, x8 to x64.
 */
int scope_spec_parse(const char *text, struct scope_spec *out);
void scope_spec_release(struct scope_spec *spec);

#endif
