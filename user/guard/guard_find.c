// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/leftover.h"
#include "user/gate/owner.h"

struct find_search {
	const struct guard_request *request;
	const struct guard_part *parts;
	struct guard_pages *pages;
	uint8_t *code; /* GUARD_CODE_SIZE, and as much for code that is read */
	char *reason;
};

/* Only the first byte tells whether a probe is there now: leftover_even_sites() of the gate. */
static void find_even_sites(const uint8_t *file, uint8_t *memory)
{
	const struct guard_told told = guard_told();

	for (size_t i = 0; i < GUARD_PROBES; i++) {
		uint32_t at = told.probes[i] + 1;

		memcpy(memory + at, file + at, GATE_PROBE - 1);
	}
}

/* Has the file exactly the code that these guards are to have? */
static bool find_has_file(const struct guard_pages *pages, const uint8_t *wanted, uint8_t *there)
{
	return pread(pages->file, there, GUARD_CODE_SIZE, 0) == (ssize_t)GUARD_CODE_SIZE &&
	       !memcmp(there, wanted, GUARD_CODE_SIZE);
}

/* Is the code in memory without probes? */
static bool find_has_code(const struct guard_pages *pages, const uint8_t *wanted, uint8_t *there)
{
	char unused[REASON_MAX];

	if (guard_pages_read(pages, pages->address, there, GUARD_CODE_SIZE, unused))
		return false;
	find_even_sites(wanted, there);
	return !memcmp(there, wanted, GUARD_CODE_SIZE);
}

static bool find_maps_file(const struct maps *maps, uint64_t address, uint64_t size, bool shared)
{
	const struct mapping *mapping = maps_find(maps, address);

	return mapping && !strcmp(mapping->path, GUARD_POOL_PATH) && mapping->start == address &&
	       mapping->end == address + size && mapping->shared == shared && mapping->read &&
	       mapping->write && !mapping->offset;
}

/* The guards' books say where the pool is: we believe only what the mappings confirm. */
static bool find_has_pool(struct guard_pages *pages, const struct maps *maps)
{
	char unused[REASON_MAX];
	struct guard_header header = {0};
	struct guard_pool pool = {0};

	if (guard_pages_read(pages, pages->address + GUARD_HEADER, &header, sizeof(header),
			     unused) ||
	    guard_pages_read(pages, pages->address + GUARD_POOL, &pool, sizeof(pool), unused) ||
	    header.alive != 1 || !guard_count_fits(pool.count))
		return false;
	pages->pool = pool.base;
	pages->save = pool.save;
	pages->count = pool.count;
	return find_maps_file(maps, pool.base, guard_pool_size(pool.count), false) &&
	       find_maps_file(maps, pool.save, guard_pool_size(pool.count), true);
}

static int find_refuse_owned(int file, char reason[static REASON_MAX])
{
	char name[OWNER_NAME_MAX];

	return refuse(reason, -EBUSY, "%s has its guards in it, and is to end first",
		      owner_name(file, name) ?: "another memleakbpf");
}

/*
 * Takes over code that fits, if it is still there and nobody else's. Its former owner may have
 * unmapped it since we saw it.
 */
static int find_take(struct find_search *m, const struct maps *maps)
{
	struct guard_pages *pages = m->pages;

	if (owner_take(pages->file))
		return find_refuse_owned(pages->file, m->reason);
	return owner_is_mapped(pages->memory, pages->address, GUARD_CODE_SIZE, pages->file) &&
	       find_has_pool(pages, maps) &&
	       find_has_code(pages, m->code, m->code + GUARD_CODE_SIZE);
}

/* 1: it is ours now; 0: it is of no use; or -errno with the reason: another tool has it. */
static int find_fit(struct find_search *m, const struct maps *maps, const struct mapping *mapping)
{
	struct guard_pages *pages = m->pages;
	int fits = 0;

	if (strcmp(mapping->path, GUARD_CODE_PATH) != 0 || !mapping->exec || mapping->shared ||
	    mapping->offset || mapping->end - mapping->start != GUARD_CODE_SIZE)
		return 0;
	pages->address = mapping->start;
	pages->file = owner_open(pages->memory, mapping->start, GUARD_CODE_SIZE);
	if (pages->file >= 0 && find_has_pool(pages, maps) &&
	    !guard_parts_fill(m->request, m->parts, pages->address, pages->pool, pages->count,
			      m->code) &&
	    find_has_file(pages, m->code, m->code + GUARD_CODE_SIZE))
		fits = find_take(m, maps);
	if (fits <= 0)
		guard_pages_close(pages);
	return fits;
}

/*
 * Whose guards does a jump lead to, if not to these? Those of a forked child belong to nobody in
 * it, and stay.
 */
static int find_refuse_guard(const struct guard_pages *pages, const struct maps *maps, uint64_t to,
			     const char *function, char reason[static REASON_MAX])
{
	const struct mapping *mapping = maps_find(maps, to);
	struct guard_header header = {0};
	int file, err = 0;

	if (guard_pages_read(pages, mapping->start + GUARD_HEADER, &header, sizeof(header),
			     reason) ||
	    !header.alive)
		return refuse(reason, -EOPNOTSUPP,
			      "there is a jump at %s: the guards of the process that it was forked "
			      "from",
			      function);
	file = owner_open(pages->memory, mapping->start, mapping->end - mapping->start);
	if (file >= 0 && owner_is_other(file))
		err = find_refuse_owned(file, reason);
	if (file >= 0)
		close(file);
	return err
		       ?: refuse(reason, -EBUSY, "there is a jump at %s: another tool's guards",
				 function);
}

/* Checks a jump at a function. `own`: the target of these guards' jump, 0: there are none yet. */
static int find_check_jump(const struct gate_wanted *function, struct guard_part *part,
			   const struct guard_pages *pages, const struct maps *maps, uint64_t own,
			   char reason[static REASON_MAX])
{
	uint64_t to = 0, below = 0;
	enum gate_state state = GATE_IS_NONE;
	int there = gate_read_before(pages->memory, function, &part->place, &to, reason), err = 0;

	part->covered = false;
	if (there <= 0 || (own && to == own))
		return there < 0 ? there : 0;
	if (!gate_is_guard(maps, to))
		err = gate_look_at_jump(pages->memory, maps, to, part->place.function.plan.kept,
					&state, &below, reason);
	if (err)
		return err;
	part->covered = state == GATE_IS_OWNED;
	if (gate_is_guard(maps, to) || (below && below != own))
		return find_refuse_guard(pages, maps, below ?: to, function->name, reason);
	if (state == GATE_IS_NONE)
		return refuse(reason, -EBUSY, "there is a jump at %s", function->name);
	/* The gate's books would lack blocks that are guarded behind its back. */
	if (part->covered && !below)
		return refuse(reason, -EBUSY, "a memleakbpf has its gate in it");
	return 0;
}

/*
 * Jumps that are there must all lead to the guards that were found, be it by a gate. Or they lead
 * to a gate that nobody uses any more, whose jump is overwritten. Others are somebody else's.
 */
static int find_check_jumps(const struct guard_request *request, struct guard_part *parts,
			    const struct guard_pages *pages, const struct maps *maps, bool found,
			    char reason[static REASON_MAX])
{
	int err = 0;

	for (size_t i = 0; i < request->in.count && !err; i++) {
		uint64_t own = found ? guard_jump_target(pages->address, parts[i].stub) : 0;

		err = find_check_jump(&request->in.functions[i], &parts[i], pages, maps, own,
				      reason);
	}
	return err;
}

bool guard_find_covered(const struct guard_pages *pages, const struct guard_part *parts,
			size_t count)
{
	struct maps *maps = NULL;
	bool covered = false;

	if (maps_read(pages->memory, &maps))
		return false;
	for (size_t i = 0; i < count && !covered; i++) {
		uint64_t own = guard_jump_target(pages->address, parts[i].stub), below;
		const struct gate_part *place = &parts[i].place;
		uint8_t jump[DISPLACE_JUMP];
		char unused[REASON_MAX];
		enum gate_state state;

		covered = !guard_pages_read(pages, place->jump_at, jump, sizeof(jump), unused) &&
			  jump[0] == 0xe9 &&
			  !gate_look_at_jump(pages->memory, maps,
					     displace_jump_target(jump, place->jump_at),
					     place->function.plan.kept, &state, &below, unused) &&
			  below == own;
	}
	maps_free(maps);
	return covered;
}

int guard_find(const struct guard_request *request, struct guard_part *parts,
	       struct guard_pages *pages, char reason[static REASON_MAX])
{
	_cleanup_free_ uint8_t *code = malloc(2 * GUARD_CODE_SIZE);
	struct find_search m = {
		.request = request, .parts = parts, .pages = pages, .code = code, .reason = reason};
	struct maps *maps = NULL;
	int found = 0, err = 0;

	if (!code)
		return refuse(reason, -ENOMEM, "no memory");
	if (maps_read(pages->memory, &maps))
		return refuse(reason, -ESRCH, "it has ended");
	for (size_t i = 0; i < maps_count(maps) && !found; i++) {
		found = find_fit(&m, maps, maps_at(maps, i));
		if (found <= 0)
			continue;
		err = find_check_jumps(request, parts, pages, maps, true, reason);
		/* The jumps lead to other guards, which may be the next ones. */
		if (err) {
			guard_pages_close(pages);
			found = 0;
		}
	}
	if (!found && !err)
		err = find_check_jumps(request, parts, pages, maps, false, reason);
	maps_free(maps);
	pages->taken_over = found > 0;
	return found ?: err;
}
