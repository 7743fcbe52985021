// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/survey_shown.h"

#include <stdlib.h>

#include "user/base/hash.h"
#include "user/base/parse.h"
#include "user/export/text_parts.h"

struct shown_process {
	pid_t pid;
	uint64_t hash, since; /* of its text; when it was new */
	UT_hash_handle hh;
};

/* As many as there are processes that ever had probes: few, and each of some bytes. */
struct survey_shown {
	struct shown_process *processes;
};

struct survey_shown *survey_shown_new(void)
{
	return calloc(1, sizeof(struct survey_shown));
}

void survey_shown_free(struct survey_shown *shown)
{
	struct shown_process *p, *next;

	if (!shown)
		return;
	HASH_ITER (hh, shown->processes, p, next) {
		HASH_DEL(shown->processes, p);
		free(p);
	}
	free(shown);
}

void survey_put_stacks(FILE *out, const struct export_options *options,
		       const struct survey_drill *drill, size_t max)
{
	char bytes[FORMAT_BYTES_MAX];

	if (drill->snapshot->sample_bytes)
		fprintf(out, "estimates: one sample per %s allocated\n",
			format_bytes(bytes, drill->snapshot->sample_bytes));
	for (size_t i = 0; i < drill->shown_count && i < max; i++)
		text_put_stack(out, options, drill->report, i + 1, drill->shown[i]);
	if (drill->shown_count > max)
		fprintf(out, "\n%zu more (-v)\n", drill->shown_count - max);
}

/* FNV-1a. */
static uint64_t shown_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

uint64_t survey_shown_note(struct survey_shown *shown, pid_t pid, const char *text, uint64_t now)
{
	uint64_t hash = shown_hash(text);
	struct shown_process *p;

	HASH_FIND_INT(shown->processes, &pid, p);
	if (p && p->hash == hash)
		return p->since;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return 0;
		p->pid = pid;
		HASH_ADD_INT(shown->processes, pid, p);
		if (!p->hh.tbl) { /* how uthash tells that it ran out of memory */
			free(p);
			return 0;
		}
	}
	p->hash = hash;
	p->since = now;
	return 0;
}
