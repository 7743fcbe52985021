// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What hangs on what, as a tree for people: a line as long as most of it goes one way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/text_parts.h"

/* Without -v: so many roots and branches at most, and only those that take such a part of all. */
#define ROOTS_SHOWN    10
#define BRANCHES_SHOWN 4
#define SHARE_SHOWN    100
#define DEPTH_SHOWN    5

/* Steps of a line; without -v so many of the first and of the last ones. */
#define STEPS_MAX   64
#define STEPS_FIRST 4
#define STEPS_LAST  2

struct ways_page {
	FILE *out;
	const struct export_options *options;
	const struct inspection *i;
	uint64_t all;  /* bytes */
	size_t *first; /* by way: the largest that hangs on it; SIZE_MAX: none does */
	size_t *next;  /* by way: the next smaller one beside it */
	size_t top;    /* so many roots with -v */
};

static uint64_t ways_bytes(const struct ways_page *p, size_t way)
{
	return p->i->ways[way].retained.bytes;
}

/* Puts the way into the list that begins at *first, by bytes. */
static void ways_insert(const struct ways_page *p, size_t *first, size_t way)
{
	while (*first != SIZE_MAX && ways_bytes(p, *first) >= ways_bytes(p, way))
		first = &p->next[*first];
	p->next[way] = *first;
	*first = way;
}

static void ways_put_labels(const struct ways_page *p, const size_t *steps, size_t count)
{
	const char *separator = "";

	for (size_t i = 0; i < count; i++) {
		char *label;

		if (!p->options->verbose && i == STEPS_FIRST &&
		    count > STEPS_FIRST + STEPS_LAST + 1) {
			fputs(" -> …", p->out);
			i = count - STEPS_LAST;
		}
		label = inspected_way_label(&p->i->ways[steps[i]]);
		fputs(separator, p->out);
		text_put_folded(p->out, p->options, label ? label : "?");
		free(label);
		separator = " -> ";
	}
}

/* What most of what hangs on it hangs on; SIZE_MAX: it branches, or ends. */
static size_t ways_onward(const struct ways_page *p, size_t way)
{
	const struct inspected_way *w = &p->i->ways[way];
	size_t first = p->first[way];
	uint64_t below = w->retained.bytes - w->own.bytes;

	if (first == SIZE_MAX || ways_bytes(p, first) < below - below / 4 ||
	    ways_bytes(p, first) < p->all / SHARE_SHOWN / 4)
		return SIZE_MAX;
	return first;
}

static void ways_put_line(const struct ways_page *p, size_t way, unsigned depth)
{
	size_t steps[STEPS_MAX], count = 0, at = way, shown = 0;
	char human[FORMAT_BYTES_MAX];

	for (; at != SIZE_MAX && count < STEPS_MAX; at = ways_onward(p, at))
		steps[count++] = at;
	fprintf(p->out, "  %10s %5.1f %%  ", format_bytes(human, ways_bytes(p, way)),
		p->all ? 100.0 * (double)ways_bytes(p, way) / (double)p->all : 0);
	for (unsigned i = 0; i < depth; i++)
		fputs(i + 1 == depth ? "  -> " : "  ", p->out);
	ways_put_labels(p, steps, count);
	if (!depth && p->i->ways[way].shared.bytes > ways_bytes(p, way) / SHARE_SHOWN)
		fprintf(p->out, "; at least %s of it nobody else's",
			format_bytes(human, p->i->ways[way].alone.bytes));
	fputc('\n', p->out);
	if (depth == DEPTH_SHOWN)
		return;
	for (at = p->first[steps[count - 1]]; at != SIZE_MAX; at = p->next[at]) {
		if (!p->options->verbose &&
		    (shown++ == BRANCHES_SHOWN || ways_bytes(p, at) < p->all / SHARE_SHOWN))
			break;
		ways_put_line(p, at, depth + 1);
	}
}

static void ways_put_all(const struct ways_page *p, size_t first)
{
	const size_t most = p->options->verbose ? p->top : ROOTS_SHOWN;
	char human[FORMAT_BYTES_MAX];
	uint64_t rest = p->all;
	size_t shown = 0;

	for (size_t at = first; at != SIZE_MAX; at = p->next[at]) {
		if (p->i->ways[at].lost) {
			rest -= ways_bytes(p, at);
			continue;
		}
		if (shown == most ||
		    (!p->options->verbose && shown && ways_bytes(p, at) < p->all / SHARE_SHOWN))
			break;
		ways_put_line(p, at, 0);
		rest -= ways_bytes(p, at);
		shown++;
	}
	if (rest)
		fprintf(p->out, "  %10s %5.1f %%  others%s\n", format_bytes(human, rest),
			100.0 * (double)rest / (double)p->all, p->options->verbose ? "" : " (-v)");
}

void inspection_text_put_ways(FILE *out, const struct export_options *options,
			      const struct inspection *i, size_t top)
{
	struct ways_page p = {.out = out, .options = options, .i = i, .top = top};
	size_t first = SIZE_MAX;

	for (size_t n = 0; n < i->group_count; n++)
		p.all += i->groups[n].live.bytes;
	p.first = malloc((i->way_count + 1) * sizeof(*p.first));
	p.next = malloc((i->way_count + 1) * sizeof(*p.next));
	for (size_t n = 0; p.first && n < i->way_count; n++)
		p.first[n] = SIZE_MAX;
	for (size_t n = 0; p.first && p.next && n < i->way_count; n++) {
		size_t up = i->ways[n].up;

		ways_insert(&p, up < n ? &p.first[up] : &first, n);
	}
	if (p.first && p.next && first != SIZE_MAX && p.all) {
		fputc('\n', out);
		text_set_style(out, options, TEXT_BOLD);
		fputs("What hangs on what", out);
		text_set_style(out, options, TEXT_NONE);
		fputs(", each block with the nearest of what holds it:\n", out);
		ways_put_all(&p, first);
	}
	free(p.first);
	free(p.next);
}
