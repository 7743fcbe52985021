/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A Go program in a process: which version built it, its table of functions, and where its runtime's variables lie.
 * No symbol is used, so strip(1) and -ldflags="-s -w" change nothing. Internal to the files of go_heap.h.
 */
#ifndef MEMLEAKBPF_MANAGED_GO_PROGRAM_H
#define MEMLEAKBPF_MANAGED_GO_PROGRAM_H

#include <libelf.h>

#include "user/base/reason.h"
#include "user/managed/go_layout.h"
#include "user/managed/managed_memory.h"
#include "user/process/go_functions.h"

/* noptrdata, data, bss, noptrbss */
#define GO_DATA_RANGES 4

struct go_range {
	uint64_t start, end;
};

struct go_program {
	const struct managed_memory *memory;
	const struct go_layout *layout;
	char version[48];  /* "go1.24.4" */
	bool experiments;  /* built with GOEXPERIMENT, which may change how objects look */
	bool inline_marks; /* marks of small objects lie in their span: the green tea collector */
	Elf *elf;
	struct go_functions *functions;
	uint64_t bias; /* an address in memory is that of the file and so much */
	struct go_range data[GO_DATA_RANGES];
	struct go_range types; /* of the descriptions of types; empty: not known */
};

/*
 * Finds it: 0 and *out (go_program_release()). -ENOENT: there is none; -ENOMEM; -ENOTSUP with the reason, a clause: there
 * is one, of a version or shape that is not known. Then *out has the version, if that is known.
 */
int go_program_find(const struct managed_memory *memory, struct go_program *out,
		    char reason[static REASON_MAX]);
void go_program_release(struct go_program *program);

/* The version without "go"; "" where it is not known. */
const char *go_program_number(const struct go_program *program);

/*
 * Gets words of the memory one after the other: `count` of them at an address. The first `own` are new; the others
 * come again. Anything but 0 ends the walk.
 */
typedef int go_words_fn(void *ctx, uint64_t address, const uint64_t *words, size_t own,
			size_t count);

/*
 * Calls fn for all words of [start, end) that are there, with up to `ahead` (at most 512) words behind them. Returns
 * what fn ended it with, 0, or -ENOMEM.
 */
int go_scan(const struct managed_memory *memory, uint64_t start, uint64_t end, size_t ahead,
	    go_words_fn *fn, void *ctx);

/* The same of all variables. */
int go_scan_data(const struct go_program *program, size_t ahead, go_words_fn *fn, void *ctx);

/* A copy of `count` words, which the caller frees. NULL: not all are there, or out of memory. */
uint64_t *go_copy_words(const struct managed_memory *memory, uint64_t address, uint64_t count);

/*
 * `count` words of a structure: where they are in the image, or in `room`, put together. Pages of the runtime's own memory
 * that it has never touched are not in the image, and zeros. NULL: nothing of the kind is there.
 */
const uint64_t *go_words(const struct managed_memory *memory, uint64_t address, size_t count,
			 uint64_t *room);

/* The function that has an address of the memory. */
bool go_program_function(const struct go_program *program, uint64_t pc, struct go_function *out);

/* How far the stack pointer is below its place at the function's beginning. False: not known. */
bool go_program_frame(const struct go_program *program, const struct go_function *function,
		      uint64_t pc, int64_t *bytes);

/*
 * Function, file and line of an address; both belong to the program and are NULL, and the line 0, where they
 * are not known.
 */
void go_program_place(const struct go_program *program, uint64_t pc, const char **function,
		      const char **file, uint32_t *line);

#endif
