/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of every process, read by a BPF iterator over the tasks, or from /proc where that
 * cannot be had.
 */
#ifndef MEMLEAKBPF_LOOK_SURVEY_READER_H
#define MEMLEAKBPF_LOOK_SURVEY_READER_H

#include "user/model/missing.h"
#include "user/model/process_sample.h"

enum survey_source {
	SURVEY_BPF,  /* a third of a microsecond per process; exact */
	SURVEY_PROC, /* some 20 microseconds per process; as exact as the kernel's /proc is */
	SURVEY_AUTO, /* BPF, else /proc */
};

struct survey_reader;

/*
 * Loads the iterator. 0 and *out; -errno, logged, when SURVEY_BPF was asked for and cannot be had,
 * or there is no memory.
 */
int survey_reader_new(enum survey_source source, struct survey_reader **out);
void survey_reader_free(struct survey_reader *reader); /* NULL is fine */

/* What it reads from: SURVEY_BPF or SURVEY_PROC. */
enum survey_source survey_reader_source(const struct survey_reader *reader);

/* What the kernel has refused it; the reader's own. */
const struct missing_parts *survey_reader_missing(const struct survey_reader *reader);

/*
 * Reads all processes; kernel threads and zombies are left out. The list is the reader's own, valid
 * until the next call. 0 or -errno, logged.
 */
int survey_reader_read(struct survey_reader *reader, const struct process_list **out);

#endif
