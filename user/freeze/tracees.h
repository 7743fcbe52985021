/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The threads of a process that is held, for the process that holds it (tracer.c). */
#ifndef MEMLEAKBPF_FREEZE_TRACEES_H
#define MEMLEAKBPF_FREEZE_TRACEES_H

#include <sched.h>

#include "user/base/reason.h"
#include "user/freeze/registers.h"
#include "user/freeze/stop.h"

struct tracee {
	struct stop_thread thread;
	int signal; /* to be passed on at the release; 0: none */
	bool stopped, gone;
	bool hurried; /* runs before others until it stands */
	int policy;   /* how it was scheduled before */
	struct sched_param param;
	bool asked;  /* stopped only because we asked for it */
	bool asleep; /* left alone; not traced */
	bool seen;   /* still asleep, at the last look */
	uint64_t switches;
};

struct tracees {
	pid_t pid, but; /* but: a thread that somebody else holds; 0: none */
	pid_t *sharers; /* other processes that run in its memory: stopped as well */
	size_t sharer_count;
	bool ending;	 /* threads that do not stop may be hurried */
	uint64_t max_ns; /* for stopping them; named when they do not stop */
	bool (*is_late)(void *ctx);
	void *ctx;
	const struct stop_sleepers *sleepers; /* NULL: all are stopped */
	struct registers_layout layout;	      /* with sleepers */
	struct tracee *items;
	size_t count, room;
	size_t found; /* where the last thread was found: the next one often follows it */
	char reason[REASON_MAX];
};

/*
 * Stops those that are not stopped yet, until is_late() returns true. 0 or -errno with the reason,
 * not logged; some may be stopped then.
 */
int tracees_stop(struct tracees *all);

/* Reads the registers that have not been read yet. As above. */
int tracees_read_registers(struct tracees *all);

/* Looks anew at which stop the thread is in. */
void tracees_look_at(struct tracee *t);

/* Lets all of them go on. */
void tracees_release(struct tracees *all);

#endif
