// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/gate/gate_pages.h"
#include "user/gate/leftover.h"
#include "user/gate/parts.h"
#include "user/gate/write.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

/* Of one function. */
#define SITES_MAX 3

struct gate {
	struct gate_pages pages;
	struct gate_part *parts;
	size_t count;
	bool exact;
	uint64_t on; /* turns the stubs on: gate_header.mean_ln2 */
	struct gate_site *sites;
	size_t site_count;
	char path[32];
	bool started;
	uint64_t dropped;
	uint64_t held_ns;
	uint64_t pause_ns;
};

static void gate_add_site(struct gate *gate, size_t function, uint32_t offset,
			  enum gate_event event)
{
	if (offset)
		gate->sites[gate->site_count++] =
			(struct gate_site){.offset = offset, .event = event, .function = function};
}

static int gate_list_sites(struct gate *gate)
{
	gate->sites = calloc(gate->count * SITES_MAX + 1, sizeof(*gate->sites));
	if (!gate->sites)
		return -ENOMEM;
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_stub *stub = gate->parts[i].stub;

		gate_add_site(gate, i, stub->allocated, GATE_ALLOCATED);
		gate_add_site(gate, i, stub->freed, stub->kept ? GATE_RESIZED : GATE_FREED);
		gate_add_site(gate, i, stub->kept, GATE_KEPT);
	}
	return 0;
}

static void gate_free(struct gate *gate)
{
	if (!gate)
		return;
	gate_pages_close(&gate->pages);
	program_memory_close(&gate->pages.program);
	free(gate->parts);
	free(gate->sites);
	free(gate);
}

int gate_open(const struct gate_request *request, struct gate **out, char reason[static REASON_MAX])
{
	struct gate *gate = calloc(1, sizeof(*gate));
	int err;

	if (!gate)
		return refuse(reason, -ENOMEM, "no memory");
	gate->pages = (struct gate_pages){
		.pid = request->pid, .memory = proc_memory_id(request->pid), .file = -1};
	err = program_memory_open(gate->pages.memory, &gate->pages.program);
	gate->count = request->count;
	gate->exact = !request->mean;
	err = err ? refuse(reason, err, "its memory cannot be opened: %s", strerror(-err))
		  : gate_parts_new(request, &gate->parts, reason);
	err = err
		      ?: gate_find_leftovers(gate->pages.memory, request->functions, gate->parts,
					     gate->count, reason);
	gate->pages.hold = gate_has_threads(request->pid) ? NULL : request->hold;
	/* While threads run, nothing must go through the stubs when their data is made new. */
	if (!err && !gate->pages.hold)
		err = gate_clear_leftovers(request->pid, gate->parts, gate->count, &gate->pause_ns,
					   reason);
	err = err ?: gate_pages_open(request, gate->parts, &gate->pages, &gate->on, reason);
	if (!err && gate_list_sites(gate)) {
		err = refuse(reason, -ENOMEM, "no memory");
		gate_pages_remove(&gate->pages);
	}
	if (err) {
		gate_free(gate);
		return err;
	}
	snprintf(gate->path, sizeof(gate->path), "/proc/self/fd/%d", gate->pages.file);
	*out = gate;
	return 0;
}

const struct gate_site *gate_sites(const struct gate *gate, size_t *count)
{
	*count = gate->site_count;
	return gate->sites;
}

const char *gate_path(const struct gate *gate)
{
	return gate->path;
}

uint64_t gate_pause_ns(const struct gate *gate)
{
	return gate->pause_ns > gate->pages.pause_ns ? gate->pause_ns : gate->pages.pause_ns;
}

/*
 * Writes the switch of the stubs, and the jumps: all or nothing, while every thread stands still.
 */
static int gate_write_jumps(struct gate *gate, bool there, char reason[static REASON_MAX])
{
	_cleanup_free_ struct stop_piece *pieces = calloc(gate->count + 1, sizeof(*pieces));
	const uint64_t off = 0;

	if (!pieces)
		return refuse(reason, -ENOMEM, "no memory");
	pieces[0] = (struct stop_piece){.address = gate_pages_switch(&gate->pages),
					.length = sizeof(gate->on)};
	memcpy(there ? pieces[0].bytes : pieces[0].expected, &gate->on, sizeof(gate->on));
	memcpy(there ? pieces[0].expected : pieces[0].bytes, &off, sizeof(off));
	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_part *part = &gate->parts[i];
		struct stop_piece *piece = &pieces[i + 1];

		*piece = (struct stop_piece){.address = part->jump_at, .length = DISPLACE_JUMP};
		/* A thread may stand on the jump's first byte. */
		if (there) {
			piece->from = part->jump_at + 1;
			piece->to = part->jump_at + part->function.plan.length;
		}
		if (displace_jump(part->jump_at,
				  gate_jump_target(gate->pages.address, part->stub, gate->exact),
				  there ? piece->bytes : piece->expected))
			return refuse(reason, -ERANGE, "its pages are too far away");
		memcpy(there ? piece->expected : piece->bytes,
		       there ? part->before : part->original, DISPLACE_JUMP);
	}
	return gate_write_held(gate->pages.hold, gate->pages.pid, pieces, gate->count + 1,
			       &gate->pause_ns, reason);
}

int gate_start(struct gate *gate, char reason[static REASON_MAX])
{
	struct gate_hold *hold = gate->pages.hold;
	int err;

	if (!gate_pages_are_ours(&gate->pages))
		return refuse(reason, -EBUSY, "another memleakbpf has its gate in it");
	err = gate_write_jumps(gate, true, reason);

	gate->started = !err;
	if (!err) {
		gate->held_ns = hold ? hold->since_ns : 0;
		if (gate->held_ns)
			gate->pause_ns = monotonic_ns() - gate->held_ns;
		gate->pages.hold = NULL;
	}
	/*
	 * Jumps may stand there all the same. Their pages must stay, and the next gate finds both.
	 */
	if (err == -ECANCELED || err == -ENOTRECOVERABLE)
		gate->pages.fresh = false;
	return err;
}

uint64_t gate_held_ns(const struct gate *gate)
{
	return gate->held_ns;
}

int gate_set_level(const struct gate *gate, unsigned level)
{
	return gate_pages_write_level(&gate->pages, level);
}

uint64_t gate_dropped(struct gate *gate)
{
	if (gate->started)
		gate_pages_read_dropped(&gate->pages, &gate->dropped);
	return gate->dropped;
}

int gate_close(struct gate *gate, bool gone, char reason[static REASON_MAX])
{
	int err = 0;

	if (!gate)
		return 0;
	if (gate->started && !gone)
		err = gate_write_jumps(gate, false, reason);
	else if (!gone)
		gate_pages_remove(&gate->pages);
	gate_free(gate);
	return err;
}
