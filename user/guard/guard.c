// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/gate/gate_hold.h"
#include "user/gate/write.h"
#include "user/guard/guard_filters.h"
#include "user/guard/guard_find.h"
#include "user/guard/guard_left.h"
#include "user/guard/guard_pages.h"
#include "user/guard/guard_texts.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

struct guard {
	struct guard_pages pages;
	struct guard_part *parts;
	size_t count;
	uint64_t period;
	struct guard_site sites[GUARD_PROBES];
	char path[32];
	bool started;
	uint64_t locked_kib;	    /* of the process's memory, when the guards came */
	struct guard_header before; /* an earlier tool's counts */
	struct guard_filters filters;
	const char *keeps;   /* guard_request.keeps, or pages.unsaid */
	int filters_allowed; /* how many filters there were when pages were last dropped */
	uint64_t says;	     /* guard_pool.filters; 0: probes say nothing */
	char unseen
		/* why a call that may have given it a filter forbids dropping; or "" */
		[REASON_MAX];
};

/* ---- what forbids it ---------------------------------------------------------------------- */

/*
 * If the kernel gives no more memory than there is, the first write to a page may fail. Then a
 * process would be ended for a block that it frees.
 */
int guard_check_memory(char reason[static REASON_MAX])
{
	FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
	int how = 0;

	if (f) {
		if (fscanf(f, "%d", &how) != 1)
			how = 0;
		fclose(f);
	}
	return how == 2 ? refuse(reason, -EOPNOTSUPP, "vm.overcommit_memory is 2 here") : 0;
}

/* Locked memory, in KiB. */
static uint64_t guard_locked_kib(pid_t pid)
{
	uint64_t kib;
	char *text;

	if (proc_status_field(pid, "VmLck", &text))
		return 0;
	kib = strtoull(text, NULL, 10);
	free(text);
	return kib;
}

/* ---- opening ------------------------------------------------------------------------------ */

_Static_assert(GUARD_BAD + 1 == GUARD_PROBES, "a probe for each event");

static void guard_list_sites(struct guard *guard)
{
	const struct guard_told told = guard_told();

	for (enum guard_event event = 0; event < GUARD_PROBES; event++)
		guard->sites[event] =
			(struct guard_site){.offset = told.probes[event], .event = event};
}

static void guard_free(struct guard *guard)
{
	guard_pages_close(&guard->pages);
	program_memory_close(&guard->pages.program);
	free(guard->parts);
	free(guard);
}

static uint64_t guard_address(const struct guard *guard, uint64_t part, size_t offset)
{
	return guard->pages.address + part + offset;
}

#define HEADER_FIELD(guard, field) \
	guard_address(guard, GUARD_HEADER, offsetof(struct guard_header, field))
#define POOL_FIELD(guard, field) \
	guard_address(guard, GUARD_POOL, offsetof(struct guard_pool, field))

/* Clears slots in which threads wait for a distance of another period, or for ever. */
static int guard_clear_slots(struct guard *guard, char reason[static REASON_MAX])
{
	static const uint8_t zero[4096];
	uint8_t page[sizeof(zero)];
	int err = 0;

	for (uint64_t at = 0; !err && at < sizeof(struct guard_slot) << GUARD_SLOT_BITS;
	     at += sizeof(page)) {
		uint64_t address = guard_address(guard, GUARD_SLOTS, at);

		err = guard_pages_read(&guard->pages, address, page, sizeof(page), reason);
		/* Slots that nobody has touched need no page. */
		if (!err && memcmp(page, zero, sizeof(page)) != 0)
			err = guard_pages_write(&guard->pages, address, zero, sizeof(zero), reason);
	}
	return err;
}

/* Threads may run there: writes only what they only read. */
static int guard_take_over(struct guard *guard, const struct guard_request *request,
			   char reason[static REASON_MAX])
{
	uint64_t at_left = request->at_left, by_fault = request->by_fault;
	uint32_t keep_pages = guard->pages.keep_pages;
	const uint64_t off = 0;
	int err;

	/* Another tool may have had probes that say something. guard_allow() says what is to be said from now on. */
	err = guard_pages_write(&guard->pages, POOL_FIELD(guard, filters), &guard->says,
				sizeof(guard->says), reason);
	err = err
		      ?: guard_pages_write(&guard->pages, HEADER_FIELD(guard, period), &off,
					   sizeof(off), reason);
	err = err
		      ?: guard_pages_read(&guard->pages, HEADER_FIELD(guard, period),
					  &guard->before, sizeof(guard->before), reason);
	err = err
		      ?: guard_pages_write(&guard->pages, HEADER_FIELD(guard, at_left), &at_left,
					   sizeof(at_left), reason);
	err = err
		      ?: guard_pages_write(&guard->pages, HEADER_FIELD(guard, by_fault), &by_fault,
					   sizeof(by_fault), reason);
	err = err
		      ?: guard_pages_write(&guard->pages, POOL_FIELD(guard, keep_pages),
					   &keep_pages, sizeof(keep_pages), reason);
	return err || request->said < 0 ? err
					: guard_pages_take_over(request, &guard->pages, reason);
}

int guard_note_texts(const struct guard *guard)
{
	struct guard_text texts[GUARD_TEXTS];
	char unused[REASON_MAX];
	struct maps *maps;

	if (maps_read(guard->pages.memory, &maps))
		return -ESRCH;
	guard_texts_find(maps, texts);
	maps_free(maps);
	return guard_pages_write(&guard->pages, POOL_FIELD(guard, texts), texts, sizeof(texts),
				 unused);
}

/* Keeps pages, or no more: the stub looks at each block. */
static int guard_keep_pages(struct guard *guard, bool keeps, char reason[static REASON_MAX])
{
	uint32_t keep = keeps;
	int err = guard_pages_write(&guard->pages, POOL_FIELD(guard, keep_pages), &keep,
				    sizeof(keep), reason);

	if (!err)
		guard->pages.keep_pages = keeps;
	return err;
}

/* They follow each other in struct guard_pool. */
_Static_assert(offsetof(struct guard_pool, left) == offsetof(struct guard_pool, leaves) + 8 &&
		       offsetof(struct guard_pool, allowed) ==
			       offsetof(struct guard_pool, left) + 8,
	       "as struct guard_leaves");
struct guard_leaves {
	uint64_t begun, ended, allowed;
};

/*
 * Calls that may give the process a filter have been made since the last look. Have we seen their
 * results? A call that goes on is not over. A call without a visible result has failed, or has
 * given a filter to another process in the same memory, as a vfork child.
 */
static bool guard_has_seen(struct guard *guard, const struct guard_leaves *leaves)
{
	_cleanup_free_ pid_t *sharers = NULL;
	const char *why = NULL;
	size_t count = 0;

	if (leaves->ended != leaves->begun)
		why = "it is making a seccomp filter, or has been ended amid it";
	else if (guard->filters.count <= guard->filters_allowed)
		why = "it has asked for a seccomp filter, of which nothing is seen";
	else if (proc_sharers(guard->pages.pid, &sharers, &count) || count)
		why = "another process, which may have other seccomp filters, runs in its memory";
	snprintf(guard->unseen, sizeof(guard->unseen), "%s", why ?: "");
	return !why;
}

/* Allows only the calls that had ended before the look: another one may be under way. */
static int guard_allow(struct guard *guard, const struct guard_leaves *leaves,
		       char reason[static REASON_MAX])
{
	int err;

	guard->filters_allowed = guard->filters.count;
	if (guard->says)
		guard->says = 1 + (uint64_t)guard->filters.count;
	err = guard_pages_write(&guard->pages, POOL_FIELD(guard, filters), &guard->says,
				sizeof(guard->says), reason);
	return err
		       ?: guard_pages_write(&guard->pages, POOL_FIELD(guard, allowed),
					    &leaves->begun, sizeof(leaves->begun), reason);
}

/* 0; or -errno with the reason: all is as it was, or pages are kept. */
static int guard_look_at_filters(struct guard *guard, char reason[static REASON_MAX])
{
	struct guard_leaves leaves;
	bool drops;
	int err = guard_pages_read(&guard->pages, POOL_FIELD(guard, leaves), &leaves,
				   sizeof(leaves), reason);

	if (err)
		return err;
	guard->unseen[0] = '\0';
	guard_filters_look(&guard->pages, &guard->filters);
	drops = guard->filters.pass && !guard->keeps;
	if (drops && leaves.begun != leaves.allowed)
		drops = guard_has_seen(guard, &leaves);
	if (drops)
		err = guard_allow(guard, &leaves, reason);
	return !err && drops == guard->pages.keep_pages ? guard_keep_pages(guard, !drops, reason)
							: err;
}

static const char *guard_keep_reason(const struct guard *guard)
{
	if (!guard->pages.keep_pages)
		return NULL;
	if (guard->unseen[0])
		return guard->unseen;
	return guard->keeps ?: guard->filters.reason;
}

int guard_open(const struct guard_request *request, struct guard **out,
	       char reason[static REASON_MAX])
{
	pid_t pid = request->in.pid;
	struct guard *guard;
	int err;

	if (!guard_count_fits(request->count))
		return refuse(reason, -EINVAL, "no pool can have %u places", request->count);
	err = guard_check_memory(reason);
	if (err)
		return err;
	guard = calloc(1, sizeof(*guard));
	if (!guard)
		return refuse(reason, -ENOMEM, "no memory");
	guard->pages = (struct guard_pages){
		.pid = pid,
		.memory = proc_memory_id(pid),
		/*
		 * Until the filters have been looked at: the pages' addresses are a part of the
		 * call.
		 */
		.keep_pages = guard_filters_count(pid) != 0,
		.file = -1,
	};
	guard->pages.hold = gate_has_threads(pid) ? NULL : request->in.hold;
	guard->locked_kib = guard_locked_kib(pid);
	guard->count = request->in.count;
	guard->period = request->period;
	guard->keeps = request->keeps;
	guard->says = request->said >= 0;
	err = program_memory_open(guard->pages.memory, &guard->pages.program);
	err = err ? refuse(reason, err, "its memory cannot be opened: %s", strerror(-err))
		  : guard_parts_new(request, &guard->parts, reason);
	guard_list_sites(guard);
	err = err ?: guard_find(request, guard->parts, &guard->pages, reason);
	if (err == 0)
		err = guard_pages_make(request, guard->parts, &guard->pages, reason);
	else if (err > 0)
		err = guard_take_over(guard, request, reason);
	if (!err && guard->pages.unsaid[0] && !guard->keeps)
		guard->keeps = guard->pages.unsaid;
	err = err < 0 ? err : guard_look_at_filters(guard, reason);
	if (!err && guard_note_texts(guard))
		err = refuse(reason, -ESRCH, "it has ended");
	if (err) {
		guard_free(guard);
		return err;
	}
	snprintf(guard->path, sizeof(guard->path), "/proc/self/fd/%d", guard->pages.file);
	*out = guard;
	return 0;
}

const struct guard_site *guard_sites(const struct guard *guard, size_t *count)
{
	*count = GUARD_PROBES;
	return guard->sites;
}

uint64_t guard_stub_number(const struct guard *guard, size_t function)
{
	size_t count;

	return (uint64_t)(guard->parts[function].stub - guard_stubs(&count));
}

static uint64_t guard_meta_address(const struct guard *guard, uint32_t place)
{
	return guard_address(guard, GUARD_META, (uint64_t)place * GUARD_META_SIZE);
}

/* 0, -ESTALE or another -errno. */
static int guard_check_life(const struct guard *guard, uint32_t place, uint64_t life)
{
	char unused[REASON_MAX];
	uint64_t now;
	int err;

	if (place >= guard->pages.count)
		return -EINVAL;
	err = guard_pages_read(&guard->pages,
			       guard_meta_address(guard, place) + offsetof(struct guard_meta, life),
			       &now, sizeof(now), unused);
	if (err)
		return err;
	return now == life ? 0 : -ESTALE;
}

int guard_note_touch(const struct guard *guard, uint32_t place, uint64_t life)
{
	const uint8_t touched = 1;
	char unused[REASON_MAX];
	int err;

	if (place >= guard->pages.count)
		return -EINVAL;
	/* Otherwise the pages would stay for ever: a touch of them makes no fault. */
	err = guard_pages_write(&guard->pages,
				guard_meta_address(guard, place) +
					offsetof(struct guard_meta, touched),
				&touched, sizeof(touched), unused);
	return err ?: guard_check_life(guard, place, life);
}

bool guard_still(const struct guard *guard, uint32_t place, uint64_t life)
{
	return !guard_check_life(guard, place, life);
}

const char *guard_path(const struct guard *guard)
{
	return guard->path;
}

struct guard_place guard_place(const struct guard *guard)
{
	return (struct guard_place){
		.code = guard->pages.address,
		.given = guard->pages.address + guard_told().given,
		.pool = guard->pages.pool,
		.count = guard->pages.count,
		.taken_over = guard->pages.taken_over,
		.keep_pages = guard->pages.keep_pages,
		.filters = guard->filters.count,
		.keep_reason = guard_keep_reason(guard),
	};
}

uint64_t guard_pause_ns(const struct guard *guard)
{
	return guard->pages.pause_ns;
}

int guard_read(const struct guard *guard, struct guard_header *header, uint64_t *live)
{
	const struct guard_header *before = &guard->before;
	char unused[REASON_MAX];
	int err = guard_pages_read(&guard->pages, HEADER_FIELD(guard, period), header,
				   sizeof(*header), unused);

	err = err
		      ?: guard_pages_read(&guard->pages, POOL_FIELD(guard, live), live,
					  sizeof(*live), unused);
	if (err)
		return err;
	header->guarded -= before->guarded;
	header->freed -= before->freed;
	header->full -= before->full;
	header->passed -= before->passed;
	header->unfit -= before->unfit;
	header->resized -= before->resized;
	header->double_freed -= before->double_freed;
	header->invalid_freed -= before->invalid_freed;
	header->changed -= before->changed;
	return 0;
}

/* ---- the jumps ---------------------------------------------------------------------------- */

/*
 * Writes all jumps or none, while every thread stands still. They come only into a process that has
 * what they lead to. It may have become another program since, with the same functions at the same
 * addresses. They go only if there is no block, and none is about to be given. The stub's
 * guard_alloc() counts it before it looks whether it may.
 */
static int guard_write_jumps(struct guard *guard, bool there, char reason[static REASON_MAX])
{
	_cleanup_free_ struct stop_piece *pieces = calloc(guard->count + 1, sizeof(*pieces));
	const uint64_t alive = 1;
	size_t n = 0;

	if (!pieces)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < guard->count; i++) {
		const struct gate_part *place = &guard->parts[i].place;
		struct stop_piece *piece;

		if (guard->parts[i].covered)
			continue;
		piece = &pieces[n++];
		*piece = (struct stop_piece){.address = place->jump_at, .length = DISPLACE_JUMP};
		/* A thread may stand on the jump's first byte. */
		if (there) {
			piece->from = place->jump_at + 1;
			piece->to = place->jump_at + place->function.plan.length;
		}
		if (displace_jump(place->jump_at,
				  guard_jump_target(guard->pages.address, guard->parts[i].stub),
				  there ? piece->bytes : piece->expected))
			return refuse(reason, -ERANGE, "its pages are too far away");
		memcpy(there ? piece->expected : piece->bytes,
		       there ? place->before : place->original, DISPLACE_JUMP);
	}
	pieces[n] = (struct stop_piece){.address = there ? HEADER_FIELD(guard, alive)
							 : POOL_FIELD(guard, live),
					.length = sizeof(uint64_t)};
	if (there) {
		memcpy(pieces[n].bytes, &alive, sizeof(alive));
		memcpy(pieces[n].expected, &alive, sizeof(alive));
	}
	n++;
	return gate_write_held(guard->pages.hold, guard->pages.pid, pieces, n,
			       &guard->pages.pause_ns, reason);
}

int guard_prepare(struct guard *guard, char reason[static REASON_MAX])
{
	struct gate_hold *hold = guard->pages.hold;
	int err = guard_write_jumps(guard, true, reason);

	/* With these errors the jumps may be there; guard_close() takes them back with the rest. */
	guard->started = !err || err == -ECANCELED || err == -ENOTRECOVERABLE;
	if (!guard->started || !hold)
		return err;
	if (!err && hold->holder)
		guard->pages.pause_ns = monotonic_ns() - hold->since_ns;
	else if (err)
		gate_hold_end(hold);
	guard->pages.hold = NULL;
	return err;
}

int guard_start(struct guard *guard, char reason[static REASON_MAX])
{
	int err = guard->started ? 0 : guard_prepare(guard, reason);

	if (!err && guard->pages.taken_over && guard_left_mark(&guard->pages))
		err = refuse(reason, -ESRCH, "what has been touched in its pool cannot be seen");
	/* All functions that take a block have their jumps: only now may there be one. */
	err = err
		      ?: guard_pages_write(&guard->pages, HEADER_FIELD(guard, period),
					   &guard->period, sizeof(guard->period), reason);
	/* After that: a thread that comes to its slot earlier would wait for ever. */
	return err ?: guard_clear_slots(guard, reason);
}

int guard_pause(struct guard *guard, char reason[static REASON_MAX])
{
	const uint64_t off = 0;

	return guard_pages_write(&guard->pages, HEADER_FIELD(guard, period), &off, sizeof(off),
				 reason);
}

/* Was the pool locked? Then every page exists, and none can be dropped. */
static bool guard_is_locked(const struct guard *guard)
{
	uint64_t now = guard_locked_kib(guard->pages.pid);

	return now > guard->locked_kib &&
	       now - guard->locked_kib >= guard_pool_size(guard->pages.count) / 1024;
}

int guard_watch(struct guard *guard, char reason[static REASON_MAX])
{
	bool kept = guard->pages.keep_pages;
	int err = 0;

	if (guard_is_locked(guard)) {
		err = guard_pause(guard, reason);
		return err ?: refuse(reason, -EOPNOTSUPP, "it has locked all of its memory");
	}
	/* At once, since the look takes a while. */
	if (!kept && guard_filters_count(guard->pages.pid) != guard->filters.count)
		err = guard_keep_pages(guard, true, reason);
	err = err ?: guard_look_at_filters(guard, reason);
	/* On an error nothing changes: the process may have ended. */
	if (!err)
		guard_left_mark(&guard->pages);
	if (err || kept == guard->pages.keep_pages)
		return err;
	return kept ? GUARD_WATCH_DROPS : GUARD_WATCH_KEEPS;
}

static int guard_stop(struct guard *guard, char reason[static REASON_MAX])
{
	uint64_t live;
	int err = guard_pause(guard, reason);

	err = err
		      ?: guard_pages_read(&guard->pages, POOL_FIELD(guard, live), &live,
					  sizeof(live), reason);
	if (err || live)
		return err ?: 1;
	/* Their way is by the gate, which gives the bytes back when it goes. */
	if (guard_find_covered(&guard->pages, guard->parts, guard->count))
		return 1;
	err = guard_write_jumps(guard, false, reason);
	/* A block has come meanwhile; or somebody has changed the functions. */
	if (err == -ESTALE &&
	    !guard_pages_read(&guard->pages, POOL_FIELD(guard, live), &live, sizeof(live),
			      reason) &&
	    (live || guard_find_covered(&guard->pages, guard->parts, guard->count)))
		return 1;
	return err;
}

int guard_close(struct guard *guard, bool gone, char reason[static REASON_MAX])
{
	int err = 0;

	if (!guard)
		return 0;
	if (!gone && (guard->started || guard->pages.taken_over))
		err = guard_stop(guard, reason);
	else if (!gone)
		guard_pages_remove(&guard->pages);
	guard_free(guard);
	return err;
}
