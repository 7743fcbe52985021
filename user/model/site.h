/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * "The site": the one frame that stands for its stack, wherever people read. That is text, HTML, JSON,
 * the survey, top, diff, and the origin of blocks that hold others. It is the innermost frame that is the
 * program's own.
 */
#ifndef MEMLEAKBPF_MODEL_SITE_H
#define MEMLEAKBPF_MODEL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame.h"
#include "user/model/id_map.h"

/* Whose code a frame is, those first that say least about who wanted the memory. */
enum frame_owner {
	OWNER_ALLOCATION, /* allocates for whoever calls it: operator new, xmalloc, g_strdup */
	OWNER_BASE,	  /* the C and C++ runtime, a language's own library, where threads begin */
	OWNER_LIBRARY,	  /* what others wrote: a public shared library, site-packages, a crate */
	OWNER_RUNTIME,	  /* an interpreter, or a virtual machine */
	OWNER_PROGRAM,
};

/*
 * --own and --not-own: globs (fnmatch(3)) for whole names of functions, modules and source files, or
 * for whole paths. --own goes before --not-own, and both before what is known here. The arrays are
 * the caller's.
 */
struct site_rules {
	const char *const *own, *const *not_own;
	size_t own_count, not_own_count;
	/*
	 * Owners by the frames' addresses, for who asks of very many stacks at a time: frames must stay
	 * until then. NULL: each is told anew.
	 */
	struct id_map *known;
};

/* rules: NULL: none. */
enum frame_owner frame_owner(const struct frame *frame, const struct site_rules *rules);

/*
 * How people read a stack: such native frames between the allocation function and the site are
 * nothing to them. True for OWNER_ALLOCATION and OWNER_BASE.
 */
bool frame_is_plumbing(const struct frame *frame);

/*
 * The site's place in the stack. Without a frame of the program's own: of scripts the innermost
 * function of a library; else the library function that was called (opendir, pthread_create). 0: of
 * the stack no more than the allocation function is known.
 */
size_t frames_site(const struct frame *const *frames, size_t count, const struct site_rules *rules);

/* What the stacks of one row have in common (--by). */
enum site_by {
	BY_LINE, /* the line of the site, or its address; of a library's function its caller's */
	BY_FUNCTION, /* the site's function */
	BY_FILE,     /* ... its source file, or its module */
	BY_MODULE,   /* ... its module, or a script's file */
	BY_SCOPE,    /* the scope that the stack is in: told by who knows the snapshot */
	BY_STACK,    /* all frames: a row for each stack */
};

/*
 * A number for what stacks of one row have in common by their sites, the same in every run. Unknown
 * frames (NULL) are one row. Not for BY_SCOPE and BY_STACK.
 */
uint64_t site_row_id(const struct frame *const *frames, size_t count, enum site_by by,
		     const struct site_rules *rules);

#endif
