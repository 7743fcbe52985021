/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --scope: which functions of an object are scopes, and what the kernel side has counted of their
 * calls (bpf/scope_abi.h).
 */
#ifndef MEMLEAKBPF_SCOPES_SCOPES_H
#define MEMLEAKBPF_SCOPES_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_map;
struct image;
struct object;
struct probe_set;
struct provider;
struct scope_spec;
struct scopes;
struct slots;
struct snapshot;
struct stack;
struct stack_table;
struct symbolizer;

struct scopes_options {
	const struct scope_spec *specs; /* borrowed */
	size_t count;
	bool anywhere; /* a process that has none of them is traced all the same */
	uint64_t sample_bytes;
};

/* What of the BPF object, which is loaded, and of the trace it uses; all borrowed. */
struct scopes_uses {
	const struct bpf_map *nodes, *node_of_key, *free_nodes, *others;
	const uint32_t *next_node; /* the programs' */
	const struct slots *slots;
	struct stack_table *stacks;
	struct symbolizer *symbolizer;
};

/* 0 and *out; or -errno. */
int scopes_new(const struct scopes_options *options, const struct scopes_uses *uses,
	       struct scopes **out);
void scopes_free(struct scopes *scopes); /* NULL is fine */

/*
 * The functions of an object that are scopes: 0 and *out, or -ENOENT; -ENOMEM. They get numbers.
 * scopes NULL: none is.
 */
int scopes_find(struct scopes *scopes, struct object *object, struct provider **out);
/* Sets the cookies of such functions' probes. */
void scopes_assign(struct probe_set *set);

/* Is there a --scope that names no function of what has been mapped so far? *spec: its number. NULL: none. */
bool scopes_miss(const struct scopes *scopes, size_t *spec);

/* Where a scope's function is missing. */
struct scopes_process {
	pid_t pid;
	const char *comm;
	const struct image *image; /* NULL: not known */
	const char *
		language; /* the first that it runs whose functions are no code of a file; NULL: none */
};

/* Logs why the process has nothing for a --scope, by its number. */
void scopes_say_missing(const struct scopes *scopes, const struct scopes_process *process,
			size_t spec);

/* Fills in the snapshot's list of scopes, but not what is in its stacks. 0 or -ENOMEM. NULL is fine. */
int scopes_read(struct scopes *scopes, uint32_t target_id, struct snapshot *snapshot);
/* Then for each stack, before any are merged: counts it, and says in it which scope it is in. */
void scopes_add_stack(struct scopes *scopes, struct snapshot *snapshot, struct stack *stack,
		      uint32_t node);

/*
 * The id that a stack has in the snapshot that is being read, made from the kernel side's id. Equal
 * frames in equal scopes have the same id in every process and in every run. node 0: the id itself.
 */
uint64_t scopes_mixed_id(const struct scopes *scopes, uint64_t id, uint32_t node);

/* Gives back the nodes of targets that have been swept. NULL is fine. */
void scopes_release_swept(struct scopes *scopes);

#endif
