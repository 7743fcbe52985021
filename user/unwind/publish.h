/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts unwind tables and the targets' mappings where the unwinder looks for them. Tables are built
 * once per object, shared by all targets that map it, and removed some time after the last one
 * (user/unwind/tables.h).
 */
#ifndef MEMLEAKBPF_UNWIND_PUBLISH_H
#define MEMLEAKBPF_UNWIND_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_abi.h"
#include "user/target/image.h"
#include "user/unwind/space.h"

struct unwind_publisher;

/* The memory that is written: BPF maps (user/unwind/publish_bpf.h), or plain memory in tests. */
struct unwind_backend {
	struct unwind_chunks chunks;
	struct unwind_rule *rules;     /* [UNWIND_MAX_RULES] */
	struct unwind_target *targets; /* [ABI_TARGET_SLOTS] */
	bool no_tables;		       /* --stack fp: only mappings; no object has rows */
	/*
	 * Publishes tables by file; object = NULL removes. May be NULL. 0 or -errno, not logged: it
	 * is only a shortcut.
	 */
	int (*put_object)(void *arg, const struct unwind_object_key *key,
			  const struct unwind_object *object);
	/* Returns once every walk that had begun before has ended. */
	void (*wait)(void *arg);
	void *arg; /* of put_object and wait; owned by the publisher once that exists */
	void (*free)(void *arg);
};

/* 0 or -ENOMEM; on failure the backend is still the caller's. */
int unwind_publisher_new(const struct unwind_backend *backend, struct unwind_publisher **out);
void unwind_publisher_free(struct unwind_publisher *publisher); /* NULL is fine */

/*
 * Makes the image's executable ranges the target's mappings, and builds the tables of new objects.
 * Unreadable objects become ranges without rows, logged at debug level. 0; or -ENOMEM, -ENOSPC,
 * -E2BIG, logged: the target keeps its old mappings.
 */
int unwind_publisher_set(struct unwind_publisher *publisher, uint32_t target_id,
			 const struct image *image);

/*
 * The same for a target that runs. Reads the image again until nothing is mapped meanwhile; the old
 * mappings serve until then. -EAGAIN when something was mapped each time: the kernel side then asks
 * the kernel instead, and the caller should try again later. -ENOMEM, -ENOSPC, -E2BIG, logged: the
 * target keeps its old mappings.
 */
int unwind_publisher_sync(struct unwind_publisher *publisher, uint32_t target_id,
			  struct image *image);

/*
 * The kernel side has given a forked child its parent's mappings (unwind_forked()): keeps them for
 * as long as the child needs them. Call it before unwind_publisher_reclaim() whenever a fork was
 * reported.
 */
void unwind_publisher_adopt(struct unwind_publisher *publisher, uint32_t child_id);

/*
 * Builds an object's tables before any target maps it, and keeps them until target_id is dropped:
 * for a command that is about to start. Leaves out what cannot be read, logged at debug level.
 */
void unwind_publisher_hold(struct unwind_publisher *publisher, uint32_t target_id,
			   struct object *object);

/* The target has ended. */
void unwind_publisher_drop(struct unwind_publisher *publisher, uint32_t target_id);

/* Returns once every BPF program that was running has ended: tens of milliseconds. */
void unwind_publisher_wait(struct unwind_publisher *publisher);

/*
 * Frees what nothing uses any more, some of it at the next call only. Call it when all events of
 * the kernel side have been handled: an unread fork could still refer to it. Cheap when there is
 * nothing to do; else waits some milliseconds.
 */
void unwind_publisher_reclaim(struct unwind_publisher *publisher);

/*
 * A target id that only user space knows. Its mappings belong to the stack that is being finished
 * (user/unwind/finish.h).
 */
#define UNWIND_OWN_TARGET 0

/*
 * For unwinding in user space: [UNWIND_MAX_RULES]; the row of UNWIND_OWN_TARGET; the chunk of a
 * word, or NULL.
 */
const struct unwind_rule *unwind_publisher_rules(const struct unwind_publisher *publisher);
const struct unwind_target *unwind_publisher_own_target(const struct unwind_publisher *publisher);
const void *unwind_publisher_chunk(const struct unwind_publisher *publisher, uint32_t word);
bool unwind_publisher_has_tables(const struct unwind_publisher *publisher);

/* The key by which the kernel side knows the object's file. */
struct unwind_object_key unwind_object_key_of(const struct object *object);

struct unwind_publisher_stats {
	size_t objects, sets, targets;
	size_t bytes;	    /* of tables and sets */
	size_t chunk_bytes; /* of memory taken for tables and sets */
	size_t rows, rules;
	uint64_t build_ns; /* spent reading objects, in all */
};

void unwind_publisher_stats(const struct unwind_publisher *publisher,
			    struct unwind_publisher_stats *out);

#endif
