// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/leftover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/owner.h"
#include "user/gate/write.h"
#include "user/process/proc.h"

#define BREAKPOINT 0xcc
#define JUMP	   0xe9

static bool leftover_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* A gate that was set up has its table of logarithms there; in a forked child all is zero. */
static bool leftover_is_inherited(pid_t pid, uint64_t address)
{
	struct gate_header header;

	return leftover_read(pid, address + GATE_HEADER, &header, sizeof(header)) &&
	       !header.log2[GATE_LOG2_ENTRIES - 1];
}

/*
 * After a probe, kernels from 7.2 on give back the nop's first bytes and not all of it. Only the
 * first one tells whether a probe is there now.
 */
static void leftover_even_sites(const uint8_t *file, uint8_t *memory)
{
	const struct gate_stub *stubs;
	size_t count;

	stubs = gate_stubs(&count);
	for (size_t i = 0; i < count; i++) {
		const uint32_t sites[] = {stubs[i].allocated, stubs[i].freed, stubs[i].kept};

		for (size_t j = 0; j < ARRAY_SIZE(sites); j++) {
			if (sites[j])
				memcpy(memory + sites[j] + 1, file + sites[j] + 1, GATE_PROBE - 1);
		}
	}
}

enum gate_state gate_state_of(pid_t pid, const struct mapping *mapping, int *file)
{
	uint8_t *code;
	bool same;

	*file = -1;
	if (strcmp(mapping->path, GATE_PATH) != 0 || !mapping->exec || mapping->shared ||
	    mapping->offset || mapping->end - mapping->start != GATE_CODE_SIZE)
		return GATE_IS_NONE;
	*file = owner_open(pid, mapping->start, GATE_CODE_SIZE);
	if (leftover_is_inherited(pid, mapping->start))
		return GATE_IS_INHERITED;
	/* The owner may have no probes in it yet. */
	if (*file < 0 || owner_is_other(*file))
		return GATE_IS_OWNED;
	code = malloc(2 * GATE_CODE_SIZE);
	/* Probes change the memory, not the file. */
	same = code && pread(*file, code, GATE_CODE_SIZE, 0) == (ssize_t)GATE_CODE_SIZE &&
	       leftover_read(pid, mapping->start, code + GATE_CODE_SIZE, GATE_CODE_SIZE);
	if (same) {
		leftover_even_sites(code, code + GATE_CODE_SIZE);
		same = !memcmp(code, code + GATE_CODE_SIZE, GATE_CODE_SIZE);
	}
	free(code);
	return same ? GATE_IS_FREE : GATE_IS_OWNED;
}

int gate_look_at_jump(pid_t pid, const struct maps *maps, uint64_t to, uint32_t kept,
		      enum gate_state *state, uint64_t *below, char reason[static REASON_MAX])
{
	const struct mapping *mapping = maps_find(maps, to);
	int file = -1, err = 0;

	*below = 0;
	*state = mapping ? gate_state_of(pid, mapping, &file) : GATE_IS_NONE;
	if (*state != GATE_IS_NONE)
		err = gate_below(pid, maps, mapping, file, to, kept, below, reason);
	if (file >= 0)
		close(file);
	return err;
}

/* Does the jump go to a gate's pages that nobody uses? */
static int leftover_check_jump(pid_t pid, const struct maps *maps, uint64_t to, uint32_t kept,
			       uint64_t *below, char reason[static REASON_MAX])
{
	enum gate_state state;
	int err = gate_look_at_jump(pid, maps, to, kept, &state, below, reason);

	if (err)
		return err;
	switch (state) {
	case GATE_IS_FREE:
	case GATE_IS_INHERITED:
		return 0;
	case GATE_IS_OWNED:
		return refuse(reason, -EBUSY, "another memleakbpf has its gate in it");
	default:
		return refuse(reason, -EBUSY, "somebody has put a jump there");
	}
}

int gate_read_before(pid_t pid, const struct gate_wanted *function, struct gate_part *part,
		     uint64_t *to, char reason[static REASON_MAX])
{
	const uint8_t *file = part->function.request.code;
	const size_t kept = part->function.plan.kept, size = kept + part->function.plan.length;
	uint8_t memory[DISPLACE_CODE_MAX];
	uint64_t entry = part->function.request.address;
	bool begins, ends;

	if (size > sizeof(memory) || !leftover_read(pid, entry, memory, size))
		return refuse(reason, -ESRCH, "its memory cannot be read");
	/* A breakpoint on the first byte may come and go: so the instruction stays. */
	begins = (memory[0] == file[0] || memory[0] == BREAKPOINT) &&
		 !memcmp(memory + 1, file + 1, kept - 1);
	ends = !memcmp(memory + kept + DISPLACE_JUMP, file + kept + DISPLACE_JUMP,
		       part->function.plan.length - DISPLACE_JUMP);
	memcpy(part->before, memory + kept, DISPLACE_JUMP);
	if (begins && ends && !memcmp(part->before, part->original, DISPLACE_JUMP))
		return 0;
	if (!begins || !ends || part->before[0] != JUMP)
		return refuse(reason, -EBUSY,
			      "%s is not as in its file: a debugger, or another tracer",
			      function->name);
	*to = displace_jump_target(part->before, part->jump_at);
	return 1;
}

static int leftover_look(pid_t pid, const struct maps *maps, const struct gate_wanted *function,
			 struct gate_part *part, char reason[static REASON_MAX])
{
	uint64_t to = 0, below = 0;
	int there = gate_read_before(pid, function, part, &to, reason);

	if (there <= 0)
		return there;
	if (gate_is_guard(maps, to)) {
		below = to;
	} else {
		int err = leftover_check_jump(pid, maps, to, part->function.plan.kept, &below,
					      reason);

		if (err)
			return err;
	}
	part->function.onward = below;
	return below && displace_jump(part->jump_at, below, part->original)
		       ? refuse(reason, -ERANGE, "its guards are too far away")
		       : 0;
}

int gate_find_leftovers(pid_t pid, const struct gate_wanted *functions, struct gate_part *parts,
			size_t count, char reason[static REASON_MAX])
{
	struct maps *maps = NULL;
	int err = 0;

	if (maps_read(pid, &maps))
		return refuse(reason, -ESRCH, "it has ended");
	for (size_t i = 0; i < count && !err; i++)
		err = leftover_look(pid, maps, &functions[i], &parts[i], reason);
	maps_free(maps);
	return err;
}

int gate_clear_leftovers(pid_t pid, struct gate_part *parts, size_t count, uint64_t *pause_ns,
			 char reason[static REASON_MAX])
{
	_cleanup_free_ struct stop_piece *pieces = calloc(count + 1, sizeof(*pieces));
	size_t n = 0;

	if (!pieces)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		if (!memcmp(parts[i].before, parts[i].original, DISPLACE_JUMP))
			continue;
		pieces[n] =
			(struct stop_piece){.address = parts[i].jump_at, .length = DISPLACE_JUMP};
		memcpy(pieces[n].expected, parts[i].before, DISPLACE_JUMP);
		memcpy(pieces[n].bytes, parts[i].original, DISPLACE_JUMP);
		memcpy(parts[i].before, parts[i].original, DISPLACE_JUMP);
		n++;
	}
	return n ? gate_write_all(pid, pieces, n, pause_ns, reason) : 0;
}

/* ---- for probes --------------------------------------------------------------------------- */

/* The first place where memory and file differ, without breakpoints on the first byte. */
static size_t leftover_first_change(const struct gate_entry *entry, const uint8_t *memory)
{
	size_t at = memory[0] == BREAKPOINT;

	while (at < entry->size && memory[at] == entry->file[at])
		at++;
	return at;
}

/* The beginning of the jump around the first change: its first byte may be the file's own. */
static size_t leftover_jump_before(const uint8_t *memory, size_t at)
{
	for (size_t back = 0; back < DISPLACE_JUMP && back < at; back++) {
		if (memory[at - back] == JUMP)
			return at - back;
	}
	return at;
}

static int leftover_check_guard(const struct gate_entry *entry, char reason[static REASON_MAX])
{
	return entry->at_first ? 0
			       : refuse(reason, -EEXIST,
					"it has guards (memleakbpf --guard), whose blocks probes "
					"behind a function's first byte would not see; use --gate, "
					"which goes with them");
}

/*
 * 1: a jump that nobody uses, which *piece takes away; 0: no gate's jump; or -errno with the
 * reason.
 */
static int leftover_find_jump(pid_t pid, const struct maps *maps, const struct gate_entry *entry,
			      struct stop_piece *piece, char reason[static REASON_MAX])
{
	uint8_t memory[GATE_ENTRY_MAX];
	const struct mapping *mapping;
	uint64_t to, below;
	size_t at;
	int err;

	if (!leftover_read(pid, entry->address, memory, entry->size))
		return refuse(reason, -ESRCH, "its memory cannot be read");
	at = leftover_first_change(entry, memory);
	if (at < entry->size)
		at = leftover_jump_before(memory, at);
	if (at + DISPLACE_JUMP > entry->size || (memory[at] != JUMP && memory[at] != BREAKPOINT))
		return 0;
	*piece = (struct stop_piece){.address = entry->address + at, .length = DISPLACE_JUMP};
	to = displace_jump_target(memory + at, piece->address);
	mapping = maps_find(maps, to);
	if (gate_is_guard(maps, to))
		return leftover_check_guard(entry, reason);
	if (!mapping || strcmp(mapping->path, GATE_PATH) != 0)
		return 0;
	memcpy(piece->expected, memory + at, DISPLACE_JUMP);
	memcpy(piece->bytes, entry->file + at, DISPLACE_JUMP);
	err = leftover_check_jump(pid, maps, to, (uint32_t)at, &below, reason);
	if (!err && below) {
		err = leftover_check_guard(entry, reason);
		if (!err && displace_jump(piece->address, below, piece->bytes))
			err = refuse(reason, -ERANGE, "its guards are too far away");
	}
	return err ?: 1;
}

int gate_make_way(pid_t pid, const struct gate_entry *entries, size_t count,
		  char reason[static REASON_MAX])
{
	_cleanup_free_ struct stop_piece *pieces = calloc(count + 1, sizeof(*pieces));
	pid_t memory = proc_memory_id(pid);
	struct maps *maps = NULL;
	uint64_t pause_ns = 0;
	size_t n = 0;
	int err = 0;

	if (!pieces)
		return refuse(reason, -ENOMEM, "no memory");
	if (maps_read(memory, &maps))
		return refuse(reason, -ESRCH, "it has ended");
	for (size_t i = 0; i < count && err >= 0; i++) {
		err = leftover_find_jump(memory, maps, &entries[i], &pieces[n], reason);
		n += err > 0;
	}
	maps_free(maps);
	if (err < 0)
		return err;
	return n ? gate_write_all(pid, pieces, n, &pause_ns, reason) : 0;
}
