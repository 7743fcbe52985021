// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/kmem_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kmem.skel.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kmem/kmem_probe_events.h"
#include "user/trace/libbpf_messages.h"
#include "user/trace/recursion_misses.h"

#define KMEM_LIVE_SAMPLED 65536
#define KMEM_LIVE_ALL	  (512u << 10)
#define KMEM_BATCH	  4096

/* What an event takes beyond the program's run time, in ns: an empty program was measured. */
#define KMEM_EVENT_NS 40

struct kmem_probe {
	struct kmem_bpf *skel;
	struct kmem_events events;
	struct bpf_link *links[KMEM_EVENTS];
	size_t link_count;
	int stats; /* -1: run time is not counted */
	uint64_t measured_from_ns, run_ns, runs;
};

/* ---- loading ------------------------------------------------------------------------------ */

static struct bpf_program *kmem_probe_program(const struct kmem_probe *probe, const char *name)
{
	return bpf_object__find_program_by_name(probe->skel->obj, name);
}

static int kmem_probe_configure(struct kmem_probe *probe, const struct kmem_probe_options *o)
{
	const struct kmem_events *events = &probe->events;
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return cpus;
	probe->skel->rodata->config.places = events->places;
	probe->skel->rodata->config.cpus = (uint32_t)cpus;
	probe->skel->rodata->config.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	probe->skel->rodata->config.targets = o->pid_count != 0;
	probe->skel->bss->sample_bytes = o->sample_bytes;
	for (size_t i = 0; i < events->count; i++)
		bpf_program__set_autoload(kmem_probe_program(probe, events->wanted[i]->program),
					  true);
	bpf_program__set_autoload(probe->skel->progs.kmem_who, true);
	return bpf_map__set_max_entries(probe->skel->maps.live,
					o->sample_bytes ? KMEM_LIVE_SAMPLED : KMEM_LIVE_ALL);
}

/* Our own number in the initial pid namespace, in which we need not be. */
static int kmem_probe_find_self(struct kmem_probe *probe)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(bpf_program__fd(probe->skel->progs.kmem_who), &opts);
}

static int kmem_probe_set_targets(struct kmem_probe *probe, const struct kmem_probe_options *o)
{
	int fd = bpf_map__fd(probe->skel->maps.targets), err = 0;

	for (size_t i = 0; !err && i < o->pid_count; i++) {
		uint32_t pid = (uint32_t)o->pids[i];

		err = bpf_map_update_elem(fd, &pid, &pid, BPF_ANY) ? -errno : 0;
	}
	return err;
}

static int kmem_probe_load(struct kmem_probe *probe, const struct kmem_probe_options *o,
			   char reason[static REASON_MAX])
{
	const struct libbpf_refusal *refusal;
	int err = kmem_probe_configure(probe, o);

	if (err)
		return refuse(reason, err, "%s", strerror(-err));
	libbpf_refusal_forget();
	err = kmem_bpf__load(probe->skel);
	refusal = libbpf_refusal_last();
	if (err)
		return refuse(reason, err, "%s%s%s",
			      *refusal->program ? refusal->program : refusal->map,
			      *refusal->program || *refusal->map ? ": " : "", strerror(-err));
	err = kmem_probe_find_self(probe) ?: kmem_probe_set_targets(probe, o);
	return err ? refuse(reason, err, "%s", strerror(-err)) : 0;
}

/* Does without the kind whose program was refused. false: it was none of theirs, or the last kind. */
static bool kmem_probe_drop_refused(struct kmem_probe *probe)
{
	const char *refused = libbpf_refusal_last()->program;
	struct kmem_events *events = &probe->events;
	size_t kept = 0;
	int kind = -1;

	for (size_t i = 0; i < events->count; i++) {
		if (!strcmp(events->wanted[i]->program, refused))
			kind = (int)events->wanted[i]->kind;
	}
	if (kind < 0)
		return false;
	events->kinds &= ~(1u << kind);
	for (size_t i = 0; i < events->count; i++) {
		if ((int)events->wanted[i]->kind != kind)
			events->wanted[kept++] = events->wanted[i];
	}
	events->count = kept;
	return events->kinds != 0;
}

int kmem_probe_open(const struct kmem_probe_options *options, struct kmem_probe **out,
		    char reason[static REASON_MAX])
{
	struct kmem_probe *probe = calloc(1, sizeof(*probe));
	int err;

	*reason = '\0';
	if (!probe)
		return refuse(reason, -ENOMEM, "%s", strerror(ENOMEM));
	probe->stats = -1;
	libbpf_messages_to_log();
	err = kmem_events_find((1u << KERNEL_KINDS) - 1, &probe->events, reason);
	if (err) {
		kmem_probe_close(probe);
		return err;
	}
	do {
		kmem_bpf__destroy(probe->skel);
		probe->skel = kmem_bpf__open();
		err = probe->skel ? kmem_probe_load(probe, options, reason)
				  : refuse(reason, -errno, "%s", strerror(errno));
	} while (err && probe->skel && kmem_probe_drop_refused(probe));
	if (!err) {
		*out = probe;
		return 0;
	}
	kmem_probe_close(probe);
	return err;
}

void kmem_probe_close(struct kmem_probe *probe)
{
	if (!probe)
		return;
	kmem_probe_detach(probe);
	kmem_bpf__destroy(probe->skel);
	free(probe);
}

/* ---- attaching ---------------------------------------------------------------------------- */

unsigned kmem_probe_kinds(const struct kmem_probe *probe)
{
	return probe->events.kinds;
}

/* What an earlier attachment has left. */
static void kmem_probe_empty(struct kmem_probe *probe)
{
	const int fd = bpf_map__fd(probe->skel->maps.live);
	uint64_t key;

	while (!bpf_map_get_next_key(fd, NULL, &key) && !bpf_map_delete_elem(fd, &key))
		;
	memset(probe->skel->bss->filter, 0, sizeof(probe->skel->bss->filter));
}

int kmem_probe_attach(struct kmem_probe *probe, unsigned kinds, char reason[static REASON_MAX])
{
	kmem_probe_empty(probe);
	/* Frees first: a block that is recorded must not be freed unseen. */
	for (int allocs = 0; allocs < 2; allocs++) {
		for (size_t i = 0; i < probe->events.count; i++) {
			const struct kmem_event *event = probe->events.wanted[i];
			struct bpf_link *link;
			int err;

			if (!(kinds & 1u << event->kind) || event->frees == (allocs != 0))
				continue;
			link = bpf_program__attach_raw_tracepoint(
				kmem_probe_program(probe, event->program), event->name);
			if (!link) {
				err = -errno;
				kmem_probe_detach(probe);
				return refuse(reason, err, "the event %s: %s", event->name,
					      strerror(-err));
			}
			probe->links[probe->link_count++] = link;
		}
	}
	return 0;
}

void kmem_probe_detach(struct kmem_probe *probe)
{
	if (probe->stats >= 0)
		close(probe->stats);
	probe->stats = -1;
	/* Allocations first, for the same reason. */
	while (probe->link_count)
		bpf_link__destroy(probe->links[--probe->link_count]);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A bucket with more than the room for it asks for more. */
static int kmem_probe_batch(int fd, bool first, uint32_t *place, uint64_t *keys,
			    struct kmem_live *blocks, uint32_t *count)
{
	*count = KMEM_BATCH;
	return bpf_map_lookup_batch(fd, first ? NULL : place, place, keys, blocks, count, NULL)
		       ? -errno
		       : 0;
}

int kmem_probe_read(struct kmem_probe *probe, struct kmem_blocks *out)
{
	const int fd = bpf_map__fd(probe->skel->maps.live);
	_cleanup_free_ uint64_t *keys = calloc(KMEM_BATCH, sizeof(*keys));
	uint32_t place = 0, count;
	bool first = true;
	int err = 0;

	out->count = 0;
	out->now_ns = monotonic_ns();
	if (!keys)
		return log_errno(ENOMEM, "kernel");
	while (!err) {
		if (out->room < out->count + KMEM_BATCH) {
			size_t room = 2 * out->room + KMEM_BATCH;
			struct kmem_live *items = reallocarray(out->items, room, sizeof(*items));

			if (!items)
				return log_errno(ENOMEM, "kernel");
			out->items = items;
			out->room = room;
		}
		err = kmem_probe_batch(fd, first, &place, keys, out->items + out->count, &count);
		first = false;
		if (!err || err == -ENOENT)
			out->count += count;
	}
	return err == -ENOENT ? 0 : log_errno(err, "cannot read the books of the kernel's blocks");
}

bool kmem_probe_stack(const struct kmem_probe *probe, uint64_t id, struct kmem_stack *out)
{
	return id && !bpf_map_lookup_elem(bpf_map__fd(probe->skel->maps.stacks), &id, out);
}

bool kmem_probe_cache(const struct kmem_probe *probe, uint64_t cache, struct kmem_cache_name *out)
{
	return cache && !bpf_map_lookup_elem(bpf_map__fd(probe->skel->maps.caches), &cache, out);
}

/* Events that came on a CPU whose last one was still being recorded. */
static uint64_t kmem_probe_misses(const struct kmem_probe *probe)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, probe->skel->obj)
	{
		if (bpf_program__fd(program) >= 0)
			sum += recursion_misses_of_program(bpf_program__fd(program));
	}
	return sum;
}

static uint64_t kmem_probe_count(const struct kmem_probe *probe, uint32_t which)
{
	const int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint64_t sum = 0;

	if (!each || bpf_map_lookup_elem(bpf_map__fd(probe->skel->maps.counts), &which, each))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += each[i];
	return sum;
}

void kmem_probe_counts(const struct kmem_probe *probe, struct kmem_counts *out)
{
	*out = (struct kmem_counts){
		.lost[KERNEL_LOST_RECURSION] = kmem_probe_misses(probe),
		.lost[KERNEL_LOST_LIVE_FULL] = kmem_probe_count(probe, KMEM_LOST_LIVE_FULL),
		.lost[KERNEL_LOST_STACKS_FULL] = kmem_probe_count(probe, KMEM_LOST_STACKS_FULL),
		.lost[KERNEL_LOST_BUSY] = kmem_probe_count(probe, KMEM_LOST_BUSY),
		.frees_unseen = kmem_probe_count(probe, KMEM_FREES_UNSEEN),
		.split = kmem_probe_count(probe, KMEM_SPLIT),
	};
}

uint64_t kmem_probe_sample_bytes(const struct kmem_probe *probe)
{
	return probe->skel->bss->sample_bytes;
}

void kmem_probe_set_sample_bytes(struct kmem_probe *probe, uint64_t bytes)
{
	probe->skel->bss->sample_bytes = bytes;
}

/* ---- cost --------------------------------------------------------------------------------- */

static void kmem_probe_run_time(const struct kmem_probe *probe, uint64_t *ns, uint64_t *runs)
{
	struct bpf_program *program;

	*ns = *runs = 0;
	bpf_object__for_each_program(program, probe->skel->obj)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
			continue;
		*ns += info.run_time_ns;
		*runs += info.run_cnt;
	}
}

int kmem_probe_measure(struct kmem_probe *probe)
{
	if (probe->stats >= 0)
		return 0;
	probe->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (probe->stats < 0)
		return -errno;
	kmem_probe_run_time(probe, &probe->run_ns, &probe->runs);
	probe->measured_from_ns = monotonic_ns();
	return 0;
}

double kmem_probe_measured(struct kmem_probe *probe)
{
	uint64_t ns, runs, now = monotonic_ns();

	if (probe->stats < 0 || now == probe->measured_from_ns)
		return -1;
	kmem_probe_run_time(probe, &ns, &runs);
	close(probe->stats);
	probe->stats = -1;
	ns = ns - probe->run_ns + KMEM_EVENT_NS * (runs - probe->runs);
	return (double)ns / (double)(now - probe->measured_from_ns);
}
