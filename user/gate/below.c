// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/below.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/stub.h"

#define JUMP 0xe9

bool gate_is_guard(const struct maps *maps, uint64_t address)
{
	const struct mapping *mapping = maps_find(maps, address);

	return mapping && mapping->exec && !strcmp(mapping->path, GATE_GUARD_PATH);
}

bool gate_has_guards(const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		if (!strcmp(maps_at(maps, i)->path, GATE_GUARD_PATH))
			return true;
	}
	return false;
}

/* Clears the bytes, in a copy of the code, that are filled in for a process. */
static void below_clear_filled(uint8_t *code)
{
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		const struct gate_stub *stub = &stubs[i];
		const struct {
			uint32_t at, size;
		} filled[] = {
			{stub->undo, GATE_UNDO},       {stub->exact_undo, GATE_UNDO},
			{stub->room, GATE_ROOM},       {stub->instead, DISPLACE_JUMP},
			{stub->allocated, GATE_PROBE}, {stub->freed, GATE_PROBE},
			{stub->kept, GATE_PROBE},
		};

		for (size_t f = 0; f < ARRAY_SIZE(filled); f++) {
			if (filled[f].at)
				memset(code + filled[f].at, 0, filled[f].size);
		}
	}
}

/* Is the file's code this version's, so that our table tells its layout? */
static bool below_is_ours(int file)
{
	uint8_t *there, *ours;
	size_t size;
	const uint8_t *blank = gate_code(&size);
	bool same = false;

	there = malloc(2 * GATE_CODE_SIZE);
	if (!there)
		return false;
	ours = there + GATE_CODE_SIZE;
	if (file >= 0 && pread(file, there, size, 0) == (ssize_t)size) {
		memcpy(ours, blank, size);
		below_clear_filled(there);
		below_clear_filled(ours);
		same = !memcmp(there, ours, size);
	}
	free(there);
	return same;
}

static const struct gate_stub *below_stub(uint64_t offset)
{
	size_t count;
	const struct gate_stub *stubs = gate_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		if (offset == stubs[i].undo || offset == stubs[i].exact_undo)
			return &stubs[i];
	}
	return NULL;
}

int gate_below(pid_t pid, const struct maps *maps, const struct mapping *gate, int file,
	       uint64_t to, uint32_t kept, uint64_t *below, char reason[static REASON_MAX])
{
	const struct gate_stub *stub = below_stub(to - gate->start);
	uint8_t jump[DISPLACE_JUMP];
	struct iovec local = {jump, sizeof(jump)}, remote;

	*below = 0;
	if (!gate_has_guards(maps))
		return 0;
	if (!stub || !below_is_ours(file))
		return refuse(reason, -EBUSY,
			      "another version's gate is in it, which may stand before guards");
	/* The first instruction has as many bytes in the room as in the function. */
	remote = (struct iovec){(void *)(uintptr_t)(gate->start + stub->room + kept), sizeof(jump)};
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(jump))
		return refuse(reason, -ESRCH, "its memory cannot be read");
	if (jump[0] == JUMP) {
		uint64_t target = displace_jump_target(jump, gate->start + stub->room + kept);

		if (gate_is_guard(maps, target))
			*below = target;
	}
	return 0;
}
