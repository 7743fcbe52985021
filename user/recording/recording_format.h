/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a recording consists of; docs/recording-format.md explains it. The fields of a message are
 * in the file that writes and reads it. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_FORMAT_H
#define MEMLEAKBPF_RECORDING_RECORDING_FORMAT_H

/* As PNG's: a transfer that changes line ends or drops the eighth bit breaks it. */
#define RECORDING_MAGIC	      "\x89MLB\r\n\x1a\n"
#define RECORDING_MAGIC_SIZE  8
#define RECORDING_PREFIX_SIZE 12 /* magic and version */
#define CHUNK_PREFIX_SIZE     8	 /* length and CRC-32 of the body, little-endian */
#define CHUNK_MAX	      (64u << 20)

/* The fields of a chunk's body. */
enum recording_message {
	MESSAGE_HEADER = 1, /* recording_header.c */
	MESSAGE_STRING = 2, /* recording_names.c */
	MESSAGE_FRAME = 3,
	MESSAGE_STACK = 4,
	MESSAGE_TARGET = 5, /* recording_target.c */
	MESSAGE_ROW = 6,    /* recording_rows.c */
	MESSAGE_VALUES = 7,
	MESSAGE_MAPS = 8,     /* recording_target.c */
	MESSAGE_SNAPSHOT = 9, /* recording_snapshot.c; recording_verdict.c */
	MESSAGE_PROCESS = 10, /* recording_process.c */
	MESSAGE_PROCESS_VALUES = 11,
	MESSAGE_DRILL = 12, /* recording_survey.c */
	MESSAGE_SURVEY = 13,
	MESSAGE_BAD_FREE = 14,	  /* recording_misuse.c */
	MESSAGE_INSPECTION = 15,  /* recording_inspection.c */
	MESSAGE_FIGURES = 16,	  /* recording_figures.c */
	MESSAGE_SCOPE = 17,	  /* recording_scopes.c */
	MESSAGE_PROCESS_RSS = 18, /* recording_process.c */
	MESSAGE_BAD_ACCESS = 19,  /* recording_misuse.c */
	MESSAGE_KEPT = 20,	  /* recording_kept.c */
	MESSAGE_KEPT_BAD_ACCESS = 21,
	MESSAGE_MISSING = 22,	     /* recording_missing.c */
	MESSAGE_PROCESS_GROWTH = 23, /* recording_growth.c */
	MESSAGES,
};

struct field;

/* The table of a message's fields; NULL: it has none, and is not made of fields. */
const struct field *recording_message_fields(unsigned message);

/* The field of row, values, maps, snapshot, bad free, bad access, figures and scope that says whose they are. */
#define MESSAGE_FIELD_TARGET 1

#endif
