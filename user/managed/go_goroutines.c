// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Goroutines, by the line where they stand and the line that began them. One that waits has its place in its
 * struct g; the runtime's own table of functions leads up its stack.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/managed/go_heap.h"

/* src/runtime/runtime2.go */
enum go_status {
	G_IDLE = 0,
	G_RUNNABLE = 1,
	G_RUNNING = 2,
	G_SYSCALL = 3,
	G_WAITING = 4,
	G_DEAD = 6,
	G_COPYSTACK = 8,
	G_PREEMPTED = 9,
	G_SCAN = 0x1000, /* its stack is being scanned */
};

#define FRAMES_MAX     64
#define GOROUTINES_MAX (1u << 20)
#define FRAME_CACHE    4096u
#define PLACE_BYTES    512
#define STATES_MAX     128
#define STATE_BYTES    40

/* x86_64's general registers, as PTRACE_GETREGSET has them. */
#define REGISTER_PC 16

/* What is known of an address in code. */
struct frame_known {
	uint64_t pc;
	int64_t down; /* to where the caller's address is */
	bool known, top, inner;
};

/* One goroutine. */
struct standing {
	uint64_t at, created; /* addresses in code; 0: not known */
	uint16_t state;	      /* its number among the texts; see state_text() */
	bool own;
};

struct goroutines {
	const struct go_heap *heap;
	struct frame_known *cache;
	char reasons[STATES_MAX][STATE_BYTES]; /* runtime.waitReasonStrings */
	size_t reason_count;
	struct standing *all;
	size_t count;
};

/* ---- why they wait ------------------------------------------------------------------------- */

static int reasons_take(struct goroutines *g, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i + 1 < count && g->reason_count < STATES_MAX; i += 2) {
		char *to = g->reasons[g->reason_count];

		if (!words[i + 1] || words[i + 1] >= STATE_BYTES ||
		    !managed_read(g->heap->memory, words[i], to, words[i + 1]))
			break;
		to[words[i + 1]] = '\0';
		g->reason_count++;
	}
	return 1;
}

/*
 * The runtime's array of texts says itself what the numbers mean, so no table by version is needed. It is known by
 * its second text, behind an empty one.
 */
static int reasons_look(void *ctx, uint64_t address, const uint64_t *words, size_t own,
			size_t count)
{
	static const char second[] = "GC assist marking";
	struct goroutines *g = ctx;
	char text[sizeof(second) - 1];

	(void)address;
	for (size_t i = 0; i < own && i + 4 <= count; i++) {
		if (words[i] || words[i + 1] || words[i + 3] != sizeof(text) ||
		    !managed_read(g->heap->memory, words[i + 2], text, sizeof(text)) ||
		    memcmp(text, second, sizeof(text)) != 0)
			continue;
		g->reason_count = 1; /* the empty one */
		return reasons_take(g, words + i + 2, count - i - 2);
	}
	return 0;
}

/* A state's number: of those that wait the reason's. */
#define STATE_OF_STATUS STATES_MAX

static const char *state_text(const struct goroutines *g, uint16_t state)
{
	if (state < g->reason_count && *g->reasons[state])
		return g->reasons[state];
	switch (state - STATE_OF_STATUS) {
	case G_RUNNABLE:
		return "runnable";
	case G_RUNNING:
		return "running";
	case G_SYSCALL:
		return "system call";
	case G_COPYSTACK:
		return "stack being copied";
	case G_PREEMPTED:
		return "preempted";
	default:
		return "waiting";
	}
}

/* ---- where they stand ---------------------------------------------------------------------- */

/*
 * Functions of the runtime, and of what waits for people: the line that is meant is that of who has called
 * them.
 */
static bool is_inner(const char *name)
{
	static const char *const beginnings[] = {"runtime.", "sync.", "internal/", "syscall.",
						 "time.Sleep"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	}
	return false;
}

static const struct frame_known *frame_at(struct goroutines *g, uint64_t pc)
{
	struct frame_known *known = &g->cache[(pc ^ pc >> 12) % FRAME_CACHE];
	struct go_function f;

	if (known->pc == pc)
		return known;
	*known = (struct frame_known){.pc = pc};
	if (!go_program_function(&g->heap->program, pc, &f))
		return known;
	known->known = go_program_frame(&g->heap->program, &f, pc, &known->down);
	known->top = f.flags & GO_FUNCTION_TOP;
	known->inner = is_inner(f.name);
	return known;
}

/* The innermost place that is none of the runtime's; else the innermost one. 0: none is known. */
static uint64_t stands_at(struct goroutines *g, uint64_t pc, uint64_t sp)
{
	const struct memory_region *near = NULL;
	uint64_t first = 0;

	for (int depth = 0; depth < FRAMES_MAX && pc && !(sp % 8); depth++) {
		/* Behind a call the next line may begin. */
		uint64_t at = depth ? pc - 1 : pc;
		const struct frame_known *f = frame_at(g, at);

		if (!f->known)
			break;
		first = first ?: at;
		if (!f->inner)
			return at;
		if (f->top || f->down < 0 || f->down % 8)
			break;
		sp += (uint64_t)f->down;
		if (!memory_image_word_near(g->heap->memory->image, &near, sp, &pc))
			break;
		sp += 8;
	}
	return first;
}

/* Of one that runs a thread has the place. On another stack (the scheduler's, C's) it is not known. */
static uint64_t runs_at(struct goroutines *g, const uint64_t *words)
{
	const struct memory_image *image = g->heap->memory->image;

	for (size_t i = 0; i < image->thread_count; i++) {
		const struct memory_thread *t = &image->threads[i];

		if (t->sp >= words[0] && t->sp < words[1] && t->word_count > REGISTER_PC)
			return stands_at(g, t->words[REGISTER_PC], t->sp);
	}
	return 0;
}

/* Is it the runtime's code? So the runtime itself tells its own goroutines (isSystemGoroutine()): by what they begin with. */
static bool is_own(const struct go_heap *heap, uint64_t pc)
{
	struct go_function f;

	return go_program_function(&heap->program, pc, &f) && !strncmp(f.name, "runtime.", 8) &&
	       strcmp(f.name, "runtime.main") != 0;
}

static void goroutine_take(struct goroutines *g, uint64_t address)
{
	const struct go_layout *l = g->heap->program.layout;
	uint64_t room[GO_G_BYTES / 8];
	const uint64_t *w = go_words(g->heap->memory, address, GO_G_BYTES / 8, room);
	struct standing *s = &g->all[g->count];
	uint32_t status;
	uint8_t reason;

	if (!w)
		return;
	memcpy(&status, (const char *)w + l->status, sizeof(status));
	memcpy(&reason, (const char *)w + l->wait_reason, sizeof(reason));
	status &= ~(uint32_t)G_SCAN;
	if (status == G_IDLE || status == G_DEAD || status > G_PREEMPTED)
		return;
	*s = (struct standing){.state = (uint16_t)(STATE_OF_STATUS + status)};
	if (status == G_WAITING && reason && reason < g->reason_count)
		s->state = reason;
	if (status == G_RUNNING)
		s->at = runs_at(g, w + GO_G_STACK / 8);
	else if (status == G_SYSCALL)
		s->at = stands_at(g, w[l->syscall_sp / 8 + 1], w[l->syscall_sp / 8]);
	else
		s->at = stands_at(g, w[(GO_G_SCHED + GO_GOBUF_PC) / 8],
				  w[(GO_G_SCHED + GO_GOBUF_SP) / 8]);
	s->own = is_own(g->heap, w[l->start_pc / 8]);
	/* The main one was begun by the runtime. */
	if (w[l->go_pc / 8] && (s->own || !is_own(g->heap, w[l->go_pc / 8] - 1)))
		s->created = w[l->go_pc / 8] - 1;
	g->count++;
}

/* ---- those that are alike ------------------------------------------------------------------ */

static int standing_order(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->own - y->own;
}

/* "main.leak main.go:58": 0 and *out, NULL where nothing is known; -ENOMEM. */
static int place_text(const struct go_program *program, uint64_t pc, char **out)
{
	const char *function, *file, *slash;
	char text[PLACE_BYTES];
	uint32_t line;

	*out = NULL;
	if (!pc)
		return 0;
	go_program_place(program, pc, &function, &file, &line);
	if (!function)
		return 0;
	slash = file ? strrchr(file, '/') : NULL;
	if (file)
		snprintf(text, sizeof(text), "%.350s %.120s:%u", function, slash ? slash + 1 : file,
			 line);
	else
		snprintf(text, sizeof(text), "%.350s", function);
	*out = strdup(text);
	return *out ? 0 : -ENOMEM;
}

static int threads_order(const void *a, const void *b)
{
	return managed_threads_compare(a, b);
}

static int threads_by_count(const void *a, const void *b)
{
	const struct managed_threads *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return managed_threads_compare(x, y);
}

/* Several addresses may be one line. */
static void threads_merge(struct managed_heap *out)
{
	size_t n = 0;

	qsort(out->threads, out->thread_group_count, sizeof(*out->threads), threads_order);
	for (size_t i = 0; i < out->thread_group_count; i++) {
		struct managed_threads *t = &out->threads[i];

		if (n && !managed_threads_compare(&out->threads[n - 1], t)) {
			out->threads[n - 1].count += t->count;
			free(t->state);
			free(t->at);
			free(t->created);
		} else {
			out->threads[n++] = *t;
		}
	}
	out->thread_group_count = n;
	qsort(out->threads, n, sizeof(*out->threads), threads_by_count);
}

static int threads_group(const struct goroutines *g, struct managed_heap *out)
{
	size_t room = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct standing *s = &g->all[i];
		struct managed_threads *t;

		if (i && !standing_order(s, s - 1)) {
			out->threads[out->thread_group_count - 1].count++;
			continue;
		}
		if (!RESERVE_ITEM(out->threads, out->thread_group_count, room, 64))
			return -ENOMEM;
		t = &out->threads[out->thread_group_count++];
		*t = (struct managed_threads){.own = s->own, .count = 1};
		t->state = strdup(state_text(g, s->state));
		if (!t->state || place_text(&g->heap->program, s->at, &t->at) ||
		    place_text(&g->heap->program, s->created, &t->created))
			return -ENOMEM;
	}
	return 0;
}

int go_goroutines_read(const struct go_heap *heap, struct managed_heap *out)
{
	struct goroutines *g = calloc(1, sizeof(*g));
	size_t most =
		heap->goroutine_count < GOROUTINES_MAX ? heap->goroutine_count : GOROUTINES_MAX;
	int err = -ENOMEM;

	if (!g)
		return err;
	g->heap = heap;
	g->cache = calloc(FRAME_CACHE, sizeof(*g->cache));
	g->all = calloc(most + 1, sizeof(*g->all));
	if (g->cache && g->all)
		err = go_scan_data(&heap->program, 2 * STATES_MAX, reasons_look, g);
	if (err >= 0) {
		for (size_t i = 0; i < most; i++)
			goroutine_take(g, heap->goroutines[i]);
		for (size_t i = 0; i < g->count; i++)
			out->thread_count += !g->all[i].own;
		if (g->count)
			qsort(g->all, g->count, sizeof(*g->all), standing_order);
		err = threads_group(g, out);
	}
	if (out->thread_group_count)
		threads_merge(out);
	free(g->cache);
	free(g->all);
	free(g);
	return err;
}
