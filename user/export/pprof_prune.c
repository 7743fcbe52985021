// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * drop_frames and keep_frames of a profile. pprof goes from the root to the leaf, and cuts a stack
 * off at the first name that drop_frames matches and keep_frames does not (github.com/google/pprof,
 * proto/profile.proto; profile/prune.go). A pattern for whole families ("std::.*") would cut what
 * std::for_each() calls, so names are given one by one.
 */
#include "user/export/pprof_prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* A profile of very many template functions shows some of them, and stays small. */
#define PRUNE_MAX_BYTES (64 * 1024)

enum prune_place { PRUNE_BENEATH = 1, PRUNE_ABOVE = 2 };

struct prune {
	struct frame_table *names; /* simplified */
	uint8_t *places;	   /* of each name, by its number: enum prune_place */
	size_t room;
};

/*
 * The length of what pprof compares: its parameters do not count. 0: bytes that a regular expression
 * would have to be told in another way.
 */
static size_t prune_name_length(const char *name)
{
	static const char *const words[] = {"(anonymous namespace)", "operator()"};
	size_t len = 0;

	while (name[len]) {
		size_t solid = 0;

		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			if (!strncmp(name + len, words[i], strlen(words[i])))
				solid = strlen(words[i]);
		}
		if (!solid && name[len] == '(')
			break;
		if ((unsigned char)name[len] < ' ' || (unsigned char)name[len] > '~')
			return 0;
		len += solid ?: 1;
	}
	return len;
}

static int prune_note(struct prune *p, const struct frame *frame, enum prune_place place)
{
	char label[FRAME_LABEL_MAX], *name = frame_label(frame, label);
	uint32_t id;
	size_t len;
	int err;

	name += *name == '.';
	len = prune_name_length(name);
	if (!len)
		return 0;
	name[len] = '\0';
	err = frame_table_string(p->names, name, &id);
	if (err)
		return err;
	if (id >= p->room) {
		size_t room = 2 * (size_t)id + 64;
		uint8_t *grown = realloc(p->places, room);

		if (!grown)
			return -ENOMEM;
		memset(grown + p->room, 0, room - p->room);
		p->places = grown;
		p->room = room;
	}
	p->places[id] |= (uint8_t)place;
	return 0;
}

static int prune_take(struct prune *p, const struct collection *c, const struct site_rules *sites)
{
	int err = 0;

	for (size_t i = 0; i < c->target_count; i++) {
		const struct collected_target *t = &c->targets[i];

		for (size_t j = 0; j < t->stack_count && !err; j++) {
			const struct frame *const *frames;
			size_t count, site;

			if (!t->stacks[j].frames)
				continue;
			frames = frame_table_stack_at(c->frames, t->stacks[j].frames, &count);
			/* Without a site all but the allocation function may be one. */
			site = frames_site(frames, count, sites) ?: 1;
			for (size_t k = 0; k < count && !err; k++)
				err = prune_note(p, frames[k],
						 k < site ? PRUNE_BENEATH : PRUNE_ABOVE);
		}
	}
	return err;
}

static void prune_put(FILE *out, const char *name)
{
	if (ftell(out) > 0)
		fputc('|', out);
	for (; *name; name++) {
		if (strchr("\\.+*?()|[]{}^$", *name))
			fputc('\\', out);
		fputc(*name, out);
	}
}

/* Names of these places, up to the limit, in the order in which they came. */
static int prune_pattern(const struct prune *p, unsigned places, char **pattern)
{
	size_t len = 0;
	FILE *out = open_memstream(pattern, &len);

	if (!out)
		return -ENOMEM;
	for (size_t i = 1; i <= frame_table_string_count(p->names); i++) {
		size_t name_len;
		const char *name = frame_table_string_at(p->names, (uint32_t)i, &name_len);

		if ((p->places[i] & places) == places &&
		    (size_t)ftell(out) + 2 * name_len < PRUNE_MAX_BYTES)
			prune_put(out, name);
	}
	if (fclose(out))
		return -ENOMEM;
	if (!len) {
		free(*pattern);
		*pattern = NULL;
	}
	return 0;
}

int pprof_prune_make(const struct collection *c, const struct site_rules *sites,
		     struct pprof_prune *out)
{
	struct prune p = {.names = frame_table_new()};
	int err = p.names ? prune_take(&p, c, sites) : -ENOMEM;

	*out = (struct pprof_prune){0};
	if (!err)
		err = prune_pattern(&p, PRUNE_BENEATH, &out->drop);
	if (!err)
		err = prune_pattern(&p, PRUNE_BENEATH | PRUNE_ABOVE, &out->keep);
	frame_table_free(p.names);
	free(p.places);
	return err;
}

void pprof_prune_release(struct pprof_prune *prune)
{
	free(prune->drop);
	free(prune->keep);
}
