/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The targets of a recording: what they are, where their code is mapped, and all that the file has
 * said of each so far. Private to user/recording.
 */
#ifndef MEMLEAKBPF_RECORDING_RECORDING_TARGET_H
#define MEMLEAKBPF_RECORDING_RECORDING_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/model/id_map.h"
#include "user/recording/recording_figures.h"
#include "user/recording/recording_misuse.h"
#include "user/recording/recording_names.h"
#include "user/recording/recording_rows.h"
#include "user/recording/recording_verdict.h"

/* What the file has of a target. */
struct written_target {
	uint32_t id;
	char comm[16];
	bool described;
	struct module_maps *maps; /* as written last */
	struct written_rows rows;
	struct recorded_notes notes;
	struct recorded_misuses misuses[MISUSE_FINDERS];
	struct recorded_figures figures;
	struct scopes_list scopes;
};

struct written_targets {
	struct written_target **items;
	size_t count;
};

/* The target, made if there is none of the id; NULL when out of memory. */
struct written_target *written_target_get(struct written_targets *targets, uint32_t id);
/* Nothing of it follows. */
void written_target_forget(struct written_targets *targets, const struct written_target *t);
void written_targets_free(struct written_targets *targets);

/* Each adds a message, if there is something new to say. 0 or -errno. */
int recording_put_target(struct recording_out *out, struct written_target *t,
			 const struct snapshot *s);
int recording_put_maps(struct recording_out *out, struct written_target *t,
		       const struct snapshot *s);

/* What has been read of a target. */
struct read_target {
	uint32_t id;
	pid_t pid;
	char comm[16];
	char **cmdline; /* NULL: unknown */
	struct module_maps *maps;
	struct read_rows rows;
	struct recorded_notes notes;
	struct recorded_misuses misuses[MISUSE_FINDERS];
	struct recorded_figures figures;
	struct scopes_list scopes;
};

struct read_targets {
	struct read_target *items;
	size_t count;
	struct id_map numbers; /* target id -> place in items */
};

/* Whose message it is; NULL: of none that is there. */
struct read_target *read_target_of(const struct read_targets *targets, struct wire_reader message);
/* Nothing of it follows: forgets all but what it was called. */
void read_target_release(struct read_target *t);
void read_targets_free(struct read_targets *targets);

/* Each takes in a message. 0, -ENOMEM or recording_refuse(). */
int recording_take_target(struct recording_in *in, struct read_targets *targets,
			  struct wire_reader message);
int recording_take_maps(struct recording_in *in, struct read_target *t, struct wire_reader message);

/* Takes in a misuse of the target. 0, -ENOMEM or recording_refuse(). */
int recording_take_bad_free(struct recording_in *in, struct read_target *t,
			    struct wire_reader message);
int recording_take_bad_access(struct recording_in *in, struct read_target *t,
			      struct wire_reader message);

/* What the snapshot says of its target. 0 or -ENOMEM. */
int recording_fill_target(const struct read_target *t, struct snapshot *s);

extern const struct field recording_target_fields[], recording_maps_fields[];

#endif
