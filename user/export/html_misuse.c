// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Misuses on the page: those of each target's last snapshot. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/export/html.h"
#include "user/export/render.h"

void html_misuses_release(struct html_misuse_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].title);
	free(list->items);
	*list = (struct html_misuse_list){0};
}

/* 0 or -errno. */
static int take_call(struct html *h, struct html_misuse *to, const char *text,
		     const struct reported_call *call)
{
	struct html_misuse_call *c = &to->calls[to->call_count];

	if (!call->known)
		return 0;
	to->call_count++;
	*c = (struct html_misuse_call){.text = text, .end = call->end};
	return call->frames && call->frame_count
		       ? frame_table_stack(h->table, call->frames, call->frame_count, &c->frames)
		       : 0;
}

static int take_misuse(struct html *h, struct html_misuse *to, const struct misuse *misuse)
{
	size_t len = 0;
	FILE *out = open_memstream(&to->title, &len);
	int err;

	if (!out)
		return -ENOMEM;
	misuse_put_title(out, misuse);
	err = close_memstream(out);
	for (int i = 0; !err && i < MISUSE_CALLS; i++)
		err = take_call(h, to, misuse_call_text(misuse, (enum misuse_call)i),
				&misuse->calls[i]);
	return err;
}

int html_take_misuses(struct html *h, struct html_misuse_list *list, const struct misuse *misuses,
		      size_t count)
{
	int err = 0;

	html_misuses_release(list);
	list->items = count ? calloc(count, sizeof(*list->items)) : NULL;
	if (count && !list->items)
		return -ENOMEM;
	for (size_t i = 0; !err && i < count; i++) {
		if (misuses[i].suppressed)
			list->suppressed += misuses[i].count;
		else
			err = take_misuse(h, &list->items[list->count++], &misuses[i]);
	}
	return err;
}

static void put_call(struct json *to, const struct html_misuse_call *call)
{
	json_array(to, NULL);
	json_text(to, NULL, call->text);
	json_number(to, NULL, call->frames);
	json_signed(to, NULL, call->frames ? (int)call->end : -1);
	json_end(to);
}

void html_put_misuses(struct json *to, const struct html_misuse_list *list,
		      enum misuse_finder finder)
{
	static const char *const keys[][2] = {
		[MISUSE_BY_CHECK] = {"bad_frees", "suppressed_frees"},
		[MISUSE_BY_GUARD] = {"bad_accesses", "suppressed_accesses"},
	};

	if (list->suppressed)
		json_number(to, keys[finder][1], list->suppressed);
	if (!list->count)
		return;
	json_line(to);
	json_array(to, keys[finder][0]);
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
