/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Guard sampling of processes (docs/guard.md): gives each its guards (user/guard), and listens to them. */
#ifndef MEMLEAKBPF_PATCH_GUARDED_H
#define MEMLEAKBPF_PATCH_GUARDED_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/guard_abi.h"

struct guard_state;
struct object;
struct patched;
struct patches;

/*
 * Before a process gets its first gate, which goes on to them: gives it guards, if it can have them. One that has just
 * begun stands still from then on (patched_go_on()). Of one that has run before, nothing is guarded until guarded_look().
 */
void guarded_before_gate(struct patches *patches, struct patched *patched);

/*
 * To be called whenever a process in the kernel's table may have mapped libraries. Gives the
 * process guards if it can have them now. Turns its guards off when a library has come that would
 * take guarded blocks for its own.
 */
void guarded_look(struct patches *patches, struct patched *patched);

/* It is never to have any, for a reason that is static: a clause about the process. */
void guarded_refuse(struct patched *patched, const char *reason);

/* Has it guards? */
bool guarded_is(const struct patched *patched);
/* Do its guards stand before the functions of that object? Then these see blocks of theirs first. */
bool guarded_has(const struct patched *patched, const struct object *object);

/* A place of its has been touched: is marked, so that it is armed again for its next block. */
void guarded_note_touch(const struct patched *patched, const struct guard_touch_event *event);

/* What is known of the last block of a place; nothing, where the process has no such place. */
struct guard_block guarded_block(const struct patches *patches, const struct patched *patched,
				 uint32_t place);

/* Has the place had no other block since the one of this life? */
bool guarded_still(const struct patched *patched, uint32_t place, uint64_t life);

/* What is known of it. The reason lives as long as `patches`. */
void guarded_read(struct patches *patches, struct patched *patched, struct guard_state *state);

/* No more of them; `gone`: as for gated_free(). Nothing, where it has none; NULL is fine. */
void guarded_end(struct patches *patches, struct patched *patched, bool gone);

/* Reasons that snapshots show go with `patches`. */
void guarded_free_reasons(struct patches *patches);

/* Of one that has ended: nothing of it is left in the programs' maps. */
void guarded_release(const struct patches *patches, uint32_t id);

#endif
