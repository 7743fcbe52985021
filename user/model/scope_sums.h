/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the calls of one function (with one value of its tag) have allocated, and left behind. A
 * block belongs to the innermost call that was open on its thread when it was allocated. It is also
 * within the calls around that one.
 */
#ifndef MEMLEAKBPF_MODEL_SCOPE_SUMS_H
#define MEMLEAKBPF_MODEL_SCOPE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/amount.h"

#define SCOPE_TIMES 48

/* Calls that have kept at least `bytes`, and at most `bytes_max`. */
struct scope_kept {
	uint64_t bytes, bytes_max;
	uint64_t calls;
};

struct scope {
	char *function; /* owned */
	char *tag;	/* NULL: its calls are not told apart. Owned */
	uint64_t calls; /* that were entered */
	uint64_t open;	/* of them: now */
	uint64_t left;	/* ended without a return: longjmp, exceptions, the thread's end */
	uint64_t timed; /* calls that were seen to return, and how long they took: */
	uint64_t time_ns, time_max_ns;
	uint64_t times[SCOPE_TIMES]; /* calls of 2^n ns and more */
	/* in the row of untagged calls: about how many different tags; 0: unknown */
	uint64_t tags;
	double kept_error, live_error; /* standard errors of their bytes under sampling, else 0 */
	/*
	 * With the calls inside, but once only for a function that calls itself. freed: in the same
	 * call, once that has ended. kept: not freed when its call ended, in sum. live: of the kept
	 * blocks, and of those of open calls.
	 */
	struct amount alloc, freed, kept, live;
	/* The part that was allocated in no other scope inside. */
	struct amount own_alloc, own_kept, own_live;
	/* Calls by what they kept, ascending; none under sampling. Owned */
	struct scope_kept *kept_calls;
	size_t kept_count;
};

struct scopes_list {
	struct scope *items;
	size_t count;
};

/* Frees what the list owns, and empties it. */
void scopes_list_release(struct scopes_list *list);

/* *to gets a copy. 0 or -ENOMEM: empty then. */
int scopes_list_copy(struct scopes_list *to, const struct scopes_list *from);

/* Finds the row of that function and tag (NULL: none); NULL: there is none. */
struct scope *scopes_list_find(const struct scopes_list *list, const char *function,
			       const char *tag);

/* The same, but makes a row if there is none; NULL when out of memory. Moves the other rows. */
struct scope *scopes_list_get(struct scopes_list *list, const char *function, const char *tag);

/* Adds the figures of `from` to `to`. 0 or -ENOMEM. */
int scope_add_figures(struct scope *to, const struct scope *from);

/* Are all figures the same? */
bool scope_same_figures(const struct scope *a, const struct scope *b);

/* Sets the figures of `to` to those of `from`. 0 or -ENOMEM. */
int scope_set_figures(struct scope *to, const struct scope *from);

/* Adds calls that kept so much; keeps the order. 0 or -ENOMEM. */
int scope_add_kept_calls(struct scope *scope, uint64_t bytes, uint64_t bytes_max, uint64_t calls);

/* The mean number of bytes that ended calls have kept; 0: none has ended. */
double scope_kept_per_call(const struct scope *scope);

/* Writes "dispatch(Request const&) #GET", cut where it is too long. Returns buf. */
#define SCOPE_NAME_MAX 512
char *scope_name(char buf[static SCOPE_NAME_MAX], const struct scope *scope);

#endif
