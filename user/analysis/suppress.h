/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Suppressions: memory that is known to be held and not to be reported. Files of LeakSanitizer and
 * of Valgrind are read as they are; which of the two a file is, its first line tells.
 *
 * LeakSanitizer: `leak:PATTERN`; a pattern is looked for in the function, the source file and the
 * object of every frame. `*` stands for anything, `^` and `$` for the beginning and the end
 * (clang's AddressSanitizerLeakSanitizer documentation; sanitizer_common's TemplateMatch()).
 *
 * Valgrind: `{ name, Memcheck:Leak, match-leak-kinds: …, fun: obj: src: ... }`; the locations stand
 * for the innermost frames, and `...` for any number of them (Valgrind's manual, 2.5 and 4.5).
 * Those for memcheck's other errors are passed over, but for Memcheck:Free and
 * Memcheck:Addr1 and so on.
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
 * Reads a file to its end; `path` is for messages. 0, or -errno, logged with the file and the number
 * of the line: -EINVAL when it cannot be understood. What stands in the line is not said: the file
 * may not be the caller's.
 */
int suppressions_read(struct suppressions *s, FILE *file, const char *path);

/*
 * The same of text that is there already, of a file of that name (copied; NULL: the built-in ones).
 */
int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t len);

/* What glibc and libstdc++ hold by design. 0 or -ENOMEM. */
int suppressions_add_builtin(struct suppressions *s);

/*
 * Could any of them take something of the stack, whatever its frames are? By its live blocks and,
 * with a verdict, their classes. Only then does suppressions_apply() look at its frames.
 */
bool suppressions_concern(const struct suppressions *s, const struct snapshot *snapshot,
			  const struct stack *stack);

/*
 * Decides for each stack that they concern, all of which must have their frames, what of it is
 * suppressed: fills in `suppressed` and `hidden` of its notes, and report.suppressed. With a verdict a suppression
 * applies to the classes that it names; without one their class is not known, and it applies to all
 * of a stack's blocks, whatever it names. The first suppression in the order of reading that
 * applies has it. 0 or -ENOMEM.
 */
int suppressions_apply(struct suppressions *s, struct report *report);

/* The suppression for a bad free (Memcheck:Free) with this stack; its name, or NULL. */
const char *suppressions_match_free(struct suppressions *s, const struct frame *const *frames,
				    size_t count);

/* The same for a bad access (Memcheck:Addr1, Addr2 and so on: of any size). */
const char *suppressions_match_access(struct suppressions *s, const struct frame *const *frames,
				      size_t count);

/* With -v: which ones of files have never suppressed anything. */
void suppressions_log_unused(const struct suppressions *s);

#endif
