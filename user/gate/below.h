/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gate stands on: a function's own code, or the jump of guards (user/guard), which were there
 * first. Then the gate's room goes on to them, and what comes back when the gate goes is their jump: a
 * guarded block that came to the allocator would be the process's end.
 */
#ifndef MEMLEAKBPF_GATE_BELOW_H
#define MEMLEAKBPF_GATE_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/gate/displace.h"
#include "user/process/maps.h"

/* The name of the memfd that the guards' code is mapped from, and as /proc/PID/maps shows it. */
#define GATE_GUARD_NAME "memleakbpf-guard"
#define GATE_GUARD_PATH "/memfd:" GATE_GUARD_NAME

/* Is that in the code of guards? */
bool gate_is_guard(const struct maps *maps, uint64_t address);

/* Has the process any? */
bool gate_has_guards(const struct maps *maps);

/*
 * What a gate's jump to `to` in its mapping stands on, of a function whose first instruction has `kept`
 * bytes: where the jump went that it took the place of, or 0 where that was the function's own code.
 * `file` shows the gate's code. 0; or -EBUSY with the reason: another version's, which may be before
 * guards; -ESRCH.
 */
int gate_below(pid_t pid, const struct maps *maps, const struct mapping *gate, int file,
	       uint64_t to, uint32_t kept, uint64_t *below, char reason[static REASON_MAX]);

#endif
