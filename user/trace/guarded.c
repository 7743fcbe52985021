// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/guarded.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/guard/guard_stub.h"
#include "user/kernel/feature_machine.h"
#include "user/patch/guard_faults.h"
#include "user/patch/guarded_functions.h"
#include "user/trace/skeleton.h"
#include "user/trace/slots.h"
#include "user/trace/turn.h"

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
_Static_assert(GUARD_DOUBLE_FREE == GUARD_ABI_DOUBLE_FREE &&
		       GUARD_INVALID_FREE == GUARD_ABI_INVALID_FREE &&
		       GUARD_CHANGED == GUARD_ABI_CHANGED,
	       "ABI");

/* Of 256 blocks so many lie at their page's beginning, where what is before them is a guard. */
#define AT_LEFT 64

/*
 * The fault tells of a block for nothing, but is passed over where its processor is amid another one's system call on a
 * map: where many blocks are guarded each is told by a probe.
 */
#define BY_FAULT_FROM 100

/* Listening to page faults of others, with maps that take memory as they fill, is of 6.1. */
#define GUARD_KERNEL 6, 1

struct guarded {
	struct guard *guard;
	struct attachment *attachment;
	struct guard_faults *faults;
	const struct object *object; /* with the functions */
	struct guard_place place;
	uint32_t first; /* of its rows of trace->guard_blocks, one for each place */
	bool prepared;	/* all is there, and nothing is guarded yet */
	bool paused;
	struct guard_header counted; /* guard_read() */
	uint64_t live;
};

int guarded_prepare(struct trace *trace)
{
	struct machine machine;
	int err;

	if (!trace->options.guard.period)
		return 0;
	machine_read(&machine);
	if (trace->options.old || !machine_kernel_at_least(&machine, GUARD_KERNEL)) {
		log_error("--guard cannot be had here: Linux 6.1 can, and this is %s",
			  machine.release);
		return -EOPNOTSUPP;
	}
	err = gate_nop_choose(&trace->gate_nop);
	if (err)
		log_error("--guard cannot be had here: no probes in memory of a process (%s: %s)",
			  trace->gate_nop.step, strerror(-err));
	return err;
}

void guarded_refuse(struct target *target, const char *reason)
{
	target->guard_refused = true;
	snprintf(target->guard_reason, sizeof(target->guard_reason), "%s", reason);
}

/* ---- the kernel's side -------------------------------------------------------------------- */

static int guarded_row_fd(const struct trace *trace)
{
	return bpf_map__fd(trace->skel->maps.guard_rows);
}

static void guarded_set_right(struct trace *trace, const struct guard_place *place)
{
	uint64_t piece = place->pool >> GUARD_ABI_PIECE_BITS;
	struct guard_right *right = &trace->skel->bss->guard_rights[piece % GUARD_ABI_RIGHTS];

	/* Another one's, which is as well: it only saves time. */
	if (right->size)
		return;
	right->pool = place->pool;
	right->code = place->code;
	right->code_size = GUARD_CODE_SIZE;
	right->given = place->given;
	__atomic_store_n(&right->size, guard_pool_size(place->count), __ATOMIC_SEQ_CST);
}

/* Where pools are, of all targets. Programs that read it amid that leave some fault alone. */
static void guarded_set_span(struct trace *trace)
{
	struct guard_span *span = &trace->skel->bss->guard_span;
	uint64_t first = UINT64_MAX, last = 0;
	const struct target *target;

	for (size_t i = 0; i < GUARD_ABI_RIGHTS; i++)
		__atomic_store_n(&trace->skel->bss->guard_rights[i].size, 0, __ATOMIC_SEQ_CST);
	for (target = trace->targets; target; target = target->hh.next) {
		const struct guard_place *place;

		if (!target->guarded || !target->guarded->faults)
			continue;
		place = &target->guarded->place;
		if (place->pool < first)
			first = place->pool;
		if (place->pool + guard_pool_size(place->count) > last)
			last = place->pool + guard_pool_size(place->count);
		guarded_set_right(trace, place);
	}
	__atomic_store_n(&span->size, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&span->start, first, __ATOMIC_SEQ_CST);
	__atomic_store_n(&span->size, last ? last - first : 0, __ATOMIC_SEQ_CST);
}

/* Rows of guard_blocks that no other target has. */
static int guarded_take_rows(const struct trace *trace, struct guarded *guarded,
			     char reason[static REASON_MAX])
{
	uint32_t first = 0, count = guarded->place.count;
	const struct target *target = trace->targets;

	while (target) {
		const struct guarded *other = target->guarded;

		if (other && other != guarded && other->place.count &&
		    first < other->first + other->place.count && other->first < first + count) {
			first = other->first + other->place.count;
			target = trace->targets;
			continue;
		}
		target = target->hh.next;
	}
	if (first + count > GUARD_ABI_BLOCKS)
		return refuse(reason, -ENOSPC, "too many processes have guards");
	guarded->first = first;
	memset(&trace->guard_blocks[first], 0, count * sizeof(*trace->guard_blocks));
	return 0;
}

static int guarded_enter(const struct trace *trace, const struct target *target,
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
	return bpf_map_update_elem(guarded_row_fd(trace), &target->id, &row, BPF_ANY)
		       ? refuse(reason, -errno, "too many processes have guards")
		       : 0;
}

static int guarded_attach(const struct trace *trace, struct guarded *guarded,
			  char reason[static REASON_MAX])
{
	const struct attach_programs *programs = &trace->programs;
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
	err = attach_told(trace->options.attach, programs, probes, count,
			  guard_path(guarded->guard), &guarded->attachment);
	return err ? refuse(reason, err, "no probes can be put into its memory: %s", strerror(-err))
		   : 0;
}

/* ---- a target's guards -------------------------------------------------------------------- */

/* With a gate the first block is guarded only when that is there and the target counts: books would lack it. */
static int guarded_begin(const struct trace *trace, const struct target *target,
			 struct guarded *guarded, char reason[static REASON_MAX])
{
	guarded->prepared = trace->options.gate && target->runs;
	return guarded->prepared ? guard_prepare(guarded->guard, reason)
				 : guard_start(guarded->guard, reason);
}

static int guarded_open(struct trace *trace, struct target *target, struct guarded *guarded,
			const struct guarded_functions *functions, char reason[static REASON_MAX])
{
	struct guard_request request = {
		.count = trace->options.guard.places,
		.period = trace->options.guard.period,
		.at_left = AT_LEFT,
		.by_fault = trace->options.guard.period >= BY_FAULT_FROM,
	};
	int err;

	guarded_functions_request(functions, &request);
	request.in.pid = target->pid;
	request.in.nop = &trace->gate_nop;
	/* It waits for us, or has just mapped the allocator. */
	request.in.hold = target->runs || target->late ? NULL : &target->gate_hold;
	err = guard_open(&request, &guarded->guard, reason);
	if (err)
		return err;
	guarded->place = guard_place(guarded->guard);
	guarded->object = functions->object;
	/* Who listens is there before anything can be heard. */
	err = guarded_take_rows(trace, guarded, reason);
	err = err ?: guarded_enter(trace, target, guarded, functions, reason);
	err = err ?: guarded_attach(trace, guarded, reason);
	err = err
		      ?: guard_faults_open(target->pid, target->gate_hold.holder != NULL,
					   bpf_program__fd(trace->skel->progs.guard_fault),
					   &guarded->faults, reason);
	if (err)
		return err;
	guarded_set_span(trace);
	return guarded_begin(trace, target, guarded, reason);
}

static void guarded_free(struct trace *trace, const struct target *target, struct guarded *guarded,
			 bool gone)
{
	char reason[REASON_MAX] = "";
	int err = guard_close(guarded->guard, gone, reason);

	if (err == 1)
		log_debug("process %d (%s): has guarded blocks, whose guards stay", target->pid,
			  target->comm);
	else if (err && err != -ESRCH)
		log_warn("process %d (%s): the guards' jumps stay in it, and do nothing but cost a "
			 "few ns a call: %s",
			 target->pid, target->comm, reason);
	trace_detach(trace, guarded->attachment);
	guard_faults_free(guarded->faults);
	free(guarded);
}

void guarded_end(struct trace *trace, struct target *target, bool gone)
{
	struct guarded *guarded = target->guarded;
	TURN turn = guarded && !gone ? turn_begin(trace, target) : -1;

	if (!guarded)
		return;
	target->guarded = NULL;
	guarded_free(trace, target, guarded, gone);
	guarded_set_span(trace);
}

static void guarded_tell_filters(const struct target *target)
{
	const struct guard_place *place = &target->guarded->place;

	if (place->keep_pages)
		log_debug("process %d (%s): no use after free is seen: %s", target->pid,
			  target->comm, place->keep_reason);
	else if (place->filters)
		log_debug("process %d (%s): its seccomp filters (%d) let madvise pass", target->pid,
			  target->comm, place->filters);
}

static int guarded_new(struct trace *trace, struct target *target, bool with_new,
		       char reason[static REASON_MAX])
{
	struct guarded *guarded = calloc(1, sizeof(*guarded));
	struct guarded_functions functions = {0};
	int err = guarded ? 0 : refuse(reason, -ENOMEM, "no memory");

	err = err ?: guarded_functions_find(target->image, with_new, &functions, reason);
	if (!err) {
		target->guarded = guarded;
		err = guarded_open(trace, target, guarded, &functions, reason);
	}
	if (!err)
		log_debug("process %d (%s): guards before %s; %s stood still for %.2f ms",
			  target->pid, target->comm, functions.allocator,
			  target->gate_hold.holder ? "it waited, and" : "a thread",
			  (double)guard_pause_ns(guarded->guard) / 1e6);
	if (!err)
		guarded_tell_filters(target);
	guarded_functions_free(&functions);
	if (!err)
		return 0;
	target->guarded = NULL;
	if (guarded)
		guarded_free(trace, target, guarded, false);
	guarded_set_span(trace);
	return err;
}

/* Of one that has guards: a library has come, or gone. */
static void guarded_check(struct target *target)
{
	struct guarded *guarded = target->guarded;
	char unused[REASON_MAX];

	if (guarded->paused)
		return;
	if (!guarded_functions_check(target->image, guarded->object, target->guard_reason)) {
		guard_note_texts(guarded->guard);
		return;
	}
	guarded->paused = true;
	log_warn("process %d (%s): no more guards: %s", target->pid, target->comm,
		 target->guard_reason);
	if (guard_pause(guarded->guard, unused))
		log_debug("process %d: guards cannot be turned off: %s", target->pid, unused);
}

static void guarded_try(struct trace *trace, struct target *target)
{
	uint64_t until = target->guard_told ? 0 : turn_patience();
	int err;

	do {
		TURN turn = turn_begin(trace, target);

		err = guarded_new(trace, target, trace->options.gate, target->guard_reason);
		/* What a tool without a gate has left has none. */
		if (err == -EBUSY && trace->options.gate)
			err = guarded_new(trace, target, false, target->guard_reason);
	} while (turn_again(target, err, until));
	if (!err)
		target->guard_reason[0] = '\0';
	else if (err != -ESRCH && !target->guard_told)
		log_warn("process %d (%s) has no guards: %s", target->pid, target->comm,
			 target->guard_reason);
	target->guard_told |= err != 0;
}

void guarded_before_gate(struct trace *trace, struct target *target)
{
	/* Behind a gate of ours there are none. */
	if (!trace->options.guard.period || target->guard_refused || target->guarded ||
	    target->has_gate)
		return;
	/* It may have mapped more than there are records of: all that takes blocks is to be known. */
	if (!target->runs)
		image_fill(target->image);
	target->guard_looked = image_generation(target->image);
	guarded_try(trace, target);
}

static void guarded_turn_on(struct trace *trace, struct target *target)
{
	struct guarded *guarded = target->guarded;
	int err;

	if (!guarded || !guarded->prepared)
		return;
	guarded->prepared = false;
	err = guard_start(guarded->guard, target->guard_reason);
	if (!err)
		return;
	if (err != -ESRCH)
		log_warn("process %d (%s) has no guards: %s", target->pid, target->comm,
			 target->guard_reason);
	guarded_end(trace, target, false);
}

void guarded_look(struct trace *trace, struct target *target)
{
	uint64_t generation = image_generation(target->image);

	if (!trace->options.guard.period || target->guard_refused)
		return;
	guarded_turn_on(trace, target);
	if (target->guard_looked == generation)
		return;
	target->guard_looked = generation;
	if (target->guarded)
		guarded_check(target);
	else if (!target->has_gate)
		guarded_try(trace, target);
	gate_hold_end(&target->gate_hold);
}

void guarded_look_all(struct trace *trace)
{
	struct target *target, *next;

	if (!trace->options.guard.period)
		return;
	HASH_ITER (hh, trace->targets, target, next) {
		if (target->stage == TARGET_TRACED)
			guarded_look(trace, target);
	}
}

bool guarded_has(const struct target *target, const struct object *object)
{
	return target->guarded && target->guarded->object == object;
}

void guarded_note_touch(const struct target *target, const struct guard_touch_event *event)
{
	int err;

	if (!target->guarded)
		return;
	err = guard_note_touch(target->guarded->guard, event->place, event->life);
	if (err && err != -ESRCH)
		log_debug("process %d: a guard that was touched stays as it is: %s", target->pid,
			  strerror(-err));
}

struct guard_block guarded_block(const struct trace *trace, const struct target *target,
				 uint32_t place)
{
	const struct guarded *guarded = target->guarded;
	struct guard_block block = {0};

	if (guarded && place < guarded->place.count)
		block = trace->guard_blocks[guarded->first + place];
	return block;
}

bool guarded_still(const struct target *target, uint32_t place, uint64_t life)
{
	return target->guarded && guard_still(target->guarded->guard, place, life);
}

/* ---- how it stands ------------------------------------------------------------------------ */

struct guard_reason {
	struct guard_reason *next;
	char text[REASON_MAX];
};

/* What has come that guards do not go with: guard_watch(). */
static void guarded_watch(struct target *target)
{
	struct guarded *guarded = target->guarded;
	int err;

	if (guarded->paused || target_has_ended(target))
		return;
	err = guard_watch(guarded->guard, target->guard_reason);
	if (err > 0)
		guarded->place = guard_place(guarded->guard);
	if (err == GUARD_WATCH_KEEPS) {
		log_warn("process %d (%s) has a seccomp filter now: no more uses after free are "
			 "seen: %s",
			 target->pid, target->comm, guarded->place.keep_reason);
	} else if (err == GUARD_WATCH_DROPS) {
		log_info("process %d (%s): its seccomp filters let madvise pass: uses after free "
			 "are seen from now on",
			 target->pid, target->comm);
	} else if (err < 0 && err != -ESRCH) {
		guarded->paused = true;
		log_warn("process %d (%s): no more guards: %s", target->pid, target->comm,
			 target->guard_reason);
	}
}

/* There are few. NULL without memory. */
static const char *guarded_keep_reason(struct trace *trace, const char *text)
{
	struct guard_reason *reason;

	for (reason = trace->guard_reasons; reason; reason = reason->next) {
		if (!strcmp(reason->text, text))
			return reason->text;
	}
	reason = calloc(1, sizeof(*reason));
	if (!reason)
		return NULL;
	snprintf(reason->text, sizeof(reason->text), "%s", text);
	reason->next = trace->guard_reasons;
	trace->guard_reasons = reason;
	return reason->text;
}

void guarded_free_reasons(struct trace *trace)
{
	while (trace->guard_reasons) {
		struct guard_reason *next = trace->guard_reasons->next;

		free(trace->guard_reasons);
		trace->guard_reasons = next;
	}
}

/* For how long a freed block stays guarded: the place that was freed first is used again first, and that was so long ago. */
static uint64_t guarded_oldest_free(const struct trace *trace, const struct target *target)
{
	const struct guard_block *blocks = &trace->guard_blocks[target->guarded->first];
	uint64_t now = monotonic_ns(), oldest = now;

	for (uint32_t i = 0; i < target->guarded->place.count; i++) {
		uint64_t freed_ns = __atomic_load_n(&blocks[i].freed_ns, __ATOMIC_RELAXED);

		if (freed_ns && freed_ns < oldest)
			oldest = freed_ns;
	}
	return (now - oldest) / NS_PER_MS;
}

void guarded_read(struct trace *trace, struct target *target, struct guard_state *state)
{
	struct guarded *guarded = target->guarded;
	struct guard_row row;

	if (!trace->options.guard.period)
		return;
	*state = (struct guard_state){.asked = true, .period = trace->options.guard.period};
	if (guarded)
		guarded_watch(target);
	if (target->guard_reason[0])
		state->reason = guarded_keep_reason(trace, target->guard_reason);
	if (!guarded)
		return;
	/* Of one that has ended what was known last, and what its probes have told. */
	if (!target_has_ended(target))
		guard_read(guarded->guard, &guarded->counted, &guarded->live);
	if (!bpf_map_lookup_elem(guarded_row_fd(trace), &target->id, &row)) {
		state->lost = row.lost;
		state->amid = row.amid;
		state->unseen = row.unseen;
		/* Nor are those forgotten that it was read of before. */
		if (target_has_ended(target)) {
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
	state->no_use_after_free = guarded->place.keep_pages;
	state->oldest_free_ms = guarded_oldest_free(trace, target);
}

void guarded_release_swept(const struct trace *trace)
{
	int rows = guarded_row_fd(trace);

	if (!trace->options.guard.period)
		return;
	for (const struct target *target = trace->ended; target; target = target->next_ended)
		bpf_map_delete_elem(rows, &target->id);
}
