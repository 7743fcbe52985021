/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes whose profiles are served, as Prometheus' HTTP service discovery has its targets
 * (https://prometheus.io/docs/prometheus/latest/http_sd/), which Parca and Alloy take as well.
 */
#ifndef MEMLEAKBPF_SERVE_PROFILE_TARGETS_H
#define MEMLEAKBPF_SERVE_PROFILE_TARGETS_H

#include <stddef.h>

#include "user/serve/profile_source.h"

struct profile_targets;

struct profile_targets *profile_targets_new(void);	    /* NULL when out of memory */
void profile_targets_free(struct profile_targets *targets); /* NULL is fine */

/* Takes those that are sampled in place of those of before. 0 or -ENOMEM: these stay. */
int profile_targets_publish(struct profile_targets *targets, const struct profile_source *source);

/*
 * The list, with `address` ("HOST:PORT") as what they are reached by; from any thread. 0 and *text, malloc'ed; -EAGAIN:
 * none has been published yet; -ENOMEM.
 */
int profile_targets_write(struct profile_targets *targets, const char *address, char **text,
			  size_t *size);

#endif
