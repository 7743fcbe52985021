/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a core file part by part. Internal to user/corefile. Formats: elf(5), core(5), and the
 * kernel's fs/binfmt_elf.c, which writes cores.
 */
#ifndef MEMLEAKBPF_COREFILE_CORE_PARTS_H
#define MEMLEAKBPF_COREFILE_CORE_PARTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/corefile/core_file.h"
#include "user/process/object.h"

#define CORE_NONE	 SIZE_MAX
#define CORE_ID_MAX	 64
#define CORE_HEADERS_MAX 64 /* program headers of an object that are read */

/* A PT_LOAD: mapped memory, and how much of it is in the file. */
struct core_segment {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of `start` in the file */
	uint64_t filled;     /* bytes from `start` on that are in the file */
	uint64_t cut;	     /* bytes behind them that the file should have and lacks */
	bool read, write, exec;
};

/* An entry of NT_FILE. */
struct core_mapped_file {
	uint64_t start, end;
	uint64_t offset; /* bytes into the file */
	size_t object;	 /* index */
};

/* A file that the process had mapped. */
struct core_object {
	const char *path; /* as the core has it, " (deleted)" included; belongs to the notes */
	uint64_t start;	  /* where its beginning was mapped; 0: it was not */
	/* The object's own program headers, as the core has them; none: it does not. */
	Elf64_Phdr headers[CORE_HEADERS_MAX];
	size_t header_count;
	bool is_elf;
	uint8_t id[CORE_ID_MAX]; /* build id; length 0: unknown */
	size_t id_len;
	struct object *object; /* the same file here; NULL: not found */
	char why[REASON_MAX];  /* why not found, a clause; "": nobody has looked */
};

struct core_thread {
	pid_t tid;
	int signal;
	bool has_tls;
	uint64_t sp, tls;
	uint64_t *words; /* as in struct memory_thread */
	size_t word_count;
	bool has_state; /* XSAVE's area is among the words */
};

struct core_aux {
	uint64_t type, value;
};

/* ---- notes (core_notes.c) ------------------------------------------------------------------ */

struct core_notes {
	struct core_thread *threads;
	size_t thread_count, thread_room;
	struct core_mapped_file *files; /* by address, not overlapping */
	size_t file_count, file_room;
	char *names; /* the paths of the objects point into it */
	struct core_object *objects;
	size_t object_count, object_room;
	struct core_aux *aux;
	size_t aux_count;
	pid_t pid; /* 0: unknown */
	char comm[16];
	char args[81]; /* its command line: the part that the kernel keeps there */
	int signal;
	size_t unknown_threads; /* whose registers have another size than this machine's */
};

/* Adds one note after the other, in the file's order. 0 or -ENOMEM; broken notes are left out. */
int core_notes_add(struct core_notes *notes, const char *name, uint32_t type, const void *bytes,
		   size_t size);
/* Call it once all notes are there. */
void core_notes_finish(struct core_notes *notes);
void core_notes_release(struct core_notes *notes);

/* The value of an entry of the auxiliary vector (AT_PHDR …); 0: there is none. */
uint64_t core_notes_aux(const struct core_notes *notes, uint64_t type);

/* The entry of NT_FILE that has the address; NULL: none. */
const struct core_mapped_file *core_notes_file(const struct core_notes *notes, uint64_t address);

/* ---- segments (core_segments.c) ------------------------------------------------------------ */

struct core_segments {
	int fd;
	uint64_t file_size;
	struct core_segment *items; /* by address, not overlapping */
	size_t count;
	uint64_t dropped; /* that overlapped others, or wrapped around */
	/* bytes of the file in segments and in notes: each at most the whole file */
	uint64_t taken, notes;
};

/*
 * Reads the core's headers and, on the way, its notes. `fd` stays the caller's. 0, or -errno with
 * the reason. Call core_segments_release() and core_notes_release() in any case.
 */
int core_segments_read(struct core_segments *segments, struct core_notes *notes, int fd,
		       char reason[static REASON_MAX]);
void core_segments_release(struct core_segments *segments);

/* Finds the segment that has the address; NULL: none. */
const struct core_segment *core_segments_find(const struct core_segments *segments,
					      uint64_t address);

/*
 * Reads the process's memory, as far as the file has it. Returns how many bytes from `address` on.
 */
size_t core_segments_get(const struct core_segments *segments, uint64_t address, void *to,
			 size_t size);

#endif
