// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * As with the gate (gate_pages.c) the process itself makes the files and maps them, by system calls
 * that one of its threads is made to do.
 */
#include "user/guard/guard_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/remote.h"
#include "user/freeze/run_first.h"
#include "user/gate/hole.h"
#include "user/gate/leftover.h"
#include "user/process/proc.h"

/* Newer than some libcs' headers: linux/memfd.h of 6.3, asm-generic/mman-common.h of 4.14 and 4.17. */
#define MFD_WITH_EXEC	 0x0010U
#define WIPE_ON_FORK	 18
#define FIXED_NO_REPLACE 0x100000

/* Another thread may have taken the place meanwhile. */
#define TRIES 4

/*
 * Where pools lie: between what programs map from below and what the kernel maps from above, at random,
 * since it is memory that may be written.
 */
#define POOLS_FROM   0x580000000000ull
#define POOLS_RANGE  0x200000000000ull
#define PLACES_TRIED 1000

struct pages_making {
	const struct guard_request *request;
	const struct guard_part *parts;
	struct guard_pages *pages;
	struct remote *remote;
	uint8_t *code; /* GUARD_CODE_SIZE */
	char *reason;
};

/* ---- its memory --------------------------------------------------------------------------- */

int guard_pages_read(const struct guard_pages *pages, uint64_t address, void *to, size_t size,
		     char reason[static REASON_MAX])
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	if (process_vm_readv(pages->memory, &local, 1, &remote, 1, 0) == (ssize_t)size)
		return 0;
	return refuse(reason, -ESRCH, "its memory cannot be read");
}

int guard_pages_write(const struct guard_pages *pages, uint64_t address, const void *from,
		      size_t size, char reason[static REASON_MAX])
{
	struct iovec local = {(void *)(uintptr_t)from, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};

	if (process_vm_writev(pages->memory, &local, 1, &remote, 1, 0) == (ssize_t)size)
		return 0;
	return refuse(reason, -ESRCH, "its memory cannot be written");
}

/* ---- calls -------------------------------------------------------------------------------- */

static int pages_call(struct pages_making *m, const char *what, long *result, long number,
		      const uint64_t arguments[6])
{
	return remote_call_must(m->remote, what, number, arguments, result, m->reason);
}

static int pages_advise(struct pages_making *m, uint64_t address, uint64_t size, uint64_t advice,
			const char *what)
{
	const uint64_t arguments[6] = {address, size, advice};
	long result;

	return pages_call(m, what, &result, SYS_madvise, arguments);
}

static void pages_unmap(struct pages_making *m, uint64_t address, uint64_t size)
{
	const uint64_t arguments[6] = {address, size};
	char reason[REASON_MAX];
	long result;

	remote_call(m->remote, SYS_munmap, arguments, &result, reason);
}

/* Where nothing is, or -EEXIST: kernels before 4.17 take the address for a wish. */
static int pages_map(struct pages_making *m, uint64_t address, uint64_t size, int protection,
		     int flags, long file)
{
	const uint64_t arguments[6] = {address,
				       size,
				       (uint64_t)protection,
				       (uint64_t)(flags | MAP_NORESERVE | FIXED_NO_REPLACE),
				       (uint64_t)file,
				       0};
	long result;
	int err = pages_call(m, "map memory", &result, SYS_mmap, arguments);

	if (err || (uint64_t)result == address)
		return err;
	pages_unmap(m, (uint64_t)result, size);
	return refuse(m->reason, -EEXIST, "it maps things too fast");
}

/* A file in memory of the process's, of that size: its number there, and ours. */
static int pages_make_file(struct pages_making *m, const char *name, size_t name_size,
			   uint64_t flags, uint64_t size, long *number, int *file)
{
	uint64_t arguments[6] = {remote_scratch(m->remote), MFD_CLOEXEC | flags};
	int err = remote_write(m->remote, name, name_size, m->reason);
	char path[64];

	err = err ?: remote_call(m->remote, SYS_memfd_create, arguments, number, m->reason);
	/* Older kernels do not know the flag; with vm.memfd_noexec=2 it is refused, not execution. */
	arguments[1] = MFD_CLOEXEC;
	if (!err && *number < 0)
		err = pages_call(m, "make a file in memory", number, SYS_memfd_create, arguments);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)m->pages->memory, *number);
	*file = open(path, O_RDWR | O_CLOEXEC);
	if (*file < 0 || ftruncate(*file, (off_t)size))
		return refuse(m->reason, -EIO, "its file in memory cannot be opened");
	return 0;
}

static void pages_close_number(struct pages_making *m, long number)
{
	const uint64_t arguments[6] = {(uint64_t)number};
	char reason[REASON_MAX];
	long result;

	if (number >= 0)
		remote_call(m->remote, SYS_close, arguments, &result, reason);
}

/* ---- making them -------------------------------------------------------------------------- */

static int pages_map_code(struct pages_making *m)
{
	struct guard_pages *pages = m->pages;
	uint64_t data = pages->address + GUARD_CODE_SIZE;
	long number = -1;
	int err = pages_make_file(m, GUARD_CODE_NAME, sizeof(GUARD_CODE_NAME), MFD_WITH_EXEC,
				  GUARD_CODE_SIZE, &number, &pages->file);

	if (!err && pwrite(pages->file, m->code, GUARD_CODE_SIZE, 0) != GUARD_CODE_SIZE)
		err = refuse(m->reason, -EIO, "its file in memory cannot be written");
	err = err
		      ?: pages_map(m, pages->address, GUARD_CODE_SIZE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE, number);
	pages_close_number(m, number);
	if (err)
		return err;
	err = pages_map(m, data, GUARD_SIZE - GUARD_CODE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (err) {
		pages_unmap(m, pages->address, GUARD_CODE_SIZE);
		return err;
	}
	err = pages_advise(m, data, GUARD_POOL - GUARD_CODE_SIZE, WIPE_ON_FORK,
			   "have memory wiped in children");
	if (err)
		pages_unmap(m, pages->address, GUARD_SIZE);
	return err;
}

/*
 * With no right to it at first: memory that may be written is filled at once in a process that has locked all
 * that it maps (mlockall).
 */
static int pages_prepare(struct pages_making *m, uint64_t address, uint64_t size)
{
	const uint64_t unlock[6] = {address, size};
	const uint64_t protect[6] = {address, size, PROT_READ | PROT_WRITE};
	long result;
	int err = pages_call(m, "unlock memory", &result, SYS_munlock, unlock);

	/* A kernel without huge pages does not know the advice, and needs none. */
	if (!err && pages_advise(m, address, size, MADV_NOHUGEPAGE, "have small pages") != -EINVAL)
		err = 0;
	return err ?: pages_call(m, "write to memory", &result, SYS_mprotect, protect);
}

static int pages_map_pool(struct pages_making *m)
{
	struct guard_pages *pages = m->pages;
	uint64_t size = guard_pool_size(pages->count);
	long number = -1;
	int file = -1;
	int err = pages_make_file(m, GUARD_POOL_NAME, sizeof(GUARD_POOL_NAME), 0, size, &number,
				  &file);

	err = err ?: pages_map(m, pages->pool, size, PROT_NONE, MAP_PRIVATE, number);
	if (!err) {
		err = pages_map(m, pages->save, size, PROT_NONE, MAP_SHARED, number);
		if (err)
			pages_unmap(m, pages->pool, size);
	}
	pages_close_number(m, number);
	if (file >= 0)
		close(file);
	if (err)
		return err;
	err = pages_prepare(m, pages->pool, size);
	err = err ?: pages_prepare(m, pages->save, size);
	err = err ?: pages_advise(m, pages->save, size, MADV_DONTDUMP, "leave it out of cores");
	if (err) {
		pages_unmap(m, pages->pool, size);
		pages_unmap(m, pages->save, size);
	}
	return err;
}

/* What says that all is there is written last: alive. */
static int pages_write_data(struct pages_making *m)
{
	const struct guard_pages *pages = m->pages;
	struct guard_pool pool;
	struct guard_header header;
	int err;

	guard_pool_init(&pool, pages->pool, pages->save, pages->count, pages->keep_pages);
	guard_header_init(&header, 0, m->request->at_left);
	err = guard_pages_write(pages, pages->address + GUARD_POOL, &pool, sizeof(pool), m->reason);
	return err
		       ?: guard_pages_write(pages, pages->address + GUARD_HEADER, &header,
					    sizeof(header), m->reason);
}

static bool pages_is_free(const struct maps *maps, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mapping = maps_at(maps, i);

		if (mapping->start < to && mapping->end > from)
			return false;
	}
	return true;
}

/* Of the pool and what is saved of it, with as much between them. */
static bool pages_choose_pool(struct guard_pages *pages, const struct maps *maps)
{
	uint64_t size = guard_pool_size(pages->count), random, at;

	for (int i = 0; i < PLACES_TRIED; i++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return false;
		at = (POOLS_FROM + random % POOLS_RANGE) & ~(size - 1);
		if (!pages_is_free(maps, at - size, at + 4 * size))
			continue;
		pages->pool = at;
		pages->save = at + 2 * size;
		return true;
	}
	return false;
}

static int pages_choose(struct pages_making *m)
{
	const struct gate_request *in = &m->request->in;
	struct guard_pages *pages = m->pages;
	struct maps *maps;
	bool found;

	if (maps_read(pages->memory, &maps))
		return refuse(m->reason, -ESRCH, "it has ended");
	pages->address = gate_hole_find(maps, in->text_address, in->text_address + in->text_size,
					GUARD_SIZE);
	found = pages->address && pages_choose_pool(pages, maps);
	maps_free(maps);
	if (!found || guard_parts_fill(m->request, m->parts, pages->address, pages->pool,
				       pages->count, m->code))
		return refuse(m->reason, -ENOSPC, "nothing is free within 2 GiB of its allocator");
	return 0;
}

static void pages_unmap_all(struct pages_making *m)
{
	uint64_t size = guard_pool_size(m->pages->count);

	pages_unmap(m, m->pages->pool, size);
	pages_unmap(m, m->pages->save, size);
	pages_unmap(m, m->pages->address, GUARD_SIZE);
}

static void pages_note_pause(struct guard_pages *pages, uint64_t stood)
{
	if (stood > pages->pause_ns)
		pages->pause_ns = stood;
}

static int pages_make_once(struct pages_making *m)
{
	int err = pages_choose(m);

	if (err)
		return err;
	/* Or the pause would be as long as others on a busy machine let it be. */
	run_first(true);
	err = gate_hold_enter(m->pages->pid, m->pages->hold, &m->remote, m->reason);
	if (!err) {
		err = pages_map_code(m);
		if (!err) {
			err = pages_map_pool(m);
			if (err)
				pages_unmap(m, m->pages->address, GUARD_SIZE);
			err = err ?: pages_write_data(m);
		}
		/* Where it cannot have guards it may still have a gate, for which it waits. */
		pages_note_pause(m->pages, gate_hold_leave(m->pages->hold, m->remote, false));
	}
	run_first(false);
	if (err && m->pages->file >= 0) {
		close(m->pages->file);
		m->pages->file = -1;
	}
	return err;
}

/* As gate_pages.c has it: something is there meanwhile, or no thread can be used at this moment. */
static bool pages_is_worth_another_try(int err)
{
	return err == -EEXIST || err == -ETIMEDOUT || err == -EBUSY;
}

int guard_pages_make(const struct guard_request *request, const struct guard_part *parts,
		     struct guard_pages *pages, char reason[static REASON_MAX])
{
	_cleanup_free_ uint8_t *code = malloc(GUARD_CODE_SIZE);
	struct pages_making m = {
		.request = request, .parts = parts, .pages = pages, .code = code, .reason = reason};
	int err = code ? -EEXIST : refuse(reason, -ENOMEM, "no memory");

	pages->count = request->count;
	for (int i = 0; i < TRIES && pages_is_worth_another_try(err); i++)
		err = pages_make_once(&m);
	return err;
}

void guard_pages_remove(struct guard_pages *pages)
{
	struct pages_making m = {.pages = pages};
	char reason[REASON_MAX];

	if (gate_hold_enter(pages->pid, pages->hold, &m.remote, reason))
		return;
	pages_unmap_all(&m);
	gate_hold_leave(pages->hold, m.remote, false);
}

/* ---- what is there ------------------------------------------------------------------------ */

/* Only the first byte tells whether a probe is there now: leftover_even_sites() of the gate. */
static void pages_even_sites(const uint8_t *file, uint8_t *memory)
{
	size_t count;
	const struct guard_stub *stubs = guard_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		const uint32_t sites[] = {stubs[i].allocated, stubs[i].freed, stubs[i].bad};

		for (size_t j = 0; j < ARRAY_SIZE(sites); j++) {
			if (sites[j])
				memcpy(memory + sites[j] + 1, file + sites[j] + 1, GATE_PROBE - 1);
		}
	}
}

/* Is it code of these guards, and does nobody have probes in it? Sets pages->file, to be closed. */
static bool pages_has_code(struct guard_pages *pages, const struct mapping *mapping,
			   const uint8_t *wanted, uint8_t *there)
{
	char path[96], unused[REASON_MAX];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pages->memory,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	pages->file = open(path, O_RDONLY | O_CLOEXEC);
	if (pages->file < 0 ||
	    pread(pages->file, there, GUARD_CODE_SIZE, 0) != (ssize_t)GUARD_CODE_SIZE ||
	    memcmp(there, wanted, GUARD_CODE_SIZE) != 0 ||
	    guard_pages_read(pages, mapping->start, there, GUARD_CODE_SIZE, unused))
		return false;
	pages_even_sites(wanted, there);
	return !memcmp(there, wanted, GUARD_CODE_SIZE);
}

static bool pages_maps_file(const struct maps *maps, uint64_t address, uint64_t size, bool shared)
{
	const struct mapping *mapping = maps_find(maps, address);

	return mapping && !strcmp(mapping->path, GUARD_POOL_PATH) && mapping->start == address &&
	       mapping->end == address + size && mapping->shared == shared && mapping->read &&
	       mapping->write && !mapping->offset;
}

/* Its books say where the pool is: only what the mappings say as well is believed. */
static bool pages_has_pool(struct guard_pages *pages, const struct maps *maps)
{
	char unused[REASON_MAX];
	struct guard_header header = {0};
	struct guard_pool pool = {0};

	if (guard_pages_read(pages, pages->address + GUARD_HEADER, &header, sizeof(header),
			     unused) ||
	    guard_pages_read(pages, pages->address + GUARD_POOL, &pool, sizeof(pool), unused) ||
	    header.alive != 1 || !guard_count_fits(pool.count))
		return false;
	pages->pool = pool.base;
	pages->save = pool.save;
	pages->count = pool.count;
	return pages_maps_file(maps, pool.base, guard_pool_size(pool.count), false) &&
	       pages_maps_file(maps, pool.save, guard_pool_size(pool.count), true);
}

static bool pages_fit(struct pages_making *m, const struct maps *maps,
		      const struct mapping *mapping)
{
	struct guard_pages *pages = m->pages;

	if (strcmp(mapping->path, GUARD_CODE_PATH) != 0 || !mapping->exec || mapping->shared ||
	    mapping->offset || mapping->end - mapping->start != GUARD_CODE_SIZE)
		return false;
	pages->address = mapping->start;
	if (pages_has_pool(pages, maps) &&
	    !guard_parts_fill(m->request, m->parts, pages->address, pages->pool, pages->count,
			      m->code) &&
	    pages_has_code(pages, mapping, m->code, m->code + GUARD_CODE_SIZE))
		return true;
	if (pages->file >= 0)
		close(pages->file);
	pages->file = -1;
	return false;
}

/* Of a jump at a function: `own` is where that of these guards goes, 0: there are none yet. */
static int pages_check_jump(const struct gate_wanted *function, struct guard_part *part,
			    const struct guard_pages *pages, const struct maps *maps, uint64_t own,
			    char reason[static REASON_MAX])
{
	uint64_t to = 0, below = 0;
	enum gate_state state = GATE_IS_NONE;
	int there = gate_read_before(pages->memory, function, &part->place, &to, reason), err = 0;

	if (there <= 0 || (own && to == own))
		return there < 0 ? there : 0;
	if (!gate_is_guard(maps, to))
		err = gate_look_at_jump(pages->memory, maps, to, part->place.function.plan.kept,
					&state, &below, reason);
	if (err)
		return err;
	part->covered = state == GATE_IS_OWNED;
	if (gate_is_guard(maps, to) || (below && below != own))
		return refuse(
			reason, -EBUSY,
			"there is a jump at %s: another tool's guards, or those of the process "
			"that it was forked from",
			function->name);
	if (state == GATE_IS_NONE)
		return refuse(reason, -EBUSY, "there is a jump at %s", function->name);
	/* Its books would lack what is guarded behind its back. */
	if (part->covered && !below)
		return refuse(reason, -EBUSY, "a memleakbpf has its gate in it");
	return 0;
}

/*
 * Where jumps are, all of them go to what was found, be it by a gate; or to a gate that nobody uses any
 * more, and whose jump is written over; or they are somebody else's.
 */
static int pages_check_jumps(const struct guard_request *request, struct guard_part *parts,
			     const struct guard_pages *pages, const struct maps *maps, bool found,
			     char reason[static REASON_MAX])
{
	int err = 0;

	for (size_t i = 0; i < request->in.count && !err; i++) {
		uint64_t own = found ? guard_jump_target(pages->address, parts[i].stub) : 0;

		err = pages_check_jump(&request->in.functions[i], &parts[i], pages, maps, own,
				       reason);
	}
	return err;
}

bool guard_pages_covered(const struct guard_pages *pages, const struct guard_part *parts,
			 size_t count)
{
	struct maps *maps = NULL;
	bool covered = false;

	if (maps_read(pages->memory, &maps))
		return false;
	for (size_t i = 0; i < count && !covered; i++) {
		uint64_t own = guard_jump_target(pages->address, parts[i].stub), below;
		const struct gate_part *place = &parts[i].place;
		uint8_t jump[DISPLACE_JUMP];
		char unused[REASON_MAX];
		enum gate_state state;

		covered = !guard_pages_read(pages, place->jump_at, jump, sizeof(jump), unused) &&
			  jump[0] == 0xe9 &&
			  !gate_look_at_jump(pages->memory, maps,
					     displace_jump_target(jump, place->jump_at),
					     place->function.plan.kept, &state, &below, unused) &&
			  below == own;
	}
	maps_free(maps);
	return covered;
}

int guard_pages_find(const struct guard_request *request, struct guard_part *parts,
		     struct guard_pages *pages, char reason[static REASON_MAX])
{
	_cleanup_free_ uint8_t *code = malloc(2 * GUARD_CODE_SIZE);
	struct pages_making m = {.request = request, .parts = parts, .pages = pages, .code = code};
	struct maps *maps = NULL;
	bool found = false;
	int err;

	if (!code)
		return refuse(reason, -ENOMEM, "no memory");
	if (maps_read(pages->memory, &maps))
		return refuse(reason, -ESRCH, "it has ended");
	for (size_t i = 0; i < maps_count(maps) && !found; i++)
		found = pages_fit(&m, maps, maps_at(maps, i));
	pages->taken_over = found;
	err = pages_check_jumps(request, parts, pages, maps, found, reason);
	maps_free(maps);
	return err ?: found;
}
