/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Suppressions: memory that is known to be held and not to be reported. Reads files of
 * LeakSanitizer and of Valgrind as they are; the first line tells which of the two a file is.
 *
 * LeakSanitizer: `leak:PATTERN`. A pattern is looked for in the function, the source file and the
 * object of every frame. `*` stands for anything, `^` and `$` for the beginning and the end
 * (clang's AddressSanitizerLeakSanitizer documentation; sanitizer_common's TemplateMatch()).
 *
 * Valgrind: `{ name, Memcheck:Leak, match-leak-kinds: …, fun: obj: src: ... }`. The locations stand
 * for the innermost frames, and `...` for any number of them (Valgrind's manual, 2.5 and 4.5).
 * Suppressions of memcheck's other errors are passed over, but for Memcheck:Free and Memcheck:Addr1
 * and so on.
 */
#ifndef MEMLEAKBPF_ANALYSIS_SUPPRESS_H
#define MEMLEAKBPF_ANALYSIS_SUPPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "user/model/report.h"

struct suppressions;

struct suppressions *suppressions_new(void); /* NULL when out of memory */
void suppressions_free(struct suppressions *s);

/*
 * Reads a file to its end; `path` is for messages. 0, or -errno, logged with the file and the
 * line's number: -EINVAL when it cannot be understood. Does not quote the line: the file may not be
 * the caller's.
 */
int suppressions_read(struct suppressions *s, FILE *file, const char *path);

/* The same for text in memory, of a file of that name (copied; NULL: the built-in ones). */
int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t len);

/* Adds suppressions for memory that glibc and libstdc++ hold by design. 0 or -ENOMEM. */
int suppressions_add_builtin(struct suppressions *s);

/*
 * Could any suppression apply to the stack, whatever its frames are? Goes by its live blocks and,
 * with a verdict, their classes. Only then does suppressions_apply() look at its frames.
 */
bool suppressions_concern(const struct suppressions *s, const struct snapshot *snapshot,
			  const struct stack *stack);

/*
 * Decides for each stack that they concern how much of it is suppressed; these stacks must have
 * their frames. Fills in `suppressed` and `hidden` of the notes, and report.suppressed. With a
 * verdict a suppression applies to the classes that it names. Without one the classes are unknown,
 * and it applies to all blocks of a stack, whatever it names. The first applicable suppression, in
 * the order of reading, counts. 0 or -ENOMEM.
 */
int suppressions_apply(struct suppressions *s, struct report *report);

/*
 * Finds the suppression for a bad free (Memcheck:Free) with this stack. Returns its name, or NULL.
 */
const char *suppressions_match_free(struct suppressions *s, const struct frame *const *frames,
				    size_t count);

/* The same for a bad access (Memcheck:Addr1, Addr2 and so on: of any size). */
const char *suppressions_match_access(struct suppressions *s, const struct frame *const *frames,
				      size_t count);

/* With -v: logs which suppressions of files have never applied. */
void suppressions_log_unused(const struct suppressions *s);

#endif
