/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two tools at one process take turns. What a tool has put into the process is locked
 * (user/gate/owner.h). But some milliseconds pass between its look at a function and the jump or
 * probe that it puts there. Meanwhile another tool must put nothing there: a probe inside a jump
 * ends the process. Also only one tool can hold a thread of the process.
 *
 * The tool whose turn it is has a lock on the process's /proc/PID/maps. Only who may look at the
 * process's memory can open that file. The kernel takes the lock from a tool that is killed. Tools
 * with different mounts of /proc do not see each other's locks.
 */
#ifndef MEMLEAKBPF_PATCH_TURN_H
#define MEMLEAKBPF_PATCH_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/util.h"

struct patched;
struct patches;

/* A variable whose scope is the turn. Nobody reads it, of which clang would warn. */
#define TURN _cleanup_close_ __attribute__((__unused__)) int

/*
 * Waits while it is another tool's turn, for some seconds at most, since the process itself might
 * hold the lock. After one wait in vain no other process is waited for. Returns the descriptor to
 * close at the end of the turn, or -1 without one. Not to be called during one's own turn.
 */
int turn_begin(struct patches *patches, const struct patched *patched);

/*
 * Another tool's code in the process may be about to go: its probes go some milliseconds after it.
 * Or that code has just come, and the next try says so. Pauses and returns true when what has
 * failed with err is worth another try. Returns false
 *
 * - for any other error
 * - for a process that waits for us
 * - after `until`, an earlier turn_patience()
 */
uint64_t turn_patience(void);
bool turn_again(const struct patched *patched, int err, uint64_t until);

#endif
