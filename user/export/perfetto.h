/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the parts of the Perfetto exporter share. Messages and field numbers:
 * github.com/google/perfetto, protos/perfetto/trace/.
 */
#ifndef MEMLEAKBPF_EXPORT_PERFETTO_H
#define MEMLEAKBPF_EXPORT_PERFETTO_H

#include "user/export/collect.h"
#include "user/recording/wire.h"

enum trace_field { TRACE_PACKET = 1 };

enum packet_field {
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_PROFILE_PACKET = 37,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum sequence_flags { INCREMENTAL_STATE_CLEARED = 1, NEEDS_INCREMENTAL_STATE = 2 };

enum clock_snapshot_field { CLOCK_SNAPSHOT_CLOCKS = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum process_tree_field {
	PROCESS_TREE_PROCESSES = 1,
	PROCESS_TREE_THREADS = 2,
	PROCESS_PID = 1,
	PROCESS_CMDLINE = 3,
	THREAD_TID = 1,
	THREAD_NAME = 2,
	THREAD_TGID = 3,
};
enum track_field {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER = 8,
	TRACK_PROCESS_PID = 1,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_NAME = 6,
};
enum counter_unit { UNIT_NAMED = 0, UNIT_COUNT = 2, UNIT_SIZE_BYTES = 3 };
enum event_field {
	EVENT_TYPE = 9,
	EVENT_TRACK_UUID = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_DOUBLE_COUNTER_VALUE = 44,
};
enum { EVENT_TYPE_COUNTER = 4 };
enum interned_field {
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_MAPPING_PATHS = 17,
	INTERNED_SOURCE_PATHS = 18,
	INTERNED_MAPPINGS = 19,
	INTERNED_IID = 1,
	INTERNED_STRING = 2,
	MAPPING_BUILD_ID = 2,
	MAPPING_PATH = 7,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_REL_PC = 4,
	FRAME_SOURCE_PATH = 5,
	FRAME_LINE = 6,
	CALLSTACK_FRAMES = 2,
};
enum profile_field {
	PROFILE_PROCESS_DUMPS = 5,
	PROFILE_CONTINUED = 6,
	PROFILE_INDEX = 7,
	DUMP_PID = 1,
	DUMP_SAMPLES = 2,
	DUMP_TIMESTAMP = 9,
	DUMP_HEAP_NAME = 11,
	DUMP_SAMPLING_INTERVAL = 12,
	SAMPLE_CALLSTACK_ID = 1,
	SAMPLE_SELF_ALLOCATED = 2,
	SAMPLE_SELF_FREED = 3,
	SAMPLE_ALLOC_COUNT = 5,
	SAMPLE_FREE_COUNT = 6,
};

#define COUNTER_SEQUENCE 1
#define FIRST_SEQUENCE	 2 /* of heaps */
#define HEAP_ALL	 VERDICT_CLASSES

/*
 * Of one call stack: what was written last, or what is to be; may be the sum of several stacks
 * whose frames are the same.
 */
struct perfetto_written {
	struct amount alloc, free;
};

/*
 * A target's heap, all of it or what is of one class of its verdicts: a sequence of packets with
 * interned data of its own, for the reader tells the heaps of a process apart by nothing else.
 */
struct perfetto_heap {
	uint32_t target_id;
	unsigned kind; /* enum verdict_class, or HEAP_ALL */
	pid_t pid;
	uint32_t sequence;
	/* how many of this kind its pid had before: it has become another program */
	uint32_t generation;
	uint32_t ordinal;  /* how many of any kind */
	uint64_t start_ns; /* of tracing it, in the trace's time */
	uint64_t dumps;
	bool ended;
	struct id_map frames_of; /* stack id -> frame table */
	struct id_map stacks;	 /* (frame table's stack, end) -> call stack */
	/* -> interned numbers */
	struct id_map frames, functions, files, mappings, paths, build_ids;
	struct perfetto_written *written, *now; /* by call stack, from 0 for number 1 */
	size_t room;
	struct amount alloc; /* at the last dump */
	uint64_t elapsed_ns; /* of the last dump */
};

enum counter {
	COUNTER_LIVE_BYTES,
	COUNTER_LIVE_BLOCKS,
	COUNTER_RATE,
	COUNTER_RSS,
	COUNTER_ANON,
	COUNTER_SWAP,	 /* of surveys */
	COUNTER_PEAK,	 /* the most live bytes so far */
	COUNTER_VERDICT, /* bytes of the first class of verdicts; the others follow */
	COUNTER_VERDICT_END = COUNTER_VERDICT + VERDICT_CLASSES - 1,
	COUNTERS,
};

struct perfetto_process {
	uint64_t start_ticks, anon, swap;
	char comm[16];
};

struct perfetto {
	struct exporter base;
	struct frame_table *table;
	struct perfetto_heap *heaps;
	size_t heap_count;
	struct id_map tracks; /* pids -> which counters' tracks have been described, a bit each */
	bool begun;	      /* the clocks are written */
	bool survey;
	/* Of a survey: what was written last of each pid. */
	struct id_map process_of;
	struct perfetto_process *processes;
	size_t process_count;
	struct id_map scopes;  /* track ids of scopes -> 1: described */
	struct id_map windows; /* target ids of drills that have been written */
	struct wire out;
};

/* Begins a packet; wire_close() ends it. */
size_t perfetto_packet(struct perfetto *p, uint32_t sequence);

/*
 * perfetto_tracks.c: the first packet of all; a process with its counter tracks (their values 0);
 * the counters of a snapshot.
 */
void perfetto_put_clocks(struct perfetto *p, uint64_t time_ns);
int perfetto_put_process(struct perfetto *p, const struct snapshot *s, uint64_t time_ns);
int perfetto_put_memory(struct perfetto *p, const struct process_sample *process, uint64_t time_ns);
void perfetto_put_counters(struct perfetto *p, const struct perfetto_heap *h,
			   const struct snapshot *s, uint64_t time_ns);
/* Of the snapshot, where there are any: its peak, and a pair of tracks for each of its scopes. */
int perfetto_put_scopes(struct perfetto *p, const struct snapshot *s, uint64_t time_ns);
int perfetto_put_verdict(struct perfetto *p, const struct snapshot *s, uint64_t time_ns);

/*
 * perfetto_intern.c: sums up in h->now what the call stacks of a snapshot have, and writes the
 * interned data that are new. 0 or -ENOMEM.
 */
int perfetto_intern_stacks(struct perfetto *p, struct perfetto_heap *h, const struct report *r);

/*
 * perfetto_heaps.c: dumps of a target's heaps, begun where they are new, with its counters. 0 or
 * -ENOMEM.
 */
int perfetto_put_snapshot(struct perfetto *p, const struct report *r);
void perfetto_heap_release(struct perfetto_heap *h); /* what it holds */

/* perfetto_survey.c: as struct exporter_format's. */
int perfetto_survey(struct exporter *e, const struct survey_report *report);

#endif
