/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Predicts a seccomp filter's answer to a system call that is known in part: each part of the call
 * has a range. Somebody else has written the filter, and it may be anything. Makes no system calls
 * and no recursion; the filter's length bounds time and memory.
 */
#ifndef MEMLEAKBPF_FREEZE_SECCOMP_FILTER_H
#define MEMLEAKBPF_FREEZE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/freeze/calls.h"

/* From `from` to `to`, both included. */
struct filter_span {
	uint64_t from, to;
};

/* One of this machine's 64-bit calls. */
struct filter_call {
	uint32_t number;
	struct filter_span instruction; /* the address behind the call's instruction */
	struct filter_span arguments[CALL_ARGUMENTS];
};

/*
 * Does the filter let each such call pass (SECCOMP_RET_ALLOW, or SECCOMP_RET_LOG)? Unknown, also
 * for lack of memory, is no.
 */
bool seccomp_filter_allows(const struct sock_filter *code, size_t count,
			   const struct filter_call *call);

#endif
