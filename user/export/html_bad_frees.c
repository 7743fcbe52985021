// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bad frees on the page: those of each target's last snapshot. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/export/html.h"
#include "user/export/render.h"

void html_bad_frees_release(struct html_target *t)
{
	for (size_t i = 0; i < t->bad_free_count; i++)
		free(t->bad_frees[i].title);
	free(t->bad_frees);
	t->bad_frees = NULL;
	t->bad_free_count = 0;
	t->suppressed_frees = 0;
}

static int take_one(struct html *h, struct html_bad_free *to, const struct bad_free *bad)
{
	size_t len = 0;
	FILE *out = open_memstream(&to->title, &len);
	int err;

	if (!out)
		return -ENOMEM;
	bad_free_put_title(out, bad);
	err = close_memstream(out);
	for (int i = 0; !err && i < BAD_FREE_STACKS; i++) {
		const struct reported_call *call = &bad->calls[i];

		to->calls[i].known = call->known;
		to->calls[i].end = call->end;
		if (call->known && call->frames && call->frame_count)
			err = frame_table_stack(h->table, call->frames, call->frame_count,
						&to->calls[i].frames);
	}
	return err;
}

int html_take_bad_frees(struct html *h, struct html_target *t, const struct report *r)
{
	size_t count = r->snapshot->bad_free_count;
	int err = 0;

	html_bad_frees_release(t);
	if (!count)
		return 0;
	t->bad_frees = calloc(count, sizeof(*t->bad_frees));
	if (!t->bad_frees)
		return -ENOMEM;
	for (size_t i = 0; !err && i < count; i++) {
		if (r->bad_frees[i].suppressed)
			t->suppressed_frees += r->bad_frees[i].count;
		else
			err = take_one(h, &t->bad_frees[t->bad_free_count++], &r->bad_frees[i]);
	}
	return err;
}

static void put_call(struct json *to, const struct html_bad_free *bad, enum bad_free_stack call)
{
	if (!bad->calls[call].known)
		return;
	json_array(to, NULL);
	json_text(to, NULL, bad_free_call_text(call));
	json_number(to, NULL, bad->calls[call].frames);
	json_signed(to, NULL, bad->calls[call].frames ? (int)bad->calls[call].end : -1);
	json_end(to);
}

void html_put_bad_frees(struct json *to, const struct html_target *t)
{
	if (t->suppressed_frees)
		json_number(to, "suppressed_frees", t->suppressed_frees);
	if (!t->bad_free_count)
		return;
	json_line(to);
	json_array(to, "bad_frees");
	for (size_t i = 0; i < t->bad_free_count; i++) {
		json_line(to);
		json_array(to, NULL);
		json_text(to, NULL, t->bad_frees[i].title);
		json_array(to, NULL);
		for (int call = 0; call < BAD_FREE_STACKS; call++)
			put_call(to, &t->bad_frees[i], (enum bad_free_stack)call);
		json_end(to);
		json_end(to);
	}
	json_end(to);
}
