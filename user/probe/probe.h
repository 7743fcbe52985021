/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The probes that one provider needs: for each allocator function its place in the file, its
 * cookie, and its returns.
 */
#ifndef MEMLEAKBPF_PROBE_PROBE_H
#define MEMLEAKBPF_PROBE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "user/probe/place.h"
#include "user/target/provider.h"

enum probe_role {
	PROBE_ALLOC,	   /* entry and return */
	PROBE_ALLOC_ENTRY, /* entry of a function that exceptions can leave */
	PROBE_RETURN_SITE, /* one of its `ret` instructions */
	PROBE_FREE,	   /* entry */
	PROBE_UNMAP,	   /* entry */
	PROBE_UNWIND,	   /* entry of a function that unwinds the stack */
	PROBE_NAMED,	   /* entry of a C++ operator that is built on another object's allocator */
	PROBE_LEAVE,	   /* entry of a function that ends the process */
	/* entry of the function that a dynamic loader calls when libraries are mapped */
	PROBE_LOADED,
	PROBE_USDT_ALLOC,   /* otel_memory:alloc; the owner of the map sets its cookie */
	PROBE_USDT_FREE,    /* otel_memory:free, likewise */
	PROBE_SCOPE,	    /* entry of a --scope function; its cookie is set likewise */
	PROBE_SCOPE_RETURN, /* one of its `ret` instructions */
	PROBE_SCOPE_TAIL,   /* ... or one of its jumps to other functions */
	PROBE_ROLES,
};

struct probe {
	uint64_t offset; /* in the object's file: the function's plus the place's */
	uint64_t cookie; /* union probe_cookie; of USDT probes the row of `usdt_specs` */
	/* of a USDT probe: the kernel's counter, as in struct usdt_note; 0: none */
	uint64_t semaphore;
	enum probe_role role;
	const struct provider_fn *fn; /* borrowed from the provider */
	struct place place;	      /* PROBE_RETURN_SITE: of the `ret` itself, offset 0 */
	bool ends_call;		      /* PROBE_SCOPE: the instruction itself ends the call */
	/*
	 * PROBE_ALLOC_ENTRY: the number of probes on its returns; some may be other functions' too
	 */
	uint32_t site_count;
};

/* A function that gets no probe. */
struct unprobed {
	const struct provider_fn *fn; /* borrowed */
	const char *reason;	      /* static string */
};

struct probe_set {
	struct provider *provider; /* owned */
	struct probe *probes;	   /* in the provider's order, then the return sites */
	size_t count, site_count;
	struct unprobed *unprobed;
	size_t unprobed_count;
};

/*
 * Decodes each function of the provider and picks its place. Takes over the provider, also on
 * failure. 0 or -ENOMEM. A function whose code cannot be read gets its probe at the entry. A
 * function that exceptions can leave gets none if its returns are unknown (logged).
 */
int probe_set_new(struct provider *provider, struct probe_set **out);
void probe_set_free(struct probe_set *set); /* NULL is fine */

/*
 * Moves the probes to their functions' first instructions. There they see each call, even if guards
 * take it over behind that (user/guard). It costs more where the kernel has to step there.
 */
void probe_set_use_entries(struct probe_set *set);

/* The allocator function whose probe is at this file offset, or NULL. For frame 0 of a stack. */
const char *probe_set_name_at(const struct probe_set *set, uint64_t offset);

/* Where that function begins in the file; the offset itself when no probe is there. */
uint64_t probe_set_entry_at(const struct probe_set *set, uint64_t offset);

#endif
