/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What writer and reader of recordings agree on; docs/recording-format.md explains it. Private to
 * user/model.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_FORMAT_H
#define MEMLEAKBPF_RECORDING_RECORDING_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/snapshot.h"

/* As PNG's: a transfer that changes line ends or drops the eighth bit breaks it. */
#define RECORDING_MAGIC	      "\x89MLB\r\n\x1a\n"
#define RECORDING_MAGIC_SIZE  8
#define RECORDING_PREFIX_SIZE 12 /* magic and version */
#define CHUNK_PREFIX_SIZE     8	 /* length and CRC-32 of the body, little-endian */
#define CHUNK_MAX	      (64u << 20)

enum chunk_field {
	CHUNK_HEADER = 1,
	CHUNK_STRING = 2,
	CHUNK_FRAME = 3,
	CHUNK_STACK = 4,
	CHUNK_TARGET = 5,
	CHUNK_ROW = 6,
	CHUNK_VALUES = 7,
	CHUNK_MAPS = 8,
	CHUNK_SNAPSHOT = 9,
	CHUNK_PROCESS = 10,
	CHUNK_SURVEY_ROWS = 11,
	CHUNK_DRILL = 12,
	CHUNK_SURVEY = 13,
	CHUNK_BAD_FREE = 14, /* recording_bad_free.c */
};

enum header_field {
	HEADER_TOOL_VERSION = 1,
	HEADER_KERNEL = 2,
	HEADER_MACHINE = 3,
	HEADER_HOST = 4,
	HEADER_OLDER_NS = 5,
	HEADER_LOST_CAUSE = 6,
	HEADER_STACK_END = 7,
};

enum frame_field {
	FRAME_FUNCTION = 1,
	FRAME_MODULE = 2,
	FRAME_MODULE_PATH = 3,
	FRAME_FILE = 4,
	FRAME_LINE = 5,
	FRAME_INLINED = 6,
	FRAME_OFFSET = 7,
	FRAME_MODULE_OFFSET = 8,
	FRAME_BUILD_ID = 9,
	FRAME_SYMBOL = 10,
};

enum target_field { TARGET_ID = 1, TARGET_PID = 2, TARGET_COMM = 3, TARGET_ARGUMENT = 4 };

enum row_field {
	ROW_TARGET = 1,
	ROW_NUMBER = 2,
	ROW_STACK_ID = 3,
	ROW_STACK = 4,
	ROW_END = 5,
	ROW_TRUNCATED = 6,
};

enum values_field { VALUES_TARGET = 1, VALUES_ROWS = 2 };

enum maps_field { MAPS_TARGET = 1, MAPS_MAP = 2 };
enum map_field {
	MAP_START = 1,
	MAP_END = 2,
	MAP_OFFSET = 3,
	MAP_VADDR = 4,
	MAP_PATH = 5,
	MAP_BUILD_ID = 6,
};

enum snapshot_field {
	SNAPSHOT_TARGET = 1,
	SNAPSHOT_TIME_NS = 2,
	SNAPSHOT_ELAPSED_NS = 3,
	SNAPSHOT_INTERVAL_NS = 4,
	SNAPSHOT_FLAGS = 5,
	SNAPSHOT_SAMPLE_BYTES = 6,
	SNAPSHOT_UNKNOWN_FREES = 7,
	SNAPSHOT_LOST = 8,
	SNAPSHOT_RSS = 9,
	SNAPSHOT_ANON = 10,
	SNAPSHOT_PSS = 11,
	SNAPSHOT_VERDICT = 12, /* recording_verdict.c */
	SNAPSHOT_LOST_ANYWHERE = 13,
};

enum snapshot_flag {
	FLAG_FINAL = 1u << 0,
	FLAG_EXITED = 1u << 1,
	FLAG_EXECED = 1u << 2,
	FLAG_LATE = 1u << 3,
	FLAG_WINDOW = 1u << 4,
	FLAG_FREES_CHECKED = 1u << 5,
};

/* The numbers of a row, in the order in which they are stored. */
enum value {
	VALUE_ALLOC_BYTES,
	VALUE_ALLOC_COUNT,
	VALUE_FREE_BYTES,
	VALUE_FREE_COUNT,
	VALUE_LIVE_BYTES,
	VALUE_LIVE_COUNT,
	VALUE_OLDER_BYTES,
	VALUE_OLDER_COUNT,
	VALUE_OLDEST, /* when the oldest live block was made: ns since attach, plus 1; 0: unknown */
	VALUE_ERROR,  /* the bits of error_bytes */
	VALUES,
};

/*
 * What a value would be if only those before it in the enum had changed: most of the time it is.
 * `old` and `now` are rows.
 */
static inline uint64_t expected_value(enum value value, const uint64_t old[VALUES],
				      const uint64_t now[VALUES])
{
	switch (value) {
	case VALUE_LIVE_BYTES:
	case VALUE_LIVE_COUNT:
		return old[value] +
		       (now[value - VALUE_LIVE_BYTES] - old[value - VALUE_LIVE_BYTES]) -
		       (now[value - VALUE_LIVE_BYTES + VALUE_FREE_BYTES] -
			old[value - VALUE_LIVE_BYTES + VALUE_FREE_BYTES]);
	case VALUE_OLDER_BYTES:
	case VALUE_OLDER_COUNT:
		return old[value] + (now[value - VALUE_OLDER_BYTES + VALUE_LIVE_BYTES] -
				     old[value - VALUE_OLDER_BYTES + VALUE_LIVE_BYTES]);
	default:
		return old[value];
	}
}

#endif
