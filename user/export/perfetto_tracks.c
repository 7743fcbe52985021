// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes and counter tracks of a Perfetto trace. */
#include "user/base/clock.h"
#include "user/base/text.h"
#include "user/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/*
 * perfetto/trace/builtin_clock.proto; timestamps of heap dumps are always read as the coarse one.
 */
static const unsigned clocks[] = {1 /* realtime */, 3 /* monotonic */, 4 /* monotonic coarse */,
				  6 /* boot time, the default */};

static const struct {
	const char *name;
	enum counter_unit unit;
	const char *unit_name;
} counters[] = {
	[COUNTER_LIVE_BYTES] = {"live bytes", UNIT_SIZE_BYTES, NULL},
	[COUNTER_LIVE_BLOCKS] = {"live blocks", UNIT_COUNT, NULL},
	[COUNTER_RATE] = {"allocation rate", UNIT_NAMED, "bytes/s"},
	[COUNTER_RSS] = {"RSS", UNIT_SIZE_BYTES, NULL},
	[COUNTER_ANON] = {"anonymous memory", UNIT_SIZE_BYTES, NULL},
	[COUNTER_SWAP] = {"swapped out", UNIT_SIZE_BYTES, NULL},
	[COUNTER_PEAK] = {"peak of live bytes", UNIT_SIZE_BYTES, NULL},
	/* verdict_class_text() */
	[COUNTER_VERDICT + VERDICT_DEFINITE] = {"definitely lost", UNIT_SIZE_BYTES, NULL},
	[COUNTER_VERDICT + VERDICT_INDIRECT] = {"indirectly lost", UNIT_SIZE_BYTES, NULL},
	[COUNTER_VERDICT + VERDICT_POSSIBLE] = {"possibly lost", UNIT_SIZE_BYTES, NULL},
	[COUNTER_VERDICT + VERDICT_REACHABLE] = {"still reachable", UNIT_SIZE_BYTES, NULL},
};
_Static_assert(ARRAY_SIZE(counters) == COUNTERS, "every counter has a name");

size_t perfetto_packet(struct perfetto *p, uint32_t sequence)
{
	size_t mark = wire_open(&p->out, TRACE_PACKET);

	wire_uint(&p->out, PACKET_SEQUENCE_ID, sequence);
	return mark;
}

void perfetto_put_clocks(struct perfetto *p, uint64_t time_ns)
{
	size_t mark, snapshot;

	if (p->begun)
		return;
	p->begun = true;
	mark = perfetto_packet(p, COUNTER_SEQUENCE);
	snapshot = wire_open(&p->out, PACKET_CLOCK_SNAPSHOT);
	/*
	 * All of them show the same: a snapshot knows the real time and what has passed since
	 * attach.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		size_t clock = wire_open(&p->out, CLOCK_SNAPSHOT_CLOCKS);

		wire_uint(&p->out, CLOCK_ID, clocks[i]);
		wire_uint(&p->out, CLOCK_TIMESTAMP, time_ns);
		wire_close(&p->out, clock);
	}
	wire_close(&p->out, snapshot);
	wire_close(&p->out, mark);
}

static void put_tree(struct perfetto *p, const struct snapshot *s, uint64_t time_ns)
{
	char comm[sizeof(s->comm) + 1];
	size_t mark = perfetto_packet(p, COUNTER_SEQUENCE), tree, part;

	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(s->comm), s->comm);
	wire_uint(&p->out, PACKET_TIMESTAMP, time_ns);
	tree = wire_open(&p->out, PACKET_PROCESS_TREE);
	part = wire_open(&p->out, PROCESS_TREE_PROCESSES);
	wire_uint(&p->out, PROCESS_PID, (uint64_t)s->pid);
	for (char *const *arg = s->cmdline; arg && *arg; arg++)
		wire_put_name(&p->out, PROCESS_CMDLINE, *arg);
	if ((!s->cmdline || !*s->cmdline) && *comm)
		wire_put_name(&p->out, PROCESS_CMDLINE, comm);
	wire_close(&p->out, part);
	part = wire_open(&p->out, PROCESS_TREE_THREADS);
	wire_uint(&p->out, THREAD_TID, (uint64_t)s->pid);
	if (*comm)
		wire_put_name(&p->out, THREAD_NAME, comm);
	wire_uint(&p->out, THREAD_TGID, (uint64_t)s->pid);
	wire_close(&p->out, part);
	wire_close(&p->out, tree);
	wire_close(&p->out, mark);
}

/* The process's own track is number COUNTERS. */
static uint64_t track_uuid(pid_t pid, unsigned counter)
{
	return id_map_mix((uint64_t)pid << 8 | (counter + 1));
}

/* Of those counters, a bit each, which have none yet; a process's first. */
static int put_tracks(struct perfetto *p, pid_t pid, uint32_t wanted)
{
	uint32_t known = 0;

	id_map_get(&p->tracks, (uint64_t)pid, &known);
	wanted = (wanted | 1u << COUNTERS) & ~known;
	if (wanted && id_map_put(&p->tracks, (uint64_t)pid, known | wanted))
		return -ENOMEM;
	for (unsigned i = 0; i <= COUNTERS; i++) {
		/* Parents first. */
		unsigned counter = (i + COUNTERS) % (COUNTERS + 1);
		size_t mark, track, part;

		if (!(wanted & 1u << counter))
			continue;
		mark = perfetto_packet(p, COUNTER_SEQUENCE);
		track = wire_open(&p->out, PACKET_TRACK_DESCRIPTOR);
		wire_uint(&p->out, TRACK_UUID, track_uuid(pid, counter));
		if (counter == COUNTERS) {
			part = wire_open(&p->out, TRACK_PROCESS);
			wire_uint(&p->out, TRACK_PROCESS_PID, (uint64_t)pid);
		} else {
			wire_uint(&p->out, TRACK_PARENT_UUID, track_uuid(pid, COUNTERS));
			wire_string(&p->out, TRACK_NAME, counters[counter].name);
			part = wire_open(&p->out, TRACK_COUNTER);
			if (counters[counter].unit_name)
				wire_string(&p->out, COUNTER_UNIT_NAME,
					    counters[counter].unit_name);
			else
				wire_uint(&p->out, COUNTER_UNIT, counters[counter].unit);
		}
		wire_close(&p->out, part);
		wire_close(&p->out, track);
		wire_close(&p->out, mark);
	}
	return 0;
}

static void put_value(struct perfetto *p, uint64_t track, uint64_t time_ns, uint64_t value)
{
	size_t mark = perfetto_packet(p, COUNTER_SEQUENCE), event;

	wire_uint(&p->out, PACKET_TIMESTAMP, time_ns);
	event = wire_open(&p->out, PACKET_TRACK_EVENT);
	wire_uint(&p->out, EVENT_TYPE, EVENT_TYPE_COUNTER);
	wire_uint(&p->out, EVENT_TRACK_UUID, track);
	wire_uint(&p->out, EVENT_COUNTER_VALUE, value);
	wire_close(&p->out, event);
	wire_close(&p->out, mark);
}

static void put_counter(struct perfetto *p, pid_t pid, enum counter counter, uint64_t time_ns,
			uint64_t value)
{
	put_value(p, track_uuid(pid, counter), time_ns, value);
}

void perfetto_put_counters(struct perfetto *p, const struct perfetto_heap *h,
			   const struct snapshot *s, uint64_t time_ns)
{
	uint64_t elapsed = s->elapsed_ns - h->elapsed_ns;
	double rate = 0;

	put_counter(p, s->pid, COUNTER_LIVE_BYTES, time_ns, s->live.bytes);
	put_counter(p, s->pid, COUNTER_LIVE_BLOCKS, time_ns, s->live.count);
	if (elapsed && s->alloc.bytes > h->alloc.bytes)
		rate = (double)(s->alloc.bytes - h->alloc.bytes) * NS_PER_S / (double)elapsed;
	put_counter(p, s->pid, COUNTER_RATE, time_ns, saturate_u64(rate));
	if (s->memory.rss)
		put_counter(p, s->pid, COUNTER_RSS, time_ns, s->memory.rss);
	if (s->memory.anon)
		put_counter(p, s->pid, COUNTER_ANON, time_ns, s->memory.anon);
}

int perfetto_put_verdict(struct perfetto *p, const struct snapshot *s, uint64_t time_ns)
{
	uint32_t wanted = ((1u << VERDICT_CLASSES) - 1) << COUNTER_VERDICT;

	if (put_tracks(p, s->pid, wanted))
		return -ENOMEM;
	for (unsigned i = 0; i < VERDICT_CLASSES; i++)
		put_counter(p, s->pid, COUNTER_VERDICT + i, time_ns, s->verdict.classes[i].bytes);
	return 0;
}

int perfetto_put_process(struct perfetto *p, const struct snapshot *s, uint64_t time_ns)
{
	uint32_t counters_of_heaps = 1u << COUNTER_LIVE_BYTES | 1u << COUNTER_LIVE_BLOCKS |
				     1u << COUNTER_RATE | 1u << COUNTER_RSS | 1u << COUNTER_ANON;

	/* A survey has told of the process already. */
	if (!p->survey)
		put_tree(p, s, time_ns);
	if (put_tracks(p, s->pid, counters_of_heaps))
		return -ENOMEM;
	put_counter(p, s->pid, COUNTER_LIVE_BYTES, time_ns, 0);
	put_counter(p, s->pid, COUNTER_LIVE_BLOCKS, time_ns, 0);
	return 0;
}

int perfetto_put_memory(struct perfetto *p, const struct process_sample *process, uint64_t time_ns)
{
	struct perfetto_process now = {process->start_ticks, process->anon, process->swap, {0}},
				*last;
	uint32_t at;
	bool known = id_map_get(&p->process_of, (uint64_t)process->pid, &at);

	if (!known) {
		struct perfetto_process *grown =
			reallocarray(p->processes, p->process_count + 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		p->processes = grown;
		at = (uint32_t)p->process_count++;
		grown[at] = (struct perfetto_process){0};
		if (id_map_put(&p->process_of, (uint64_t)process->pid, at))
			return -ENOMEM;
	}
	last = &p->processes[at];
	memcpy(now.comm, process->comm, sizeof(now.comm));
	known = known && last->start_ticks == now.start_ticks &&
		!memcmp(last->comm, now.comm, sizeof(now.comm));
	if (!known) {
		struct snapshot s = {.pid = process->pid};

		memcpy(s.comm, now.comm, sizeof(s.comm));
		put_tree(p, &s, time_ns);
		if (put_tracks(p, process->pid, 1u << COUNTER_ANON))
			return -ENOMEM;
	}
	/* A counter keeps its value until there is another one. */
	if (!known || now.anon != last->anon)
		put_counter(p, process->pid, COUNTER_ANON, time_ns, now.anon);
	if (now.swap && put_tracks(p, process->pid, 1u << COUNTER_SWAP))
		return -ENOMEM;
	if (now.swap != last->swap)
		put_counter(p, process->pid, COUNTER_SWAP, time_ns, now.swap);
	*last = now;
	return 0;
}

/* Scopes that have tracks: more would be more than anybody looks at. */
#define SCOPES_MAX 256

/* "handle_request #GET: calls" */
static int put_scope_track(struct perfetto *p, pid_t pid, const struct scope *scope,
			   const char *what, enum counter_unit unit, uint64_t *track)
{
	char name[SCOPE_NAME_MAX], text[SCOPE_NAME_MAX + 32];
	uint64_t hash = track_uuid(pid, COUNTERS + 1);
	uint32_t known;
	size_t mark, descriptor, part;

	snprintf(text, sizeof(text), "%s: %s", scope_name(name, scope), what);
	for (const char *at = text; *at; at++)
		hash = id_map_mix(hash ^ (uint8_t)*at);
	*track = hash;
	if (id_map_get(&p->scopes, hash, &known))
		return 0;
	if (id_map_put(&p->scopes, hash, 1))
		return -ENOMEM;
	mark = perfetto_packet(p, COUNTER_SEQUENCE);
	descriptor = wire_open(&p->out, PACKET_TRACK_DESCRIPTOR);
	wire_uint(&p->out, TRACK_UUID, hash);
	wire_uint(&p->out, TRACK_PARENT_UUID, track_uuid(pid, COUNTERS));
	wire_put_name(&p->out, TRACK_NAME, text);
	part = wire_open(&p->out, TRACK_COUNTER);
	wire_uint(&p->out, COUNTER_UNIT, unit);
	wire_close(&p->out, part);
	wire_close(&p->out, descriptor);
	wire_close(&p->out, mark);
	return 0;
}

int perfetto_put_scopes(struct perfetto *p, const struct snapshot *s, uint64_t time_ns)
{
	uint64_t track;

	if (s->figures_kept.peak && s->peak.bytes) {
		if (put_tracks(p, s->pid, 1u << COUNTER_PEAK))
			return -ENOMEM;
		put_counter(p, s->pid, COUNTER_PEAK, time_ns, s->peak.bytes);
	}
	for (size_t i = 0; s->scoped && i < s->scopes.count && i < SCOPES_MAX; i++) {
		const struct scope *scope = &s->scopes.items[i];

		if (put_scope_track(p, s->pid, scope, "calls", UNIT_COUNT, &track))
			return -ENOMEM;
		put_value(p, track, time_ns, scope->calls);
		if (put_scope_track(p, s->pid, scope, "live bytes", UNIT_SIZE_BYTES, &track))
			return -ENOMEM;
		put_value(p, track, time_ns, scope->live.bytes);
	}
	return 0;
}
