/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which frames pprof leaves out when it shows a profile: what lies between the allocation function
 * and the site (frames_site()), so that `-top` has who allocated, and not malloc. Private to
 * user/export.
 */
#ifndef MEMLEAKBPF_EXPORT_PPROF_PRUNE_H
#define MEMLEAKBPF_EXPORT_PPROF_PRUNE_H

#include "user/export/collect.h"

/* Regular expressions of whole names, as profile.proto's drop_frames and keep_frames. */
struct pprof_prune {
	char *drop; /* beneath the site of some stack; NULL: nothing */
	char *keep; /* of these what other stacks have as their site, or above it; NULL: nothing */
};

/* Both are to be free()d. 0 or -ENOMEM. */
int pprof_prune_make(const struct collection *c, const struct site_rules *sites,
		     struct pprof_prune *out);
void pprof_prune_release(struct pprof_prune *prune);

#endif
