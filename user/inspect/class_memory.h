/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process has in memory, whether it was copied or not: pages of files that it has not written
 * to are in no image of it (names of classes are there, and tables without relocations), and are
 * read from the files.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASS_MEMORY_H
#define MEMLEAKBPF_INSPECT_CLASS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/inspect/kept_types.h"
#include "user/process/memory_image.h"
#include "user/process/object.h"
#include "user/symbol/symbol.h"

/* Where the files of the process are to be found. */
struct class_files {
	void *ctx;
	/*
	 * The ELF file behind a mapping of the image: a new reference, or -errno, not logged. NULL:
	 * there are no files.
	 */
	int (*object)(void *ctx, const struct mapping *m, struct object **out);
	struct symbolizer *symbolizer; /* for names of variables; NULL: none are wanted */
	pid_t pid;		       /* as the symbolizer knows it */
	struct kept_types *types;      /* from earlier looks; NULL: none are kept */
};

struct class_memory;

/* Both outlive it. NULL when out of memory. */
struct class_memory *class_memory_new(const struct memory_image *image,
				      const struct class_files *files);
void class_memory_free(struct class_memory *memory); /* NULL is fine */

const struct memory_image *class_memory_image(const struct class_memory *memory);

/*
 * Does the address lie in what an object's file is mapped to, or in the rest of its data that follows
 * (.bss)? Cheap, and true of other mapped files as well.
 */
bool class_memory_is_object(const struct class_memory *memory, uint64_t address);

/* What is mapped at the address of a file; NULL: nothing is. */
const struct mapping *class_memory_mapping(const struct class_memory *memory, uint64_t address);

/* The object of a file's mapping of the image, opened once; the memory's. NULL: it cannot be. */
struct object *class_memory_object(struct class_memory *memory, const struct mapping *m);

/* `size` bytes at an address. False when not all of them are there. */
bool class_memory_read(struct class_memory *memory, uint64_t address, void *to, size_t size);

/*
 * The text at an address, up to its NUL, at most `size` bytes with that: its length, or -1 where it
 * cannot be read or has no end.
 */
ssize_t class_memory_text(struct class_memory *memory, uint64_t address, char *to, size_t size);

/* The path of the file that the address belongs to; NULL: none. The image's. */
const char *class_memory_path(const struct class_memory *memory, uint64_t address);

/*
 * The address as it is in the file, and the variable that covers it: the symbolizer's text, with
 * *offset from its start; NULL where none is known. False when it is no address of an object.
 */
bool class_memory_variable(struct class_memory *memory, uint64_t address, uint64_t *vaddr,
			   const char **name, uint64_t *offset);

/* An object that the process has loaded. Begins with `mapping` 0. */
struct class_loaded {
	size_t mapping;	      /* where the search goes on */
	uint64_t deadline_ns; /* by monotonic_ns(): when it ends, and questions of it do */
	bool late;	      /* so it has, before `path` */
	struct object *object;
	const char *path; /* the image's */
	uint64_t bias;	  /* an address in memory is that of the file and so much */
	bool kept;	  /* its types are those of an earlier look: class_memory_types() */
};

/* The next one with data of its own that can be written to; false: there are no more. */
bool class_memory_next_loaded(struct class_memory *memory, struct class_loaded *loaded);

/* What its debug information says (symbolizer_types()). 0 or -ENOMEM. */
int class_memory_types(struct class_memory *memory, struct class_loaded *loaded,
		       struct type_table **out);

#endif
