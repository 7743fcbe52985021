/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The misuses of blocks that the programs have noted in the kernel: wrong frees (--check-frees) and
 * what guarded blocks have shown (--guard). Each finder has a table of its own there.
 */
#ifndef MEMLEAKBPF_MISUSE_MISUSES_H
#define MEMLEAKBPF_MISUSE_MISUSES_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/guard_abi.h"
#include "user/model/misuse.h"

struct bpf_map;
struct misuses;
struct patched;
struct patches;
struct slots;
struct stack_table;

/* Of the BPF object, which is loaded; borrowed. NULL: that finder does not look. */
struct misuses_maps {
	const struct bpf_map *tables[MISUSE_FINDERS];
};

/* Slots, stacks and patches are borrowed. 0 and *out, or -ENOMEM. */
int misuses_new(const struct misuses_maps *maps, const struct slots *slots,
		struct stack_table *stacks, const struct patches *patches, struct misuses **out);
void misuses_free(struct misuses *misuses); /* NULL is fine */

/*
 * Adds what the finder has found in the target to an empty list, sorted; items are to be freed. 0
 * or -ENOMEM.
 */
int misuses_read(const struct misuses *misuses, enum misuse_finder finder, uint32_t target_id,
		 struct misuse_list *list);

/* Calls fn for each misuse that guards have found, in the target or (0) in any one. */
void misuses_count_guarded(const struct misuses *misuses, uint32_t target_id,
			   void (*fn)(void *ctx, uint32_t target_id, enum misuse_kind kind,
				      uint64_t count),
			   void *ctx);

/*
 * A guarded place of the process has been touched. Finds out at once whether it was read or written
 * to, for later nobody can see that.
 */
void misuses_touched(struct misuses *misuses, pid_t pid, struct patched *patched,
		     const struct guard_touch_event *event);

/* Forgets the misuses of the targets that slots_target_swept() tells. */
void misuses_release_swept(struct misuses *misuses);

#endif
