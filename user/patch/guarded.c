// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/guarded.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/guard/guard_stub.h"
#include "user/model/guard_state.h"
#include "user/patch/guard_faults.h"
#include "user/patch/guarded_functions.h"
#include "user/patch/patches_internal.h"
#include "user/patch/turn.h"
#include "user/probe/attach.h"

/* What bpf/guard.bpf.c takes for granted. */
#define SAME_OFFSET(field)                                             \
	_Static_assert(offsetof(struct guard_meta, field) ==           \
			       offsetof(struct guard_abi_meta, field), \
		       "ABI")
SAME_OFFSET(state);
SAME_OFFSET(offset);
SAME_OFFSET(size);
SAME_OFFSET(changed_at);
SAME_OFFSET(changed_to);
SAME_OFFSET(life);
_Static_assert(sizeof(struct guard_meta) == sizeof(struct guard_abi_meta), "ABI");
_Static_assert(GUARD_PLACE_BITS == GUARD_ABI_PLACE_BITS && GUARD_DATA == GUARD_ABI_DATA &&
		       GUARD_PAGE == GUARD_ABI_PAGE,
	       "ABI");
_Static_assert((int)GUARD_BUSY == GUARD_ABI_BUSY && (int)GUARD_LIVE == GUARD_ABI_LIVE &&
		       (int)GUARD_FREED == GUARD_ABI_FREED && (int)GUARD_GONE == GUARD_ABI_GONE,
	       "ABI");
_Static_assert((int)GUARD_ALLOCATED == GUARD_ABI_TELLS_BEGIN &&
		       (int)GUARD_ENDED == GUARD_ABI_TELLS_END &&
		       (int)GUARD_BAD == GUARD_ABI_TELLS_BAD,
	       "ABI");
_Static_assert(GUARD_SAID_SIZE == 8 * GUARD_ABI_SAID && GUARD_SAID_BITS == GUARD_ABI_SAID_BITS,
	       "ABI");
_Static_assert(GUARD_DOUBLE_FREE == GUARD_ABI_DOUBLE_FREE &&
		       GUARD_INVALID_FREE == GUARD_ABI_INVALID_FREE &&
		       GUARD_CHANGED == GUARD_ABI_CHANGED,
	       "ABI");

/* Of 256 blocks so many lie at their page's beginning, where what is before them is a guard. */
#define AT_LEFT 64

/*
 * The fault tells of a block at no cost, but the kernel passes over its program amid another system
 * call on a map. Where many blocks are guarded, a probe tells of each block.
 */
#define BY_FAULT_FROM 100

struct guarded {
	struct guard *guard;
	struct attachment *attachment;
	struct guard_faults *faults;
	const struct object *object; /* with the functions */
	struct guard_place place;
	uint32_t first; /* of its rows of kernel.blocks, one for each place */
	bool prepared;	/* all is there, and nothing is guarded yet */
	bool paused;
	struct guard_header counted; /* guard_read() */
	uint64_t live;
	struct guarded *next; /* of patches->guarded */
};

void guarded_refuse(struct patched *patched, const char *reason)
{
	patched->refused = true;
	snprintf(patched->reason, sizeof(patched->reason), "%s", reason);
}

/* ---- the kernel's side -------------------------------------------------------------------- */

static void guarded_set_right(struct patches *patches, const struct guard_place *place)
{
	uint64_t piece = place->pool >> GUARD_ABI_PIECE_BITS;
	struct guard_right *right = &patches->kernel.rights[piece % GUARD_ABI_RIGHTS];

	/* Another one's, which is as well: it only saves time. */
	if (right->size)
		return;
	right->pool = place->pool;
	right->code = place->code;
	right->code_size = GUARD_CODE_SIZE;
	right->given = place->given;
	__atomic_store_n(&right->size, guard_pool_size(place->count), __ATOMIC_SEQ_CST);
}

/* Where pools are, of all processes. Programs that read it amid that leave some fault alone. */
static void guarded_set_span(struct patches *patches)
{
	struct guard_span *span = patches->kernel.span;
	uint64_t first = UINT64_MAX, last = 0;
	const struct guarded *guarded;

	for (size_t i = 0; i < GUARD_ABI_RIGHTS; i++)
		__atomic_store_n(&patches->kernel.rights[i].size, 0, __ATOMIC_SEQ_CST);
	for (guarded = patches->guarded; guarded; guarded = guarded->next) {
		const struct guard_place *place = &guarded->place;

		if (!guarded->faults)
			continue;
		if (place->pool < first)
			first = place->pool;
		if (place->pool + guard_pool_size(place->count) > last)
			last = place->pool + guard_pool_size(place->count);
		guarded_set_right(patches, place);
	}
	__atomic_store_n(&span->size, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&span->start, first, __ATOMIC_SEQ_CST);
	__atomic_store_n(&span->size, last ? last - first : 0, __ATOMIC_SEQ_CST);
}

/* Rows of guard_blocks that no other process has. */
static int guarded_take_rows(const struct patches *patches, struct guarded *guarded,
			     char reason[static REASON_MAX])
{
	uint32_t first = 0, count = guarded->place.count;
	const struct guarded *other = patches->guarded;

	while (other) {
		if (other != guarded && other->place.count &&
		    first < other->first + other->place.count && other->first < first + count) {
			first = other->first + other->place.count;
			other = patches->guarded;
			continue;
		}
		other = other->next;
	}
	if (first + count > GUARD_ABI_BLOCKS)
		return refuse(reason, -ENOSPC, "too many processes have guards");
	guarded->first = first;
	memset(&patches->kernel.blocks[first], 0, count * sizeof(*patches->kernel.blocks));
	return 0;
}

static int guarded_enter(const struct patches *patches, const struct patched *patched,
			 const struct guarded *guarded, const struct guarded_functions *functions,
			 char reason[static REASON_MAX])
{
	struct guard_row row = {
		.pool = guarded->place.pool,
		.count = guarded->place.count,
		.code = guarded->place.code,
		.code_size = GUARD_CODE_SIZE,
		.given = guarded->place.given,
		.metas = guarded->place.code + GUARD_META,
		.first = guarded->first,
	};

	for (size_t i = 0; i < functions->count; i++) {
		uint64_t number = guard_stub_number(guarded->guard, i);

		if (number < GUARD_ABI_STUBS)
			row.pcs[number] = functions->pcs[i];
	}
	return bpf_map_update_elem(patches->kernel.guard_rows, &patched->process.id, &row, BPF_ANY)
		       ? refuse(reason, -errno, "too many processes have guards")
		       : 0;
}

static int guarded_attach(const struct patches *patches, struct guarded *guarded,
			  char reason[static REASON_MAX])
{
	const struct attach_programs *programs = patches->kernel.programs;
	const struct guard_site *sites;
	_cleanup_free_ struct told_probe *probes = NULL;
	size_t count;
	int err;

	sites = guard_sites(guarded->guard, &count);
	probes = calloc(count + 1, sizeof(*probes));
	if (!probes)
		return refuse(reason, -ENOMEM, "no memory");
	/* Ends first: see attach_told(). */
	for (size_t i = 0; i < count; i++) {
		const struct guard_site *site = &sites[count - 1 - i];

		probes[i] = (struct told_probe){.program = programs->guard_probed,
						.offset = site->offset,
						.cookie = site->event};
	}
	err = attach_told(patches->options.attach, programs, probes, count,
			  guard_path(guarded->guard), &guarded->attachment);
	return err ? refuse(reason, err, "no probes can be put into its memory: %s", strerror(-err))
		   : 0;
}

/* ---- a process's guards ------------------------------------------------------------------- */

/* With a gate the first block is guarded only when that is there and the process counts: books would lack it. */
static int guarded_begin(const struct patches *patches, const struct patched *patched,
			 struct guarded *guarded, char reason[static REASON_MAX])
{
	guarded->prepared = patches->options.gate && patched->process.runs;
	return guarded->prepared ? guard_prepare(guarded->guard, reason)
				 : guard_start(guarded->guard, reason);
}

/* An array of its own, which guard_probed writes and its stubs read. A descriptor, or -errno with the reason. */
static int guarded_make_said(const struct patches *patches, const struct patched *patched,
			     char reason[static REASON_MAX])
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int said = bpf_map_create(BPF_MAP_TYPE_ARRAY, "guard_said", sizeof(uint32_t),
				  sizeof(uint64_t), GUARD_ABI_SAID, &options);

	if (said < 0)
		return refuse(reason, said, "there is no memory for its guards: %s",
			      strerror(-said));
	if (!bpf_map_update_elem(patches->kernel.guard_saids, &patched->process.id, &said, BPF_ANY))
		return said;
	refuse(reason, -errno, "too many processes have guards");
	close(said);
	return -ENOSPC;
}

static int guarded_open(struct patches *patches, struct patched *patched, struct guarded *guarded,
			const struct guarded_functions *functions, char reason[static REASON_MAX])
{
	struct guard_request request = {
		.count = patches->options.guard.places,
		.period = patches->options.guard.period,
		.at_left = AT_LEFT,
		.by_fault = patches->options.guard.period >= BY_FAULT_FROM,
	};
	_cleanup_close_ int said = guarded_make_said(patches, patched, reason);
	int err;

	if (said < 0)
		return said;
	request.said = said;
	guarded_functions_request(functions, &request);
	request.in.pid = patched->process.pid;
	request.in.nop = &patches->nop;
	request.in.hold = patched->process.waits ? &patched->hold : NULL;
	err = guard_open(&request, &guarded->guard, reason);
	if (err)
		return err;
	guarded->place = guard_place(guarded->guard);
	guarded->object = functions->object;
	/* Who listens is there before anything can be heard. */
	err = guarded_take_rows(patches, guarded, reason);
	err = err ?: guarded_enter(patches, patched, guarded, functions, reason);
	err = err ?: guarded_attach(patches, guarded, reason);
	err = err
		      ?: guard_faults_open(patched->process.pid, patched->hold.holder != NULL,
					   patches->kernel.guard_fault, &guarded->faults, reason);
	if (err)
		return err;
	guarded_set_span(patches);
	return guarded_begin(patches, patched, guarded, reason);
}

static void guarded_unlink(struct patches *patches, const struct guarded *guarded)
{
	struct guarded **at = &patches->guarded;

	while (*at && *at != guarded)
		at = &(*at)->next;
	if (*at)
		*at = guarded->next;
}

static void guarded_free(struct patches *patches, const struct patched *patched,
			 struct guarded *guarded, bool gone)
{
	char reason[REASON_MAX] = "";
	int err = guard_close(guarded->guard, gone, reason);

	if (err == 1)
		log_debug("process %d (%s): has guarded blocks, whose guards stay",
			  patched->process.pid, patched->process.comm);
	else if (err && err != -ESRCH)
		log_warn("process %d (%s): the guards' jumps stay in it, and do nothing but cost a "
			 "few ns a call: %s",
			 patched->process.pid, patched->process.comm, reason);
	patches->kernel.detach(patches->kernel.ctx, guarded->attachment);
	guard_faults_free(guarded->faults);
	guarded_unlink(patches, guarded);
	free(guarded);
}

void guarded_end(struct patches *patches, struct patched *patched, bool gone)
{
	struct guarded *guarded = patched ? patched->guarded : NULL;
	TURN turn = guarded && !gone ? turn_begin(patches, patched) : -1;

	if (!guarded)
		return;
	patched->guarded = NULL;
	guarded_free(patches, patched, guarded, gone);
	guarded_set_span(patches);
}

static void guarded_tell_filters(const struct patched *patched)
{
	const struct guard_place *place = &patched->guarded->place;

	if (place->keep_pages)
		log_debug("process %d (%s): no use after free is seen: %s", patched->process.pid,
			  patched->process.comm, place->keep_reason);
	else if (place->filters)
		log_debug("process %d (%s): its seccomp filters (%d) let madvise pass",
			  patched->process.pid, patched->process.comm, place->filters);
}

static int guarded_new(struct patches *patches, struct patched *patched, bool with_new,
		       char reason[static REASON_MAX])
{
	struct guarded *guarded = calloc(1, sizeof(*guarded));
	struct guarded_functions functions = {0};
	int err = guarded ? 0 : refuse(reason, -ENOMEM, "no memory");

	err = err ?: guarded_functions_find(patched->process.image, with_new, &functions, reason);
	if (!err) {
		patched->guarded = guarded;
		guarded->next = patches->guarded;
		patches->guarded = guarded;
		err = guarded_open(patches, patched, guarded, &functions, reason);
	}
	if (!err)
		log_debug("process %d (%s): guards before %s; %s stood still for %.2f ms",
			  patched->process.pid, patched->process.comm, functions.allocator,
			  patched->hold.holder ? "it waited, and" : "a thread",
			  (double)guard_pause_ns(guarded->guard) / 1e6);
	if (!err)
		guarded_tell_filters(patched);
	guarded_functions_free(&functions);
	if (!err)
		return 0;
	patched->guarded = NULL;
	if (guarded)
		guarded_free(patches, patched, guarded, false);
	guarded_set_span(patches);
	return err;
}

/* Of one that has guards: a library has come, or gone. */
static void guarded_check(struct patched *patched)
{
	struct guarded *guarded = patched->guarded;
	char unused[REASON_MAX];

	if (guarded->paused)
		return;
	if (!guarded_functions_check(patched->process.image, guarded->object, patched->reason)) {
		guard_note_texts(guarded->guard);
		return;
	}
	guarded->paused = true;
	log_warn("process %d (%s): no more guards: %s", patched->process.pid, patched->process.comm,
		 patched->reason);
	if (guard_pause(guarded->guard, unused))
		log_debug("process %d: guards cannot be turned off: %s", patched->process.pid,
			  unused);
}

static void guarded_try(struct patches *patches, struct patched *patched)
{
	uint64_t until = patched->told ? 0 : turn_patience();
	int err;

	do {
		TURN turn = turn_begin(patches, patched);

		err = guarded_new(patches, patched, patches->options.gate, patched->reason);
		/* What a tool without a gate has left has none. */
		if (err == -EBUSY && patches->options.gate)
			err = guarded_new(patches, patched, false, patched->reason);
	} while (turn_again(patched, err, until));
	if (!err)
		patched->reason[0] = '\0';
	else if (err != -ESRCH && !patched->told)
		log_warn("process %d (%s) has no guards: %s", patched->process.pid,
			 patched->process.comm, patched->reason);
	patched->told |= err != 0;
}

void guarded_before_gate(struct patches *patches, struct patched *patched)
{
	/* Behind a gate of ours there are none. */
	if (!patches->options.guard.period || patched->refused || patched->guarded ||
	    patched->process.has_gate)
		return;
	/* It may have mapped more than there are records of: all that takes blocks is to be known. */
	if (!patched->process.runs)
		image_fill(patched->process.image);
	patched->looked = image_generation(patched->process.image);
	guarded_try(patches, patched);
}

static void guarded_turn_on(struct patches *patches, struct patched *patched)
{
	struct guarded *guarded = patched->guarded;
	int err;

	if (!guarded || !guarded->prepared)
		return;
	guarded->prepared = false;
	err = guard_start(guarded->guard, patched->reason);
	if (!err)
		return;
	if (err != -ESRCH)
		log_warn("process %d (%s) has no guards: %s", patched->process.pid,
			 patched->process.comm, patched->reason);
	guarded_end(patches, patched, false);
}

void guarded_look(struct patches *patches, struct patched *patched)
{
	uint64_t generation = image_generation(patched->process.image);

	if (!patches->options.guard.period || patched->refused)
		return;
	guarded_turn_on(patches, patched);
	if (patched->looked == generation)
		return;
	patched->looked = generation;
	if (patched->guarded)
		guarded_check(patched);
	else if (!patched->process.has_gate)
		guarded_try(patches, patched);
	gate_hold_end(&patched->hold);
}

bool guarded_is(const struct patched *patched)
{
	return patched->guarded;
}

bool guarded_has(const struct patched *patched, const struct object *object)
{
	return patched->guarded && patched->guarded->object == object;
}

void guarded_note_touch(const struct patched *patched, const struct guard_touch_event *event)
{
	int err;

	if (!patched->guarded)
		return;
	err = guard_note_touch(patched->guarded->guard, event->place, event->life);
	if (err && err != -ESRCH)
		log_debug("process %d: a guard that was touched stays as it is: %s",
			  patched->process.pid, strerror(-err));
}

struct guard_block guarded_block(const struct patches *patches, const struct patched *patched,
				 uint32_t place)
{
	const struct guarded *guarded = patched->guarded;
	struct guard_block block = {0};

	if (guarded && place < guarded->place.count)
		block = patches->kernel.blocks[guarded->first + place];
	return block;
}

bool guarded_still(const struct patched *patched, uint32_t place, uint64_t life)
{
	return patched->guarded && guard_still(patched->guarded->guard, place, life);
}

/* ---- how it stands ------------------------------------------------------------------------ */

struct guard_reason {
	struct guard_reason *next;
	char text[REASON_MAX];
};

/* What has come that guards do not go with: guard_watch(). */
static void guarded_watch(struct patched *patched)
{
	struct guarded *guarded = patched->guarded;
	int err;

	if (guarded->paused || patched->process.ended)
		return;
	err = guard_watch(guarded->guard, patched->reason);
	if (err > 0)
		guarded->place = guard_place(guarded->guard);
	if (err == GUARD_WATCH_KEEPS) {
		log_warn("process %d (%s) has a seccomp filter now: no more uses after free are "
			 "seen: %s",
			 patched->process.pid, patched->process.comm, guarded->place.keep_reason);
	} else if (err == GUARD_WATCH_DROPS) {
		log_info("process %d (%s): its seccomp filters let madvise pass: uses after free "
			 "are seen from now on",
			 patched->process.pid, patched->process.comm);
	} else if (err < 0 && err != -ESRCH) {
		guarded->paused = true;
		log_warn("process %d (%s): no more guards: %s", patched->process.pid,
			 patched->process.comm, patched->reason);
	}
}

/* There are few. NULL without memory. */
static const char *guarded_keep_reason(struct patches *patches, const char *text)
{
	struct guard_reason *reason;

	for (reason = patches->reasons; reason; reason = reason->next) {
		if (!strcmp(reason->text, text))
			return reason->text;
	}
	reason = calloc(1, sizeof(*reason));
	if (!reason)
		return NULL;
	snprintf(reason->text, sizeof(reason->text), "%s", text);
	reason->next = patches->reasons;
	patches->reasons = reason;
	return reason->text;
}

void guarded_free_reasons(struct patches *patches)
{
	while (patches->reasons) {
		struct guard_reason *next = patches->reasons->next;

		free(patches->reasons);
		patches->reasons = next;
	}
}

/* For how long a freed block stays guarded: the place that was freed first is used again first, and that was so long ago. */
static uint64_t guarded_oldest_free(const struct patches *patches, const struct patched *patched)
{
	const struct guard_block *blocks = &patches->kernel.blocks[patched->guarded->first];
	uint64_t now = monotonic_ns(), oldest = now;

	for (uint32_t i = 0; i < patched->guarded->place.count; i++) {
		uint64_t freed_ns = __atomic_load_n(&blocks[i].freed_ns, __ATOMIC_RELAXED);

		if (freed_ns && freed_ns < oldest)
			oldest = freed_ns;
	}
	return (now - oldest) / NS_PER_MS;
}

void guarded_read(struct patches *patches, struct patched *patched, struct guard_state *state)
{
	struct guarded *guarded = patched->guarded;
	struct guard_row row = {0};

	if (!patches->options.guard.period)
		return;
	*state = (struct guard_state){.asked = true, .period = patches->options.guard.period};
	if (guarded)
		guarded_watch(patched);
	if (patched->reason[0])
		state->reason = guarded_keep_reason(patches, patched->reason);
	if (!guarded)
		return;
	/* Of one that has ended what was known last, and what its probes have told. */
	if (!patched->process.ended)
		guard_read(guarded->guard, &guarded->counted, &guarded->live);
	if (!bpf_map_lookup_elem(patches->kernel.guard_rows, &patched->process.id, &row)) {
		state->lost = row.lost;
		state->amid = row.amid;
		state->unseen = row.unseen;
		/* Nor are those forgotten that it was read of before. */
		if (patched->process.ended) {
			if (row.guarded > guarded->counted.guarded)
				guarded->counted.guarded = row.guarded;
			if (row.freed > guarded->counted.freed)
				guarded->counted.freed = row.freed;
		}
	}
	state->on = !guarded->paused;
	state->places = guarded->place.count;
	state->in_use = guarded->live;
	state->guarded = guarded->counted.guarded;
	state->freed = guarded->counted.freed;
	state->full = guarded->counted.full;
	state->passed = guarded->counted.passed;
	state->unfit = guarded->counted.unfit;
	/* Of one that has ended its filters cannot be looked at any more. */
	state->no_use_after_free =
		guarded->place.keep_pages || row.filters > 1 + (uint64_t)guarded->place.filters;
	state->oldest_free_ms = guarded_oldest_free(patches, patched);
}

void guarded_release(const struct patches *patches, uint32_t id)
{
	if (!patches->options.guard.period)
		return;
	bpf_map_delete_elem(patches->kernel.guard_rows, &id);
	bpf_map_delete_elem(patches->kernel.guard_saids, &id);
}
