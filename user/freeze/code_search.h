/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a process's instructions by which it is made to do system calls. */
#ifndef MEMLEAKBPF_FREEZE_CODE_SEARCH_H
#define MEMLEAKBPF_FREEZE_CODE_SEARCH_H

#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/calls.h"

/*
 * Searches the files that are mapped as code, which takes a millisecond and more: call it before
 * the process is stopped. 0 and *out, or -errno with the reason, a clause about "it", not logged.
 */
int code_search(pid_t pid, struct call_code *out, char reason[static REASON_MAX]);

#endif
