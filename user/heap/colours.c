// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/colours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/heap_image.h"
#include "user/heap/block_set.h"

#define NONE UINT32_MAX

struct colouring {
	struct colours *out;
	struct block_set changed; /* what they lead to is still to be coloured */
	struct held_word *words;
	size_t count, room;
	uint32_t colour; /* of the block that is looked into */
	bool failed;
};

static void colouring_take_word(void *ctx, uint64_t word, uint32_t block)
{
	struct colouring *c = ctx;

	c->failed = c->failed || !RESERVE_ITEM(c->words, c->count, c->room, 1024);
	if (!c->failed)
		c->words[c->count++] = (struct held_word){.address = word, .block = block};
}

static void colouring_paint(struct colouring *c, uint32_t block, uint32_t colour)
{
	uint32_t *of = &c->out->of[block];

	if (*of == colour || *of == COLOUR_MANY)
		return;
	*of = *of == NONE ? colour : COLOUR_MANY;
	block_set_add(&c->changed, block);
}

static void colouring_reach(void *ctx, uint32_t target)
{
	struct colouring *c = ctx;

	colouring_paint(c, target, c->colour);
}

static void colouring_spread(struct colouring *c, const struct reach *reach)
{
	uint32_t block = 0;

	while (!block_set_is_empty(&c->changed)) {
		block = block_set_take(&c->changed, block);
		if (block == NONE)
			block = block_set_take(&c->changed, 0);
		c->colour = c->out->of[block];
		reach_each_target(reach, block, colouring_reach, c);
	}
}

int colours_find(const struct held_by *held, struct reach *reach, struct held_roots *roots,
		 struct colours *out)
{
	const size_t blocks = held->image->block_count;
	struct colouring c = {.out = out};
	int err = 0;

	out->of = malloc((blocks + 1) * sizeof(*out->of));
	if (!out->of || block_set_init(&c.changed, blocks + 1))
		err = -ENOMEM;
	if (!err) {
		memset(out->of, 0xff, (blocks + 1) * sizeof(*out->of));
		reach_each_variable(reach, colouring_take_word, &c);
		err = c.failed ? -ENOMEM
			       : held_roots_find(held, c.words, c.count, UINT64_MAX, roots);
	}
	for (size_t i = 0; !err && i < c.count; i++)
		colouring_paint(&c, c.words[i].block, c.words[i].root);
	if (!err)
		colouring_spread(&c, reach);
	block_set_free(&c.changed);
	free(c.words);
	return err;
}

void colours_release(struct colours *colours)
{
	free(colours->of);
	*colours = (struct colours){0};
}
