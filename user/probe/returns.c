// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/returns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/probe/returns_step.h"

/*
 * operator new with all that it jumps to has some 200 instructions; a function with more than this
 * is no allocator's fast path.
 */
#define INSTRUCTIONS_MAX 4096
#define PATHS_MAX	 512
#define SEEN_SIZE	 (4 * INSTRUCTIONS_MAX) /* a power of two */

/* An instruction that has been reached. */
struct seen {
	uint64_t vaddr;
	uint8_t size; /* 0: free */
};

struct walk {
	const struct returns_source *source;
	struct decoder *decoder; /* NULL: aarch64 */
	struct returns *out;
	size_t instructions, paths;
	uint64_t path[PATHS_MAX]; /* beginnings of code still to be followed */
	struct seen seen[SEEN_SIZE];
};

static struct seen *returns_find_seen(struct walk *w, uint64_t vaddr)
{
	size_t at = (size_t)((vaddr * 0x9e3779b97f4a7c15ull) >> 32) & (SEEN_SIZE - 1);

	while (w->seen[at].size && w->seen[at].vaddr != vaddr)
		at = (at + 1) & (SEEN_SIZE - 1);
	return &w->seen[at];
}

static int returns_give_up(struct walk *w, const char *reason)
{
	w->out->count = 0;
	w->out->reason = reason;
	return -ENOTSUP;
}

static int returns_add_path(struct walk *w, uint64_t vaddr)
{
	if (returns_find_seen(w, vaddr)->size)
		return 0;
	if (w->paths == PATHS_MAX)
		return returns_give_up(w, "too much code");
	w->path[w->paths++] = vaddr;
	return 0;
}

/* Follows a jump that leaves this path, or not. */
static int returns_follow(struct walk *w, const struct step *step)
{
	uint64_t vaddr = step->target;
	enum returns_target to = step->kind == STEP_JUMP_THROUGH
					 ? w->source->jump_through(w->source->ctx, &vaddr)
					 : w->source->jump(w->source->ctx, &vaddr);

	switch (to) {
	case RETURNS_CODE:
		return returns_add_path(w, vaddr);
	case RETURNS_PROBED:
		return 0;
	case RETURNS_UNKNOWN:
		break;
	}
	return returns_give_up(w, "ends by a jump to a function of another object");
}

static int returns_add_site(struct walk *w, uint64_t vaddr)
{
	if (w->out->count == RETURNS_MAX)
		return returns_give_up(w, "too many returns");
	w->out->sites[w->out->count++] = vaddr;
	return 0;
}

/* Looks at one instruction. 1: goes on behind it; 0: the path ends here. */
static int returns_look_at(struct walk *w, uint64_t vaddr, const struct step *step)
{
	int err;

	switch (step->kind) {
	case STEP_NEXT:
	case STEP_NOP:
	case STEP_CALL:
		return 1;
	case STEP_BRANCH:
		err = returns_follow(w, step);
		return err ? err : 1;
	case STEP_JUMP:
	case STEP_JUMP_THROUGH:
		return returns_follow(w, step);
	case STEP_RETURN:
		return returns_add_site(w, vaddr);
	case STEP_STOP:
		return 0;
	case STEP_JUMP_UNKNOWN:
		return returns_give_up(w, "jumps through a table or register");
	case STEP_RETURN_UNPROBED:
		return returns_give_up(w, "returns by an instruction that cannot be probed");
	case STEP_UNDECODABLE:
		break;
	}
	return returns_give_up(w, "the code cannot be decoded");
}

static void returns_decode(struct walk *w, uint64_t vaddr, struct step *step)
{
	uint8_t code[STEP_BYTES];
	size_t size = w->source->read(w->source->ctx, vaddr, code, sizeof(code));

	if (w->decoder)
		step_x86_64(w->decoder, code, size, vaddr, step);
	else
		step_aarch64(code, size, vaddr, step);
}

static int returns_walk_path(struct walk *w, uint64_t vaddr)
{
	uint64_t end = w->source->end(w->source->ctx, vaddr);
	bool after_call = false;

	for (;;) {
		struct seen *seen = returns_find_seen(w, vaddr);
		struct step step;
		int err;

		if (seen->size)
			return 0;
		if (vaddr >= end)
			/*
			 * Behind a call that never returns there is nothing. Otherwise no compiler
			 * made this code.
			 */
			return after_call ? 0
					  : returns_give_up(w, "runs on into the next function");
		if (w->instructions++ == INSTRUCTIONS_MAX)
			return returns_give_up(w, "too much code");
		returns_decode(w, vaddr, &step);
		if (step.kind == STEP_UNDECODABLE && after_call)
			return 0;
		seen->vaddr = vaddr;
		seen->size = step.size ? step.size : 1;
		err = returns_look_at(w, vaddr, &step);
		if (err <= 0)
			return err;
		/* Padding does not count. */
		if (step.kind != STEP_NOP)
			after_call = step.kind == STEP_CALL;
		vaddr += step.size;
	}
}

/*
 * Is a site also a part of another instruction? Both are executed then, and a breakpoint in one
 * would change the other.
 */
static bool returns_overlapped(struct walk *w, uint64_t site)
{
	for (uint64_t before = 1; before < STEP_BYTES; before++) {
		if (returns_find_seen(w, site - before)->size > before)
			return true;
	}
	return false;
}

static int returns_walk_function(struct walk *w, const struct returns_source *source,
				 uint64_t vaddr, struct returns *out)
{
	int err;

	w->source = source;
	w->out = out;
	*out = (struct returns){0};
	err = returns_add_path(w, vaddr);
	while (!err && w->paths)
		err = returns_walk_path(w, w->path[--w->paths]);
	for (size_t i = 0; !err && i < out->count; i++) {
		if (returns_overlapped(w, out->sites[i]))
			err = returns_give_up(w, "has code that overlaps");
	}
	if (!err)
		qsort(out->sites, out->count, sizeof(out->sites[0]), compare_u64);
	return err;
}

int returns_find_x86_64(const struct returns_source *source, uint64_t vaddr, struct returns *out)
{
	_cleanup_free_ struct walk *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (w)
		w->decoder = decoder_new();
	if (w && w->decoder)
		err = returns_walk_function(w, source, vaddr, out);
	if (w)
		decoder_free(w->decoder);
	return err;
}

int returns_find_aarch64(const struct returns_source *source, uint64_t vaddr, struct returns *out)
{
	_cleanup_free_ struct walk *w = calloc(1, sizeof(*w));

	return w ? returns_walk_function(w, source, vaddr, out) : -ENOMEM;
}

int returns_find(const struct returns_source *source, uint64_t vaddr, struct returns *out)
{
#if defined(__x86_64__)
	return returns_find_x86_64(source, vaddr, out);
#elif defined(__aarch64__)
	return returns_find_aarch64(source, vaddr, out);
#else
#error "unsupported architecture"
#endif
}
