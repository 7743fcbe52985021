/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two memleakbpf at one process. What one of them has put there it has locked (user/gate/owner.h); but between a look at
 * the functions and a jump, or a probe, that comes to them are milliseconds, in which the other one must put nothing
 * there: a probe within a jump would be the process's end. And only one can hold a thread of it. So they come and go one
 * after the other: whose turn it is has a lock on the process's /proc/PID/maps, which nobody can open who may not look at
 * its memory, and which the kernel ends with a tool that is killed. Tools with different mounts of /proc do not see each
 * other's.
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
 * Waits while it is another tool's, some seconds at most, for the process itself might hold the lock; once one has been
 * waited for in vain nobody is any more. The descriptor, to be closed, by which it ends; -1: it could not be had. Not to
 * be asked for while one has it.
 */
int turn_begin(struct patches *patches, const struct patched *patched);

/*
 * What another tool has there may be about to go: its probes do so some milliseconds after it. Or it has just come, and
 * the next try says so. Pauses, and true: try again what has failed with err; false: not with that, not with a process
 * that waits for us, or not any more after `until`, turn_patience() of before.
 */
uint64_t turn_patience(void);
bool turn_again(const struct patched *patched, int err, uint64_t until);

#endif
