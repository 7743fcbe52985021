// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Makes the screen's view of the last report: filters, ranks, and names the visible rows. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/row_label.h"
#include "user/live/watcher_internal.h"
#include "user/model/function_name.h"
#include "user/model/lost_causes.h"

#define SLICE_NS (100 * NS_PER_MS) /* for names; then the view is shown as it is */

/* ---- the filter --------------------------------------------------------------------------- */

static bool view_text_has(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool view_stack_has(const struct stack_notes *notes, const char *part)
{
	for (size_t i = 0; i < notes->frame_count; i++) {
		const struct frame *f = notes->frames[i];

		if (view_text_has(f->function, part) || view_text_has(f->module, part) ||
		    view_text_has(f->file, part))
			return true;
	}
	return false;
}

/* The progress of a search. */
struct view_search {
	uint64_t end_ns; /* of this slice */
	size_t known;	 /* stacks whose answer is known */
	bool more;	 /* others are left for the next slice */
};

/* Is the stack wanted? A stack not looked at yet is not. */
static int view_search_stack(struct watcher *w, const struct stack *stack,
			     struct stack_notes *notes, struct view_search *search)
{
	uint32_t found;
	int err;

	notes->unwanted = true;
	if (!id_map_get(&w->searched.found, stack->id, &found)) {
		if (search->more || monotonic_ns() > search->end_ns) {
			search->more = true;
			return 0;
		}
		err = pipeline_describe(session_pipeline(w->session), w->target_id, stack);
		found = view_stack_has(notes, w->searched.filter);
		err = err ?: id_map_put(&w->searched.found, stack->id, found);
		if (err)
			return err;
	}
	notes->unwanted = !found;
	search->known++;
	return 0;
}

static int view_search(struct watcher *w, struct report *r, const char *filter,
		       struct live_view *view)
{
	struct view_search search = {.end_ns = monotonic_ns() + SLICE_NS};
	int err = 0;

	if (strcmp(filter, w->searched.filter)) {
		id_map_free(&w->searched.found);
		memcpy(w->searched.filter, filter, sizeof(w->searched.filter));
	}
	/* A new snapshot has no marks; a filter's marks go with the filter. */
	if (!*filter && w->searched.report_ns != r->snapshot->time_ns)
		return 0;
	w->searched.report_ns = *filter ? r->snapshot->time_ns : 0;
	for (size_t i = 0; !err && i < r->snapshot->stack_count; i++) {
		if (*filter)
			err = view_search_stack(w, &r->snapshot->stacks[i], &r->notes[i], &search);
		else
			r->notes[i].unwanted = false;
	}
	view->searching = search.more;
	if (search.more)
		view->searched = (unsigned)(100 * search.known / r->snapshot->stack_count);
	return err;
}

/* ---- the order ---------------------------------------------------------------------------- */

struct view_change {
	const struct stack *stack;
	int64_t bytes;
};

/* Orders by the size of the change, up or down. */
static int view_compare_changes(const void *a, const void *b)
{
	const struct view_change *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->stack->id < y->stack->id ? -1 : x->stack->id > y->stack->id;
}

/* Rows, or the stacks themselves. */
static const struct report *view_listed(const struct report *r)
{
	return r->rows ? r->rows->sums : r;
}

/* Of a row all its stacks, else the stack itself: their places in the report. */
static size_t view_members(const struct report *r, const struct stack *listed, size_t *alone,
			   const size_t **members)
{
	if (r->rows)
		return report_row_stacks(r->rows, listed, members);
	*alone = (size_t)(listed - r->snapshot->stacks);
	*members = alone;
	return 1;
}

static int64_t view_changed(const struct watcher *w, const struct report *r,
			    const struct stack *listed)
{
	const size_t *members;
	size_t alone, count = view_members(r, listed, &alone, &members);
	uint64_t change = 0;

	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &r->snapshot->stacks[members[i]];

		change += stack->live.bytes - marked_bytes(&w->marked, stack->id);
	}
	return (int64_t)change;
}

/* As rank_top(), by what has grown since the mark, and then what has shrunk. */
static int view_rank_changes(const struct watcher *w, const struct report *r,
			     const struct stack **top, size_t room, size_t *ranked)
{
	const struct report *listed = view_listed(r);
	_cleanup_free_ struct view_change *changes =
		calloc(listed->snapshot->stack_count + 1, sizeof(*changes));
	size_t count = 0;

	if (!changes)
		return -ENOMEM;
	for (size_t i = 0; i < listed->snapshot->stack_count; i++) {
		const struct stack *stack = &listed->snapshot->stacks[i];
		int64_t change = view_changed(w, r, stack);

		if (change && !listed->notes[i].unwanted && !listed->notes[i].hidden)
			changes[count++] = (struct view_change){stack, change};
	}
	qsort(changes, count, sizeof(*changes), view_compare_changes);
	for (size_t i = 0; i < count && i < room; i++)
		top[i] = changes[i].stack;
	*ranked = count;
	return 0;
}

/* How many there are in the list at all, and the first of them in their order. */
static int view_rank(struct watcher *w, const struct live_request *request, struct report *r,
		     const struct stack **top, size_t room, size_t *ranked)
{
	enum rank_by by = (enum rank_by)request->sort;

	if (request->changes && w->marked.time_ns)
		return view_rank_changes(w, r, top, room, ranked);
	if (r->rows)
		rank_top_of(r->rows->sums, by, top, room, ranked);
	else
		pipeline_rank(session_pipeline(w->session), w->target_id, by, top, room, ranked);
	return 0;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* Sees to names for a while; *left: some have none yet. */
static int view_name_all(struct watcher *w, struct report *r, bool *left)
{
	uint64_t end_ns = monotonic_ns() + SLICE_NS;
	int err = 0;

	*left = false;
	for (size_t i = 0; i < r->snapshot->stack_count && !err; i++) {
		const struct stack_notes *notes = &r->notes[i];

		if (notes->frames || notes->unwanted || notes->hidden)
			continue;
		if (*left || monotonic_ns() > end_ns)
			*left = true;
		else
			err = pipeline_describe(session_pipeline(w->session), w->target_id,
						&r->snapshot->stacks[i]);
	}
	return err;
}

/* A row has the sum of all its stacks, so those that are not named yet are rows of their own. */
static int view_join(struct watcher *w, struct report *r, const char *filter,
		     const struct live_view *view, bool *more)
{
	bool left = false;
	int err;

	if (w->options.by == BY_STACK ||
	    (r->rows && w->joined.complete && !strcmp(filter, w->joined.filter)))
		return 0;
	err = w->options.by == BY_SCOPE ? 0 : view_name_all(w, r, &left);
	err = err ?: pipeline_rows(session_pipeline(w->session), w->target_id, left);
	w->joined.complete = !err && !left && !view->searching;
	memcpy(w->joined.filter, filter, sizeof(w->joined.filter));
	*more |= left;
	return err;
}

/* "cart.cc:42", or the module. */
static char *view_where(const struct frame *f)
{
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	char *where;

	if (f->file && f->line &&
	    asprintf(&where, "%s%s:%" PRIu32, f->line_begins ? "from " : "",
		     slash ? slash + 1 : f->file, f->line) >= 0)
		return where;
	return f->module || f->file ? strdup(f->module ?: f->file) : NULL;
}

static int view_name(const struct watcher *w, const struct report *r, const struct stack *stack,
		     struct live_row *row)
{
	const struct stack_notes *notes = report_notes(view_listed(r), stack);
	char label[TEXT_FIT_MAX], name[FUNCTION_NAME_MAX];
	const struct frame *f;

	if (!notes->frame_count) {
		row->site = strdup("(its frames are not known)");
		return row->site ? 0 : -ENOMEM;
	}
	if (r->rows && w->options.by >= BY_FILE) {
		row->site = strdup(row_label(label, &w->options, r, stack, 0, LABEL_USUAL));
		return row->site ? 0 : -ENOMEM;
	}
	f = notes->frames[frames_site(notes->frames, notes->frame_count, &w->options.sites)];
	if (f->function)
		row->site =
			strdup(f->kind == FRAME_KIND_NATIVE ? function_name_cut(name, f->function)
							    : f->function);
	else if (asprintf(&row->site, "0x%" PRIx64, f->offset) < 0)
		row->site = NULL;
	row->where = view_where(f);
	if (*row_callers(label, &w->options, r, stack))
		row->callers = strdup(label);
	return row->site ? 0 : -ENOMEM;
}

static uint64_t view_lost(const struct watcher *w, const struct report *r,
			  const struct stack *listed)
{
	const size_t *members;
	size_t alone, count = view_members(r, listed, &alone, &members);
	uint64_t lost = 0;

	for (size_t i = 0; i < count; i++) {
		const struct judged_stack *judged =
			judged_find(&w->judged, r->snapshot->stacks[members[i]].id);

		lost += judged ? judged_lost(judged->classes) : 0;
	}
	return lost;
}

static int view_fill_row(struct watcher *w, struct report *r, const struct stack *stack, bool name,
			 struct live_row *row)
{
	const struct stack_notes *notes = report_notes(view_listed(r), stack);
	int err = 0;

	if (name && !r->rows)
		err = pipeline_describe(session_pipeline(w->session), w->target_id, stack);
	*row = (struct live_row){
		.id = stack->id,
		.live = stack->live,
		.oldest_ns = stack->oldest_ns,
		.trend = notes->trend,
		.rate_known = r->snapshot->interval_ns > 0,
		.lost = view_lost(w, r, stack),
	};
	if (row->rate_known)
		row->rate = saturate_u64((double)notes->fresh_bytes /
					 ((double)r->snapshot->interval_ns / 1e9));
	if (w->marked.time_ns)
		row->change = view_changed(w, r, stack);
	if (!notes->frames && (r->rows ? !w->joined.complete : !name))
		row->site = strdup("...");
	else
		err = err ?: view_name(w, r, stack, row);
	return row->site ? err : -ENOMEM;
}

static bool view_reads_same(const struct live_row *a, const struct live_row *b)
{
	return !strcmp(a->site, b->site) && !strcmp(a->where ?: "", b->where ?: "") &&
	       !strcmp(a->callers ?: "", b->callers ?: "");
}

/* "fill+0x1c": where in its function the row's site is; NULL: that is not known, or no memory. */
static char *view_with_address(const struct watcher *w, const struct report *r,
			       const struct stack *stack, const struct live_row *row)
{
	const struct stack_notes *notes = report_notes(view_listed(r), stack);
	size_t at = frames_site(notes->frames, notes->frame_count, &w->options.sites);
	const struct frame *f = notes->frames && notes->frame_count ? notes->frames[at] : NULL;
	char *longer;

	if (!f || !f->function || f->inlined || !frame_is_code(f) ||
	    asprintf(&longer, "%s+0x%" PRIx64, row->site, f->offset) < 0)
		return NULL;
	return longer;
}

/* Rows that read as others do get where in their functions they are, or else their numbers. */
static int view_tell_apart(const struct watcher *w, const struct report *r,
			   const struct stack *const *top, struct live_view *view, bool number)
{
	_cleanup_free_ bool *same = calloc(view->row_count + 1, sizeof(*same));

	if (!same)
		return -ENOMEM;
	for (size_t i = 0; i < view->row_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (view_reads_same(&view->rows[i], &view->rows[k]))
				same[i] = same[k] = true;
		}
	}
	for (size_t i = 0; i < view->row_count; i++) {
		struct live_row *row = &view->rows[i];
		char *longer = NULL;

		if (!same[i] || !strcmp(row->site, "..."))
			continue;
		if (!number)
			longer = view_with_address(w, r, top[i], row);
		else if (asprintf(&longer, "%s #%08" PRIx32, row->site,
				  (uint32_t)(row->id >> 32 ^ row->id)) < 0)
			return -ENOMEM;
		if (!longer)
			continue;
		free(row->site);
		row->site = longer;
	}
	return 0;
}

static int view_fill_rows(struct watcher *w, const struct live_request *request, struct report *r,
			  const struct stack *const *top, struct live_view *view, bool *more)
{
	uint64_t end_ns = monotonic_ns() + SLICE_NS;
	int err = 0;

	view->first = request->first < view->ranked ? request->first : view->ranked;
	while (!err && view->row_count < request->count &&
	       view->first + view->row_count < view->ranked &&
	       view->first + view->row_count < LIVE_LIST_MAX) {
		bool name = monotonic_ns() < end_ns;

		*more |= !name;
		err = view_fill_row(w, r, top[view->first + view->row_count], name,
				    &view->rows[view->row_count]);
		view->row_count++;
	}
	err = err ?: view_tell_apart(w, r, top + view->first, view, false);
	return err ?: view_tell_apart(w, r, top + view->first, view, true);
}

/* ---- the process -------------------------------------------------------------------------- */

static void view_fill_lost(const struct snapshot *s, struct live_view *view)
{
	uint64_t most = 0;

	for (int i = 0; i < LOST_CAUSES; i++) {
		view->lost += s->lost[i];
		if (s->lost[i] > most) {
			most = s->lost[i];
			view->lost_text = lost_cause_text((enum lost_cause)i);
		}
	}
}

static void view_fill_process(const struct watcher *w, const struct snapshot *s,
			      struct live_view *view)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);

	view->elapsed_ns = s->elapsed_ns;
	view->live = s->live;
	view->rates_known = w->rates_known;
	view->alloc_rate = w->alloc_rate;
	view->free_rate = w->free_rate;
	view->rss = s->memory.rss;
	view->untraced = s->growth.untraced;
	view->heaps = s->heaps.kinds;
	view->attached = attached_by_name(s->attached);
	view->sample_bytes = s->sample_bytes;
	view->figures = s->figures_kept;
	view->stacks = s->stack_count;
	view->recording = w->recording != NULL;
	view->marked = w->marked.time_ns != 0;
	view->mark_live = w->marked.live;
	view->judged = w->judged.time_ns != 0;
	if (view->marked && now > w->marked.time_ns)
		view->mark_age_ns = now - w->marked.time_ns;
	if (view->judged && now > w->judged.time_ns)
		view->verdict_age_ns = now - w->judged.time_ns;
	view->judged_lost = judged_lost(w->judged.classes);
	view_fill_lost(s, view);
}

static int view_fill_list(struct watcher *w, const struct live_request *request, struct report *r,
			  struct live_view *view, bool *more)
{
	size_t room = request->first + request->count;
	_cleanup_free_ const struct stack **top = NULL;
	int err = view_search(w, r, request->filter, view);

	err = err ?: view_join(w, r, request->filter, view, more);
	room = room > LIVE_LIST_MAX ? LIVE_LIST_MAX : room;
	top = calloc(room + 1, sizeof(struct stack *));
	if (err || !top)
		return -ENOMEM;
	err = view_rank(w, request, r, top, room, &view->ranked);
	if (view->ranked > LIVE_LIST_MAX)
		view->ranked = LIVE_LIST_MAX;
	if (!err)
		err = view_fill_rows(w, request, r, top, view, more);
	*more |= view->searching;
	return err;
}

int watcher_view(struct watcher *w, const struct live_request *request, struct live_view **out,
		 bool *more)
{
	struct live_view *view = live_view_new(request->count, false);
	struct report *r = watcher_report(w);
	int err = view ? 0 : -ENOMEM;

	*more = false;
	w->changed = false;
	if (err)
		return err;
	view->request = *request;
	view->state = r || w->state != LIVE_RUNNING ? w->state : LIVE_STARTING;
	view->end = w->end;
	view->pid = w->pid;
	memcpy(view->comm, w->comm, sizeof(view->comm));
	view->cost = w->cost;
	if (r) {
		view_fill_process(w, r->snapshot, view);
		err = view_fill_list(w, request, r, view, more);
	}
	if (!err && request->page != LIVE_PAGE_NONE)
		err = watcher_page(w, request, view);
	if (err) {
		live_view_free(view);
		return err;
	}
	*out = view;
	return 0;
}
