/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's JVM: what is known of it, and reading its memory. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_JAVA_H
#define MEMLEAKBPF_RUNTIME_TARGET_JAVA_H

#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/runtime/java/hotspot_layout.h"
#include "user/runtime/runtime_target.h"
#include "user/runtime/target_memory.h"

#define JAVA_LIBRARY_MAPPINGS 8

/* What has been named. */
struct java_code {
	struct runtime_call call; /* the key */
	UT_hash_handle hh;
	size_t count;
	const struct frame *frames[]; /* the innermost first; of runtime_host.keep() */
};

/* The JVM of a target. */
struct target_java {
	uint64_t object_id, bias; /* of its library; over link-time addresses */
	struct hotspot_layout layout;
	struct hotspot_row row;	  /* as the programs have it */
	bool has_layout, entered; /* the row is in their map */
	bool refused;		  /* which has been said */
	bool awaited;		  /* its tables were */
	/* Its library's own pages, in which whatever is there may be read. */
	struct {
		uint64_t start, end;
	} library[JAVA_LIBRARY_MAPPINGS];
	size_t library_count;
	struct java_code *codes; /* uthash by call: java_names.h */
	uint64_t unnamed;	 /* frames */
};

void target_java_free(struct target_java *java);

/* The target's memory, for what reads HotSpot's. */
struct java_memory {
	struct hotspot_memory memory;
	const struct target_java *java;
	struct target_memory of;
};

int java_memory_open(struct java_memory *memory, const struct runtime_target *target);
void java_memory_close(struct java_memory *memory);

#endif
