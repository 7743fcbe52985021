/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a seccomp filter says of a system call of which not all is known: for each part of the call there is a range.
 * The filter is what somebody else has written, and may be anything. No system calls, no recursion, time and memory
 * bounded by its length.
 */
#ifndef MEMLEAKBPF_FREEZE_SECCOMP_FILTER_H
#define MEMLEAKBPF_FREEZE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/freeze/calls.h"

/* From the one to the other, both included. */
struct filter_span {
	uint64_t from, to;
};

/* Of this machine's 64-bit calls. */
struct filter_call {
	uint32_t number;
	struct filter_span instruction; /* the one behind the call */
	struct filter_span arguments[CALL_ARGUMENTS];
};

/*
 * Does it let each such call pass (SECCOMP_RET_ALLOW, or SECCOMP_RET_LOG)? What is not known, as without memory, is no.
 */
bool seccomp_filter_allows(const struct sock_filter *code, size_t count,
			   const struct filter_call *call);

#endif
