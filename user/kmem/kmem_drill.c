// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_drill.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/kmem/kmem_probe.h"
#include "user/kmem/kmem_rows.h"
#include "user/kmem/kmem_select.h"
#include "user/symbol/kallsyms.h"

#define DRILL_QUIET	  12		/* looks without growth, after which probes go out */
#define DRILL_SAMPLE_MAX  (1024 * 1024) /* rarer samples say too little */
#define DRILL_FLOOR	  (16 * 1024)	/* bytes: a stack that changes by less does not grow */
#define DRILL_KINDS	  (1u << KERNEL_SLAB | 1u << KERNEL_PAGES | 1u << KERNEL_PERCPU)
#define SLAB_NAME_MAX	  64
#define DRILL_FLOOR_PARTS 4 /* samples that a stack has to grow by */

struct kmem_drill {
	const struct kmem_config *config;
	struct kmem_survey *survey;
	struct kmem_probe *probe; /* NULL: not loaded */
	FILE *symbols_file;	  /* opened with the rights that showing addresses needs */
	struct kallsyms *symbols; /* NULL: not read yet */
	struct kmem_blocks blocks;
	struct kmem_rows rows;
	struct size_history *history; /* of rows, since the probes went in */
	struct kernel_books books;
	uint64_t since_ns, rest_until_ns; /* CLOCK_MONOTONIC */
	unsigned quiet;			  /* looks since something grew */
	bool any, failed;		  /* there are books; nothing more is tried */
};

struct kmem_drill *kmem_drill_new(const struct kmem_config *config, struct kmem_survey *survey)
{
	struct kmem_drill *drill = calloc(1, sizeof(*drill));

	if (drill) {
		drill->config = config;
		drill->survey = survey;
		drill->books.cpu_share = -1;
	}
	return drill;
}

void kmem_drill_free(struct kmem_drill *drill)
{
	if (!drill)
		return;
	kmem_probe_close(drill->probe);
	if (drill->symbols_file)
		fclose(drill->symbols_file);
	kallsyms_free(drill->symbols);
	kmem_rows_free(&drill->rows);
	size_history_free(drill->history);
	free(drill->blocks.items);
	free(drill);
}

/* ---- in and out --------------------------------------------------------------------------- */

static int kmem_drill_refused(struct kmem_drill *drill, struct missing_parts *missing, int err,
			      const char *reason)
{
	drill->failed = true;
	missing_add(missing, "probes", "no stacks: the survey alone", "%s", reason);
	log_warn("no probes, and so no stacks: %s", reason);
	return err;
}

static void kmem_drill_read_symbols(struct kmem_drill *drill)
{
	if (drill->symbols)
		return;
	drill->symbols = drill->symbols_file ? kallsyms_read(drill->symbols_file) : NULL;
	if (!drill->symbols || !kallsyms_known(drill->symbols))
		log_warn("the kernel hides its addresses, so functions have no names: give "
			 "CAP_SYSLOG, and kernel.kptr_restrict at most 1");
}

static void kmem_drill_tell(const struct kmem_drill *drill, unsigned kinds)
{
	char text[64] = "", bytes[FORMAT_BYTES_MAX];
	size_t used = 0;

	for (unsigned kind = 0; kind < KERNEL_KINDS; kind++) {
		if (kinds & 1u << kind)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? ", " : "", kernel_kind_name(kind));
	}
	if (drill->books.sample_bytes)
		log_info("attached to the kernel's allocations (%s; one sample per %s)", text,
			 format_bytes(bytes, drill->books.sample_bytes));
	else
		log_info("attached to the kernel's allocations (%s; all of them)", text);
}

static int kmem_drill_in(struct kmem_drill *drill, unsigned kinds, struct missing_parts *missing)
{
	char reason[REASON_MAX] = "";
	int err;

	kinds &= kmem_probe_kinds(drill->probe);
	if (!kinds)
		return kmem_drill_refused(drill, missing, -EOPNOTSUPP,
					  "this kernel has no events of these kinds");
	size_history_free(drill->history);
	drill->history = size_history_new();
	kmem_drill_read_symbols(drill);
	kmem_probe_set_sample_bytes(drill->probe, drill->config->sample_bytes);
	err = drill->history ? kmem_survey_mark(drill->survey) : log_errno(ENOMEM, "kernel");
	if (err)
		return err;
	err = kmem_probe_attach(drill->probe, kinds, reason);
	if (err)
		return kmem_drill_refused(drill, missing, err, reason);
	drill->since_ns = monotonic_ns();
	drill->books = (struct kernel_books){.in = true,
					     .kinds = kinds,
					     .sample_bytes = drill->config->sample_bytes,
					     .cpu_share = -1};
	drill->any = true;
	drill->quiet = 0;
	if (kmem_probe_measure(drill->probe))
		log_debug("the kernel does not count what BPF programs take");
	kmem_drill_tell(drill, kinds);
	return 0;
}

static void kmem_drill_out(struct kmem_drill *drill, const char *why)
{
	kmem_probe_detach(drill->probe);
	drill->books.in = false;
	drill->books.stopped = why;
	log_info("detached from the kernel's allocations: %s", why);
}

int kmem_drill_begin(struct kmem_drill *drill, struct missing_parts *missing)
{
	const struct kmem_config *c = drill->config;
	const struct kmem_probe_options options = {
		.sample_bytes = c->sample_bytes,
		.pids = c->pids.pids,
		.pid_count = c->pids.count,
	};
	char reason[REASON_MAX] = "";
	int err = kmem_probe_open(&options, &drill->probe, reason);

	if (err)
		return kmem_drill_refused(drill, missing, err, reason);
	/* The kernel asks for the right when the file is opened, and it takes long to read. */
	drill->symbols_file = fopen("/proc/kallsyms", "re");
	if (*reason) {
		missing_add(missing, "probes", "a kind of memory is not followed", "%s", reason);
		log_info("this kernel refuses %s: a kind of memory is not followed", reason);
	}
	return c->probes.at_once ? kmem_drill_in(drill, c->probes.kinds ?: DRILL_KINDS, missing)
				 : 0;
}

/* ---- what they may cost ------------------------------------------------------------------- */

/* Rarer samples first; where these do not help the probes rest until it is made good. */
static void kmem_drill_save(struct kmem_drill *drill)
{
	const double budget = drill->config->budget / 1000.0, share = drill->books.cpu_share;
	const uint64_t bytes = kmem_probe_sample_bytes(drill->probe), now = monotonic_ns();

	if (budget <= 0 || share <= budget)
		return;
	if (bytes && bytes < DRILL_SAMPLE_MAX) {
		drill->books.sample_bytes = 4 * bytes;
		kmem_probe_set_sample_bytes(drill->probe, 4 * bytes);
		log_debug("the probes take %.2f %% of a CPU: samples are four times rarer now",
			  100 * share);
		return;
	}
	drill->rest_until_ns = now + (uint64_t)((double)(now - drill->since_ns) * share / budget);
	kmem_drill_out(drill, "they take more of a CPU than --budget allows");
}

/* Half of the time nobody counts, as counting costs as well. */
static void kmem_drill_measure(struct kmem_drill *drill)
{
	double share = kmem_probe_measured(drill->probe);

	if (share < 0) {
		kmem_probe_measure(drill->probe);
		return;
	}
	drill->books.cpu_share = share;
	kmem_drill_save(drill);
}

void kmem_drill_turn(struct kmem_drill *drill, struct missing_parts *missing)
{
	const struct kmem_config *c = drill->config;
	unsigned growing = kmem_survey_growing(drill->survey);

	if (drill->failed || !drill->probe)
		return;
	if (c->probes.kinds)
		growing &= c->probes.kinds;
	if (drill->books.in) {
		kmem_drill_measure(drill);
		drill->quiet = growing ? 0 : drill->quiet + 1;
		if (drill->books.in && !c->probes.at_once && drill->quiet > DRILL_QUIET)
			kmem_drill_out(drill, "nothing grows any more");
		return;
	}
	if (monotonic_ns() < drill->rest_until_ns)
		return;
	if (c->probes.at_once)
		kmem_drill_in(drill, c->probes.kinds ?: DRILL_KINDS, missing);
	else if (growing)
		kmem_drill_in(drill, growing, missing);
}

/* ---- what they have found ----------------------------------------------------------------- */

static bool kmem_drill_stack(void *ctx, uint64_t id, struct kmem_stack *out)
{
	return kmem_probe_stack(((struct kmem_drill *)ctx)->probe, id, out);
}

static bool kmem_drill_cache(void *ctx, uint64_t cache, struct kmem_cache_name *out)
{
	return kmem_probe_cache(((struct kmem_drill *)ctx)->probe, cache, out);
}

static void kmem_drill_frame(void *ctx, uint64_t address, struct kernel_frame *out)
{
	const struct kmem_drill *drill = ctx;
	struct kallsyms_symbol symbol;

	if (!drill->symbols || !kallsyms_find(drill->symbols, address, &symbol))
		return;
	out->function = symbol.name;
	out->module = symbol.module;
	/* Of the return address, as the kernel writes stacks itself. */
	out->offset = symbol.offset + 1;
}

static const char *kmem_drill_group(void *ctx, uint64_t id)
{
	return kmem_survey_group(((struct kmem_drill *)ctx)->survey, id);
}

static bool kmem_drill_group_wanted(void *ctx, uint64_t id)
{
	const struct kmem_drill *drill = ctx;

	return kmem_selects_group(&drill->config->select, kmem_survey_group(drill->survey, id));
}

static bool kmem_drill_reclaimable(void *ctx, const char *cache)
{
	return kmem_survey_reclaimable(((struct kmem_drill *)ctx)->survey, cache);
}

/* In a list with commas between its names. */
static bool kmem_drill_lists(const struct kmem_drill *drill, const char *list, const char *cache)
{
	char name[SLAB_NAME_MAX];

	for (size_t len; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		snprintf(name, sizeof(name), "%.*s", (int)len, list);
		if (kmem_survey_is_name(drill->survey, cache, name))
			return true;
	}
	return false;
}

static bool kmem_drill_wanted(void *ctx, const char *cache)
{
	const struct kmem_drill *drill = ctx;
	const struct string_list *caches = &drill->config->probes.caches;

	for (size_t i = 0; cache && i < caches->count; i++) {
		if (kmem_drill_lists(drill, caches->items[i], cache))
			return true;
	}
	return !caches->count;
}

static uint64_t kmem_drill_most(void *ctx, const char *name, uint64_t object_bytes)
{
	return kmem_survey_most(((struct kmem_drill *)ctx)->survey, name, object_bytes);
}

static void kmem_drill_distrust(void *ctx, const char *cache)
{
	kmem_survey_distrust(((struct kmem_drill *)ctx)->survey, cache);
}

int kmem_drill_read(struct kmem_drill *drill)
{
	struct kernel_books *books = &drill->books;
	struct kmem_counts counts;
	int err;

	if (!books->in)
		return 0;
	/* Rows point into the blocks. */
	kmem_rows_free(&drill->rows);
	books->stacks = NULL;
	books->stack_count = 0;
	err = kmem_probe_read(drill->probe, &drill->blocks);
	if (err)
		return err;
	kmem_probe_counts(drill->probe, &counts);
	memcpy(books->lost, counts.lost, sizeof(books->lost));
	books->frees_unseen = counts.frees_unseen;
	books->split = counts.split;
	books->elapsed_ns = drill->blocks.now_ns - drill->since_ns;
	return 0;
}

const struct kernel_books *kmem_drill_books(struct kmem_drill *drill)
{
	const struct kmem_names names = {
		.ctx = drill,
		.stack = kmem_drill_stack,
		.cache = kmem_drill_cache,
		.frame = kmem_drill_frame,
		.group = kmem_drill_group,
		.group_wanted =
			kmem_selects(&drill->config->select) ? kmem_drill_group_wanted : NULL,
		.reclaimable = kmem_drill_reclaimable,
		.wanted = kmem_drill_wanted,
		.most = kmem_drill_most,
		.distrust = kmem_drill_distrust,
		.kinds = drill->books.kinds,
	};
	struct kernel_books *books = &drill->books;
	uint64_t floor = DRILL_FLOOR_PARTS * books->sample_bytes;

	if (!drill->any)
		return NULL;
	if (!books->in)
		return books;
	size_history_look(drill->history, drill->blocks.now_ns);
	if (kmem_rows_make(&drill->rows, drill->blocks.items, drill->blocks.count,
			   drill->blocks.now_ns, &names, drill->history,
			   floor > DRILL_FLOOR ? floor : DRILL_FLOOR)) {
		log_errno(ENOMEM, "kernel");
		return NULL;
	}
	books->stacks = drill->rows.stacks;
	books->stack_count = drill->rows.count;
	return books;
}
