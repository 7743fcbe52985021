/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A copy of one target's live blocks. */
#ifndef MEMLEAKBPF_BLOCKS_LIVE_TABLE_H
#define MEMLEAKBPF_BLOCKS_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct live_entry {
	uint64_t address;
	struct live_value value;
};

struct live_table {
	struct live_entry *entries;
	size_t count, room;
	struct live_key *keys; /* of a batch */
	struct live_value *values;
};

/* Takes memory for that many blocks, touched already. 0 or -ENOMEM. */
int live_table_reserve(struct live_table *table, uint64_t blocks);
void live_table_release(struct live_table *table);

/* One more. 0 or -ENOMEM. */
int live_table_add(struct live_table *table, const struct live_entry *entry);

/*
 * The blocks that the target has freed since a moment, and those that it has taken out to be resized.
 * All members but the moment are zero at first. They are in no order. The same block may be there
 * twice: its realloc was given up, and then it was freed.
 */
struct live_notes {
	uint32_t ticks; /* the moment, in the kernel's ticks, which wrap around */
	struct live_entry *entries;
	size_t count, room;
	bool failed; /* out of memory: live_table_turn_back() says so */
};

/* What was allocated after the moment is left out. */
void live_notes_add(struct live_notes *notes, const struct live_entry *entry);
void live_notes_release(struct live_notes *notes);

/*
 * Turns a table that was read later back to the notes' moment. Blocks that have come since leave it,
 * and blocks that have gone since come back. The caller has noted the blocks of the moment that were
 * being resized (user/capture/capture_copy.c). 0 or -ENOMEM.
 */
int live_table_turn_back(struct live_table *table, struct live_notes *notes);

/* Copies the target's entries of the map. 0 or -errno, not logged. */
int live_table_read(struct live_table *table, int map_fd, uint32_t target_id);

#endif
