// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sentences about a process that was looked at: user/analysis/findings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/findings_making.h"
#include "user/base/clock.h"
#include "user/base/util.h"

/* A variable that holds less than such a part is not worth a sentence. */
#define INSPECTED_HOLDS_SHARE 0.1
/* Growth is worth one if it would double the kind's bytes in so many looks, or sooner. */
#define INSPECTED_GROWTH_LOOKS 100
/* Free memory that an allocator keeps, from so much and such a part of all on. */
#define INSPECTED_FREE_BYTES (16ull << 20)
#define INSPECTED_FREE_SHARE 0.25
#define INSPECTED_TEXT_MAX   512

struct inspected_making {
	const struct inspection *i;
	struct findings *to;
	uint64_t memory; /* its own, in memory or swapped out */
	uint64_t blocks, bytes;
	bool failed;
};

/* "437 blocks of 232 B", "a block of 4.0 KiB", "100 shop::Session". Returns buf. */
static char *inspected_some(char buf[static INSPECTED_TEXT_MAX], uint64_t count, const char *label)
{
	static const char blocks[] = "blocks of ";
	const char *alike = strstr(label, " that begin alike");
	char grouped[FORMAT_GROUPED_MAX];
	int len = alike ? (int)(alike - label) : (int)strlen(label);

	if (count == 1 && !strncmp(label, blocks, strlen(blocks)))
		snprintf(buf, INSPECTED_TEXT_MAX, "a block of %.*s", len - (int)strlen(blocks),
			 label + strlen(blocks));
	else
		snprintf(buf, INSPECTED_TEXT_MAX, "%s %.*s", format_grouped(grouped, count), len,
			 label);
	return buf;
}

/* ---- what is lost ------------------------------------------------------------------------- */

/* A loss that no suppression knows, the largest: they stand in that order. */
static const struct inspected_loss *inspected_worst(const struct inspection *i)
{
	const struct inspected_loss *worst = NULL;

	for (size_t n = 0; n < i->loss_count; n++) {
		const struct inspected_loss *loss = &i->losses[n];

		if (inspected_group_suppressed(&i->groups[loss->group]))
			continue;
		if (!worst ||
		    loss->lost.bytes + loss->kept.bytes > worst->lost.bytes + worst->kept.bytes)
			worst = loss;
	}
	return worst;
}

static void inspected_tell_lost(struct inspected_making *m)
{
	const struct inspected_loss *loss = inspected_worst(m->i);
	char some[INSPECTED_TEXT_MAX], bytes[FORMAT_BYTES_MAX], hang[FORMAT_BYTES_MAX];
	char count[FORMAT_GROUPED_MAX], more[128] = "", from[INSPECTED_TEXT_MAX] = "", *label;
	struct finding *finding;

	if (!loss)
		return;
	label = inspected_group_label(&m->i->groups[loss->group]);
	if (loss->kept.count)
		snprintf(more, sizeof(more), ", and %s %s that hang on %s, %s",
			 format_grouped(count, loss->kept.count), findings_blocks(loss->kept.count),
			 loss->lost.count == 1 ? "it" : "them",
			 format_bytes(hang, loss->kept.bytes));
	if (loss->origin.function)
		snprintf(from, sizeof(from), " from %s", loss->origin.function);
	finding = label ? findings_add(m->to, FINDING_LOST, loss->lost.bytes + loss->kept.bytes,
				       "nothing points to %s%s any more, %s%s",
				       inspected_some(some, loss->lost.count, label), from,
				       format_bytes(bytes, loss->lost.bytes), more)
			: NULL;
	free(label);
	if (finding) {
		finding->share = findings_share(finding->bytes, m->bytes);
		finding->where.function =
			loss->origin.function ? strdup(loss->origin.function) : NULL;
	}
	m->failed |= !finding || (loss->origin.function && !finding->where.function);
}

/* Why what seems lost, or not lost, may be otherwise; NULL: nothing is known to be against it. */
static const char *inspected_doubt(const struct inspection *i)
{
	if (i->verdict.approximate)
		return "it was not all read in one moment";
	if (i->verdict.unread_bytes)
		return "some of its memory could not be read";
	if (i->no_registers || i->unknown_threads)
		return "the registers of some threads are not known";
	if (i->parts[MEMORY_UNBELIEVED])
		return "some books of its allocators are not believed";
	return NULL;
}

static void inspected_tell_clear(struct inspected_making *m)
{
	const char *doubt = inspected_doubt(m->i);
	const struct amount *possible = &m->i->verdict.classes[VERDICT_POSSIBLE];
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	struct finding *finding;

	if (!m->blocks)
		finding = findings_add(
			m->to, FINDING_NOT_SEEN, 0,
			"none of its blocks are seen, for no allocator is known to it: of "
			"leaks nothing can be said");
	else if (m->i->loss_count && !inspected_worst(m->i))
		finding = findings_add(m->to, FINDING_CLEAR, 0, "all that is lost is suppressed");
	else if (inspected_worst(m->i))
		return;
	else if (possible->count)
		finding = findings_add(
			m->to, FINDING_CLEAR, 0,
			"no block is certainly lost of the %s that are seen; only pointers into "
			"their midst lead to %s%s%s",
			format_grouped(count, m->blocks), format_bytes(bytes, possible->bytes),
			doubt ? "; but " : "", doubt ?: "");
	else
		finding = findings_add(
			m->to, FINDING_CLEAR, 0, "no block is lost of the %s that are seen%s%s",
			format_grouped(count, m->blocks), doubt ? "; but " : "", doubt ?: "");
	m->failed |= !finding;
}

/* ---- what holds most, what grows ---------------------------------------------------------- */

/* Of all that hangs on a root, the blocks of one kind in one place that have most bytes. */
static const struct inspected_way *inspected_most_below(const struct inspection *i, size_t root)
{
	const struct inspected_way *most = NULL;

	for (size_t n = root; n < i->way_count; n++) {
		size_t up = n;

		/* Holders stand before what they hold. */
		while (i->ways[up].up < up)
			up = i->ways[up].up;
		if (up == root && i->ways[n].own.count &&
		    (!most || i->ways[n].own.bytes > most->own.bytes))
			most = &i->ways[n];
	}
	return most;
}

static void inspected_tell_holder(struct inspected_making *m)
{
	const struct inspected_way *most = NULL, *below;
	size_t root = 0;
	char bytes[FORMAT_BYTES_MAX], *what;
	struct finding *finding;
	double share;

	for (size_t n = 0; n < m->i->way_count; n++) {
		const struct inspected_way *way = &m->i->ways[n];

		if (way->up != SIZE_MAX || way->lost)
			continue;
		if (!most || way->retained.bytes > most->retained.bytes) {
			most = way;
			root = n;
		}
	}
	share = most ? findings_share(most->retained.bytes, m->bytes) : 0;
	if (share < INSPECTED_HOLDS_SHARE)
		return;
	below = inspected_most_below(m->i, root);
	what = below ? inspected_way_label(below) : NULL;
	finding = findings_add(m->to, FINDING_HOLDS, most->retained.bytes,
			       "%s holds %.1f %% of the heap, %s%s%s", most->name, 100 * share,
			       format_bytes(bytes, most->retained.bytes),
			       what ? ", most of it " : "", what ?: "");
	free(what);
	if (finding) {
		finding->share = share;
		finding->where.variable = strdup(most->name);
	}
	m->failed |= !finding || !finding->where.variable;
}

static void inspected_tell_growing(struct inspected_making *m)
{
	const struct inspected_group *most = NULL;
	char rate[FORMAT_BYTES_MAX], bytes[FORMAT_BYTES_MAX], some[INSPECTED_TEXT_MAX], *label;
	struct finding *finding;

	for (size_t n = 0; n < m->i->group_count; n++) {
		const struct inspected_group *g = &m->i->groups[n];
		double grown = g->growth_bytes_per_s * (double)m->i->elapsed_ns / NS_PER_S;

		if (!g->growth_known || grown * INSPECTED_GROWTH_LOOKS < (double)g->live.bytes ||
		    grown <= 0)
			continue;
		if (!most || g->growth_bytes_per_s > most->growth_bytes_per_s)
			most = g;
	}
	if (!most)
		return;
	label = inspected_group_label(most);
	finding = label ? findings_add(m->to, FINDING_GROWING, most->live.bytes,
				       "%s, %s, grow by %s/s since the look before",
				       inspected_some(some, most->live.count, label),
				       format_bytes(bytes, most->live.bytes),
				       format_bytes(rate, saturate_u64(most->growth_bytes_per_s)))
			: NULL;
	free(label);
	if (finding)
		finding->share = findings_share(most->live.bytes, m->bytes);
	m->failed |= !finding;
}

/* ---- where its memory is ------------------------------------------------------------------ */

/* The one call that gives most of an allocator's free memory back; NULL: none is known. */
static const struct inspected_help *inspected_best_help(const struct inspection *i,
							size_t allocator)
{
	const struct inspected_help *best = NULL;

	for (size_t n = 0; n < i->help_count; n++) {
		const struct inspected_help *h = &i->helps[n];

		/* Of these nobody knows before the program's next start. */
		if (h->allocator != allocator || h->kind == HELP_ARENA_MAX ||
		    h->kind == HELP_MMAP_THRESHOLD)
			continue;
		if (!best || h->bytes > best->bytes)
			best = h;
	}
	return best;
}

/* "; 12.0 MiB of it are kept by 3,999 blocks of 248 B", the kind that keeps most, where keeping is most of it. */
static void inspected_put_keeper(const struct inspection *i, size_t allocator,
				 char text[static INSPECTED_TEXT_MAX])
{
	const struct inspected_allocator *a = &i->allocators[allocator];
	char bytes[FORMAT_BYTES_MAX], some[INSPECTED_TEXT_MAX];

	*text = '\0';
	if (a->kept_resident < a->free_resident / 2)
		return;
	for (size_t n = 0; n < i->keeper_count; n++) {
		const struct inspected_keeper *k = &i->keepers[n];
		char *label;

		/* Of each what keeps most stands first. */
		if (k->allocator != allocator || k->group >= i->group_count)
			continue;
		label = inspected_group_label(&i->groups[k->group]);
		if (label)
			snprintf(text, INSPECTED_TEXT_MAX, "; %s keep most, %s",
				 inspected_some(some, k->blocks, label),
				 format_bytes(bytes, k->kept));
		free(label);
		return;
	}
}

static void inspected_put_help(const struct inspection *i, size_t allocator,
			       char text[static INSPECTED_TEXT_MAX])
{
	static const char *const calls[HELP_KINDS] = {
		[HELP_MALLOC_TRIM] = "malloc_trim(0)",
		[HELP_PURGE] = "a purge",
		[HELP_FLUSH] = "a flush of threads' caches, and a purge",
		[HELP_RELEASE] = "ReleaseFreeMemory()",
		[HELP_COLLECT] = "mi_collect(true)",
	};
	const struct inspected_help *h = inspected_best_help(i, allocator);
	char bytes[FORMAT_BYTES_MAX];

	*text = '\0';
	if (h && calls[h->kind])
		snprintf(text, INSPECTED_TEXT_MAX, "; %s gives %s%s back", calls[h->kind],
			 h->exact ? "" : "at most ", format_bytes(bytes, h->bytes));
}

static void inspected_tell_free(struct inspected_making *m)
{
	const struct inspection *i = m->i;
	char bytes[FORMAT_BYTES_MAX], keeper[INSPECTED_TEXT_MAX], help[INSPECTED_TEXT_MAX];
	struct finding *finding;
	uint64_t most = 0;
	size_t at = 0;
	double share;

	for (size_t n = 0; n < i->allocator_count; n++) {
		if (i->allocators[n].free_resident > most) {
			most = i->allocators[n].free_resident;
			at = n;
		}
	}
	share = findings_share(most, m->memory);
	if (most < INSPECTED_FREE_BYTES || share < INSPECTED_FREE_SHARE)
		return;
	inspected_put_keeper(i, at, keeper);
	inspected_put_help(i, at, help);
	finding = findings_add(m->to, FINDING_FREE, most,
			       "%.1f %% of its memory, %s, is free, and kept by %s: no leak%s%s",
			       100 * share, format_bytes(bytes, most), i->allocators[at].name,
			       keeper, help);
	if (finding)
		finding->share = share;
	m->failed |= !finding;
}

/* The largest part of its memory, but those in the mask; -1: there is none. */
static int inspected_largest(const struct inspection *i, unsigned but)
{
	int most = -1;

	for (int part = 0; part < MEMORY_PARTS; part++) {
		if (!(but & 1u << part) && i->parts[part] &&
		    (most < 0 || i->parts[part] > i->parts[most]))
			most = part;
	}
	return most;
}

static void inspected_tell_memory(struct inspected_making *m)
{
	/* What is free has had its sentence. */
	unsigned told = findings_have(m->to, FINDING_FREE) ? 1u << MEMORY_FREE : 0;
	int first = inspected_largest(m->i, told);
	int second = first < 0 ? -1 : inspected_largest(m->i, told | 1u << first);
	char bytes[FORMAT_BYTES_MAX], human[FORMAT_BYTES_MAX], also[256] = "", shared[128] = "";
	struct finding *finding;

	if (first < 0)
		return;
	if (second >= 0)
		snprintf(also, sizeof(also), ", %.1f %% %s",
			 100 * findings_share(m->i->parts[second], m->memory),
			 memory_part_text((enum memory_part)second));
	if (m->i->shmem)
		snprintf(shared, sizeof(shared), "; shared memory, %s, was not looked at",
			 format_bytes(human, m->i->shmem));
	finding = findings_add(
		m->to, FINDING_MEMORY, m->memory, "of its own memory, %s, %.1f %% is %s%s%s",
		format_bytes(bytes, m->memory), 100 * findings_share(m->i->parts[first], m->memory),
		memory_part_text((enum memory_part)first), also, shared);
	if (finding)
		finding->share = findings_share(m->i->parts[first], m->memory);
	m->failed |= !finding;
}

static void inspected_tell_next(struct inspected_making *m)
{
	const struct inspection *i = m->i;
	struct finding *finding = NULL;

	if (i->core || i->traced)
		return;
	if (!i->elapsed_ns)
		finding =
			findings_add(m->to, FINDING_NEXT, 0,
				     "next: memleakbpf inspect -p %d -i 10 -n 2 tells what grows, "
				     "memleakbpf -p %d which lines allocate it",
				     i->pid, i->pid);
	else
		finding = findings_add(m->to, FINDING_NEXT, 0,
				       "next: memleakbpf -p %d tells which lines allocate it",
				       i->pid);
	m->failed |= !finding;
}

int findings_of_inspection(struct inspection *inspection)
{
	struct inspected_making m = {
		.i = inspection,
		.to = calloc(1, sizeof(*m.to)),
		.memory = inspection->rss_anon + inspection->swap,
	};

	findings_free(inspection->findings);
	inspection->findings = NULL;
	if (!m.to)
		return -ENOMEM;
	for (int class = 0; class < VERDICT_CLASSES; class ++) {
		m.blocks += inspection->verdict.classes[class].count;
		m.bytes += inspection->verdict.classes[class].bytes;
	}
	/* Of what is traced the report of the same moment tells what is lost, by line. */
	if (!inspection->traced)
		inspected_tell_lost(&m);
	inspected_tell_growing(&m);
	/* What there is most of comes first. */
	if (inspected_largest(inspection, 0) == MEMORY_FREE)
		inspected_tell_free(&m);
	inspected_tell_holder(&m);
	if (!inspection->traced)
		inspected_tell_clear(&m);
	if (!findings_have(m.to, FINDING_FREE))
		inspected_tell_free(&m);
	inspected_tell_memory(&m);
	inspected_tell_next(&m);
	findings_trim(m.to, FINDINGS_SHOWN);
	if (m.failed) {
		findings_free(m.to);
		return -ENOMEM;
	}
	inspection->findings = m.to;
	return 0;
}
