/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The chunks that a recording is made of: length, checksum, and messages one behind the other.
 * Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_CHUNK_H
#define MEMLEAKBPF_RECORDING_RECORDING_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "user/recording/wire.h"

struct chunk_writer {
	FILE *out;
	int error;	  /* of the first thing that failed: nothing more is written then */
	struct wire body; /* what has been added since the last flush */
};

/* Writes magic and version. 0 or -errno. */
int chunk_write_prefix(struct chunk_writer *c);
/* Ends the chunk and writes it. 0 or -errno, sticky; what was written of it is cut off again. */
int chunk_flush(struct chunk_writer *c);
/* The same if it has become large: a snapshot may have several. */
int chunk_flush_if_large(struct chunk_writer *c);
void chunk_writer_free(struct chunk_writer *c);

struct chunk_reader {
	FILE *in;
	const char *name; /* for messages */
	uint64_t offset;  /* in the file: of what is read next */
	uint64_t at;	  /* in the file: of the chunk */
	uint8_t *data;
	size_t room;
	struct wire_reader body; /* what is left of the chunk */
	bool cut;		 /* the file ends in the middle of a chunk */
};

/* 0; or -EBADMSG, -EPROTONOSUPPORT or -errno, logged. */
int chunk_read_prefix(struct chunk_reader *c);
/* 1: the next chunk is in c->body; 0: there is none, see c->cut; else as above. */
int chunk_read(struct chunk_reader *c);
/* Logs that the chunk is damaged, or that there was no memory for it; returns the error. */
int chunk_damaged(const struct chunk_reader *c, const char *what);
int chunk_no_memory(const struct chunk_reader *c);
void chunk_reader_free(struct chunk_reader *c);

#endif
