// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bad frees and bad accesses on the page: those of each target's last snapshot. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/export/html.h"
#include "user/export/render.h"

_Static_assert((int)BAD_FREE_STACKS == (int)HTML_BAD_CALLS, "all of their calls have room");
_Static_assert((int)BAD_ACCESS_STACKS == (int)HTML_BAD_CALLS, "all of their calls have room");

void html_bad_list_release(struct html_bad_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].title);
	free(list->items);
	*list = (struct html_bad_list){0};
}

void html_bad_release(struct html_target *t)
{
	html_bad_list_release(&t->bad_frees);
	html_bad_list_release(&t->bad_accesses);
}

/* 0 or -errno. */
static int take_call(struct html *h, struct html_bad *to, const char *text,
		     const struct reported_call *call)
{
	struct html_bad_call *c = &to->calls[to->call_count];

	if (!call->known)
		return 0;
	to->call_count++;
	*c = (struct html_bad_call){.text = text, .end = call->end};
	return call->frames && call->frame_count
		       ? frame_table_stack(h->table, call->frames, call->frame_count, &c->frames)
		       : 0;
}

static int take_free(struct html *h, struct html_bad *to, const struct bad_free *bad)
{
	size_t len = 0;
	FILE *out = open_memstream(&to->title, &len);
	int err;

	if (!out)
		return -ENOMEM;
	bad_free_put_title(out, bad);
	err = close_memstream(out);
	for (int i = 0; !err && i < BAD_FREE_STACKS; i++)
		err = take_call(h, to, bad_free_call_text((enum bad_free_stack)i), &bad->calls[i]);
	return err;
}

static int take_access(struct html *h, struct html_bad *to, const struct bad_access *bad)
{
	size_t len = 0;
	FILE *out = open_memstream(&to->title, &len);
	int err;

	if (!out)
		return -ENOMEM;
	bad_access_put_title(out, bad);
	err = close_memstream(out);
	for (int i = 0; !err && i < BAD_ACCESS_STACKS; i++) {
		enum bad_access_stack call = bad_access_call_at(i);

		err = take_call(h, to, bad_access_call_text(bad, call), &bad->calls[call]);
	}
	return err;
}

static int make_room(struct html_bad_list *list, size_t count)
{
	list->items = count ? calloc(count, sizeof(*list->items)) : NULL;
	return count && !list->items ? -ENOMEM : 0;
}

int html_take_accesses(struct html *h, struct html_bad_list *list, const struct bad_access *bad,
		       size_t count)
{
	int err;

	html_bad_list_release(list);
	err = make_room(list, count);
	for (size_t i = 0; !err && i < count; i++) {
		if (bad[i].suppressed)
			list->suppressed += bad[i].count;
		else
			err = take_access(h, &list->items[list->count++], &bad[i]);
	}
	return err;
}

int html_take_bad(struct html *h, struct html_target *t, const struct report *r)
{
	size_t frees = r->snapshot->bad_free_count;
	struct html_bad_list *list = &t->bad_frees;
	int err;

	html_bad_list_release(list);
	err = make_room(list, frees);
	for (size_t i = 0; !err && i < frees; i++) {
		if (r->bad_frees[i].suppressed)
			list->suppressed += r->bad_frees[i].count;
		else
			err = take_free(h, &list->items[list->count++], &r->bad_frees[i]);
	}
	return err
		       ?: html_take_accesses(h, &t->bad_accesses, r->bad_accesses,
					     r->snapshot->bad_access_count);
}

static void put_call(struct json *to, const struct html_bad_call *call)
{
	json_array(to, NULL);
	json_text(to, NULL, call->text);
	json_number(to, NULL, call->frames);
	json_signed(to, NULL, call->frames ? (int)call->end : -1);
	json_end(to);
}

static void put_list(struct json *to, const char *key, const char *suppressed_key,
		     const struct html_bad_list *list)
{
	if (list->suppressed)
		json_number(to, suppressed_key, list->suppressed);
	if (!list->count)
		return;
	json_line(to);
	json_array(to, key);
	for (size_t i = 0; i < list->count; i++) {
		json_line(to);
		json_array(to, NULL);
		json_text(to, NULL, list->items[i].title);
		json_array(to, NULL);
		for (int call = 0; call < list->items[i].call_count; call++)
			put_call(to, &list->items[i].calls[call]);
		json_end(to);
		json_end(to);
	}
	json_end(to);
}

void html_put_accesses(struct json *to, const struct html_bad_list *list)
{
	put_list(to, "bad_accesses", "suppressed_accesses", list);
}

void html_put_bad(struct json *to, const struct html_target *t)
{
	put_list(to, "bad_frees", "suppressed_frees", &t->bad_frees);
	html_put_accesses(to, &t->bad_accesses);
}
