/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names for addresses: function, file:line and inlined calls, from symbol tables and DWARF through
 * elfutils' libdwfl. Includes separate debug files (build-id, debuglink, debuginfod). Resolved once
 * per (object, offset), only for what is printed.
 */
#ifndef MEMLEAKBPF_SYMBOL_SYMBOL_H
#define MEMLEAKBPF_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/model/frame.h"
#include "user/process/location.h"
#include "user/symbol/symbolizer_options.h"

struct debug_place_query;
struct debug_places;
struct object;
struct symbolizer;
struct type_table;

/* NULL when out of memory. */
struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer); /* frees all frames that it gave out */

/*
 * Call it while the process lives, when it becomes a target and again after exec. Opens its root
 * directory and its perf map, so that names are found after its end too. Missing files are no
 * error: 0 or -ENOMEM.
 */
int symbolizer_note_process(struct symbolizer *symbolizer, pid_t pid);

/*
 * Call it once for each symbolizer_note_process() that returned 0, when no name of the process is
 * wanted any more. The last call drops all that is kept of the process, and the frames of its code
 * without a file.
 */
void symbolizer_forget_process(struct symbolizer *symbolizer, pid_t pid);

/*
 * Gives back all that was read of files, above all their debug information; it is read again when
 * needed. Processes and frames stay. Out of memory, the read data stays, too.
 */
void symbolizer_forget_files(struct symbolizer *symbolizer);

/* The number of processes of which something is kept. */
size_t symbolizer_process_count(const struct symbolizer *symbolizer);

/*
 * Resolves one code location. `is_return_address` is true for callers: the call site is looked up
 * at offset - 1 while the frame's address stays what it was. `pid` serves JIT code (perf-PID.map in
 * the target's root), which has no object. *frames points to `*count` >= 1 frames, innermost
 * inlined one first, the real function last; owned by the symbolizer and immutable. An address
 * without a symbol gives a frame without function but with module and offset. An inlined frame's
 * offset is that of the function that holds its code. Frames live as long as the symbolizer; those
 * of code without a file, as long as the process is noted. All strings are valid UTF-8 of less than
 * 4096 bytes without control characters. 0 or -ENOMEM.
 */
int symbolizer_resolve(struct symbolizer *symbolizer, const struct location *location, pid_t pid,
		       bool is_return_address, const struct frame *const **frames, size_t *count);

/*
 * Finds the variable that covers a link-time address of an object, static ones and those of
 * separate debug files too. *name is NULL where none is known, else owned by the symbolizer (as the
 * strings of frames are). *offset counts from the variable's start. 0 or -ENOMEM.
 */
int symbolizer_name_data(struct symbolizer *symbolizer, struct object *object, uint64_t vaddr,
			 pid_t pid, const char **name, uint64_t *offset);

/* The same for the thread-local variable at an offset into an object's block. */
int symbolizer_name_tls(struct symbolizer *symbolizer, struct object *object, uint64_t place,
			pid_t pid, const char **name, uint64_t *offset);

/*
 * Reads types and variables from an object's debug information (type_table_free()). *out is NULL
 * without such information, or if it was not read by the deadline (monotonic_ns()). 0 or -ENOMEM.
 */
int symbolizer_types(struct symbolizer *symbolizer, struct object *object, pid_t pid,
		     uint64_t deadline_ns, struct type_table **out);

/*
 * Calls fn for each function of the object that has a symbol, those of separate debug files too. It
 * gets the name as in the file, `len` bytes without an end, and link-time addresses. A result of
 * `fn` other than 0 stops it and is returned. -ENOMEM.
 */
int symbolizer_each_function(struct symbolizer *symbolizer, struct object *object,
			     int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
				       uint64_t end),
			     void *ctx);

/*
 * Finds places of the source in the object's code, by its debug information: debug_places_find().
 * None without such information. 0, or -ENOMEM: none.
 */
int symbolizer_places(struct symbolizer *symbolizer, struct object *object,
		      const struct debug_place_query *query, struct debug_places *out);

/*
 * Demangles C++ and Rust (without the hash). Returns a malloc'ed string, cut with "..." at 4000
 * bytes, or NULL when the name is not mangled. The string may hold any bytes that the name held.
 */
char *symbol_demangle(const char *name);

#endif
