/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gate stands on: a function's own code, or the jump of guards (user/guard) that were there
 * first. The gate's room then goes on to the guards. When the gate goes, their jump comes back: a
 * guarded block that came to the allocator would end the process.
 */
#ifndef MEMLEAKBPF_GATE_BELOW_H
#define MEMLEAKBPF_GATE_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/gate/displace.h"
#include "user/process/maps.h"

/* The name of the memfd with the guards' code, and its path in /proc/PID/maps. */
#define GATE_GUARD_NAME "memleakbpf-guard"
#define GATE_GUARD_PATH "/memfd:" GATE_GUARD_NAME

/* Is the address in the code of guards? */
bool gate_is_guard(const struct maps *maps, uint64_t address);

/* Has the process any guards? */
bool gate_has_guards(const struct maps *maps);

/*
 * Finds what a gate's jump to `to` in its mapping stands on. The function's first instruction has
 * `kept` bytes. *below: where the replaced jump went, or 0 for the function's own code. `file`
 * shows the gate's code. 0; -ESRCH; or -EBUSY with the reason: a gate of another version, which may
 * stand on guards.
 */
int gate_below(pid_t pid, const struct maps *maps, const struct mapping *gate, int file,
	       uint64_t to, uint32_t kept, uint64_t *below, char reason[static REASON_MAX]);

#endif
