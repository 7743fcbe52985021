/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A gate of the program of guarded_target.h, beside its guards or without. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GUARD_GATE_OF_TARGET_H
#define MEMLEAKBPF_TESTS_UNIT_GUARD_GATE_OF_TARGET_H

#include "tests/unit/guard/guard_of_target.h"
#include "user/gate/leftover.h"
#include "user/gate/stub_layout.h"

/* The same functions, as a gate has them: it lets malloc_usable_size be. */
static const uint32_t gate_kinds[] = {GATE_KIND_SIZE_1, GATE_KIND_CALLOC, GATE_KIND_REALLOC,
				      GATE_KIND_FREE,	GATE_KIND_SIZE_2, GATE_KIND_POSIX};
static struct gate_wanted gated[ARRAY_SIZE(gate_kinds)];

static inline int open_gate(uint64_t mean, struct gate **gate, char reason[static REASON_MAX])
{
	const struct gate_request request = {
		.pid = target.pid,
		.functions = gated,
		.count = ARRAY_SIZE(gated),
		.text = target.text,
		.text_address = target.text_address,
		.text_size = target.text_size,
		.mean = mean,
		.nop = &nop,
	};

	for (size_t i = 0; i < ARRAY_SIZE(gated); i++) {
		gated[i] = wanted[i];
		gated[i].kind = gate_kinds[i];
		gated[i].calls_others = true;
	}
	return gate_open(&request, gate, reason);
}

static inline int try_gate(uint64_t mean, struct gate **gate, char reason[static REASON_MAX])
{
	return open_gate(mean, gate, reason) ?: gate_start(*gate, reason);
}

static inline struct gate *start_gate(uint64_t mean)
{
	char reason[REASON_MAX] = "";
	struct gate *gate = NULL;

	if (try_gate(mean, &gate, reason))
		fail_msg("%s", reason);
	return gate;
}

static inline void close_gate(struct gate *gate)
{
	char reason[REASON_MAX] = "";

	if (gate_close(gate, false, reason))
		fail_msg("%s", reason);
}

/* Of the newest gate in the process, where its code is; its header in *header. */
static inline uint64_t find_gate(struct gate_header *header)
{
	struct iovec to = {header, sizeof(*header)}, from = {NULL, sizeof(*header)};
	uint64_t at = 0;
	struct maps *maps;

	assert_int_equal(maps_read(target.pid, &maps), 0);
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		struct gate_header there;

		if (strcmp(m->path, GATE_PATH) != 0 || !m->exec)
			continue;
		to.iov_base = &there;
		from.iov_base = (void *)(uintptr_t)(m->start + GATE_HEADER);
		/* Half of a gate has no header. */
		if (process_vm_readv(target.pid, &to, 1, &from, 1, 0) != sizeof(there))
			continue;
		if (!at || there.seed > header->seed) {
			*header = there;
			at = m->start;
		}
	}
	maps_free(maps);
	return at;
}

#endif
