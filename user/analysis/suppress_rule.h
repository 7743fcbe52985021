/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One suppression from a file, and whether it matches a stack: private to user/analysis/suppress*.
 */
#ifndef MEMLEAKBPF_ANALYSIS_SUPPRESS_RULE_H
#define MEMLEAKBPF_ANALYSIS_SUPPRESS_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"
#include "user/model/frame.h"

enum location_kind {
	LOCATION_FUNCTION,
	LOCATION_OBJECT,
	LOCATION_SOURCE,
	LOCATION_ANY, /* "...": any number of frames, or none */
};

struct rule_location {
	enum location_kind kind;
	char *pattern;	 /* NULL: LOCATION_ANY */
	unsigned lineno; /* LOCATION_SOURCE; 0: any */
	bool in_libc;	 /* LOCATION_FUNCTION, built in: the object must be a C library */
};

#define RULE_ALL_CLASSES 0xfu /* of enum verdict_class */

struct rule {
	char *name;
	const char *file; /* NULL: built in */
	unsigned line;
	bool pattern;	  /* LeakSanitizer's: `name` is the pattern, and there are no locations */
	bool frees;	  /* Memcheck:Free, not Memcheck:Leak */
	bool accesses;	  /* Memcheck:Addr1 and so on: likewise */
	unsigned classes; /* 1 << enum verdict_class */
	struct rule_location *locations;
	size_t location_count;
	bool used;
	struct amount amount; /* in the snapshot being looked at */
	uint64_t stacks;
};

bool rule_matches(const struct rule *rule, const struct frame *const *frames, size_t count);
void rule_release(struct rule *rule);

bool frame_in_libc(const struct frame *frame);

/* The built-in suppression whose frames may have no names. */
#define SUPPRESS_THREAD_CACHE "glibc: a thread's cache of free blocks"

/* Matches all of the text; the pattern may have `*` and `?`. */
bool wildcard_match(const char *pattern, const char *text);
/* LeakSanitizer's way. NULL and "" match nothing. */
bool template_match(const char *pattern, const char *text);

struct rule_list {
	struct rule *items;
	size_t count;
	size_t other_kinds; /* Valgrind's, for errors that are none of ours */
};

/* Appends the rules of a file's text (NULL: the built-in text). 0, -ENOMEM, or -EINVAL; logged. */
int rules_parse(struct rule_list *list, const char *file, const char *text, size_t len);

extern const char suppress_builtin[]; /* in Valgrind's format */

#endif
