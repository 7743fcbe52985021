/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process that `survey --keep` names: what a list of targets, a profile's labels and a row say of it. */
#ifndef MEMLEAKBPF_SERVE_KEPT_PROCESS_H
#define MEMLEAKBPF_SERVE_KEPT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Strings live until the survey's next look, or until the keeper is called again. */
struct kept_process {
	pid_t pid;
	uint64_t
		start_ticks; /* field 22 of /proc/PID/stat: tells it from a later one of that pid */
	const char *comm;
	const char *unit, *container, *pod; /* NULL: none, or unknown */
	const char *pod_name;		    /* "NAMESPACE/POD"; NULL: unknown */
	const char *build_id;		    /* of its program, in hexadecimal; NULL: none */
	bool gated;			    /* it is being sampled */
	const char *reason;		    /* why it is not, a clause about it; NULL: it is */
	uint64_t since_ns;		    /* CLOCK_MONOTONIC: since when it is; 0: it is not */
};

#endif
