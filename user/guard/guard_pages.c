// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process itself makes the files and maps them, as with the gate (gate_pages.c). One of its
 * threads is made to do the system calls.
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
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/remote.h"
#include "user/freeze/run_first.h"
#include "user/gate/hole.h"
#include "user/gate/owner.h"
#include "user/guard/guard_said.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

/* Newer than some libcs' headers: linux/memfd.h of 6.3, asm-generic/mman-common.h of 4.14 and 4.17. */
#define MFD_WITH_EXEC	 0x0010U
#define WIPE_ON_FORK	 18
#define FIXED_NO_REPLACE 0x100000

/*
 * Pools lie between the memory that programs map from below and that which the kernel maps from
 * above. The place is random, since the pool is writable memory.
 */
#define POOLS_FROM   0x580000000000ull
#define POOLS_RANGE  0x200000000000ull
#define PLACES_TRIED 1000

/* An earlier try, whose thread has gone on, may have left this. */
struct pages_left {
	int file;  /* with the code; -1: it has left nothing */
	bool data; /* mapped behind the code */
	uint64_t address, pool, save;
};

struct pages_making {
	const struct guard_request *request;
	const struct guard_part *parts;
	struct guard_pages *pages;
	struct remote *remote;
	bool data; /* mapped behind the code */
	struct pages_left left;
	uint8_t *code; /* GUARD_CODE_SIZE */
	char *reason;
};

/* ---- its memory --------------------------------------------------------------------------- */

int guard_pages_read(const struct guard_pages *pages, uint64_t address, void *to, size_t size,
		     char reason[static REASON_MAX])
{
	return program_memory_read(&pages->program, address, to, size)
		       ? refuse(reason, -ESRCH, "its memory cannot be read")
		       : 0;
}

int guard_pages_write(const struct guard_pages *pages, uint64_t address, const void *from,
		      size_t size, char reason[static REASON_MAX])
{
	return program_memory_write(&pages->program, address, from, size)
		       ? refuse(reason, -ESRCH, "its memory cannot be written")
		       : 0;
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

/* Maps where nothing is. -EEXIST: something is; kernels before 4.17 take the address for a hint. */
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

/* Maps that file of ours: its number in the process may mean another file by now. */
static int pages_map_file(struct pages_making *m, uint64_t address, uint64_t size, int protection,
			  int flags, long number, int file)
{
	int err = pages_map(m, address, size, protection, flags, number);

	if (err || owner_is_mapped(m->pages->memory, address, size, file))
		return err;
	pages_unmap(m, address, size);
	return refuse(m->reason, -EBUSY, "it has another file in the place of its new one");
}

/* Makes a file in memory of that size in the process: *number is its number there, *file ours. */
static int pages_make_file(struct pages_making *m, const char *name, size_t name_size,
			   uint64_t flags, uint64_t size, long *number, int *file)
{
	uint64_t arguments[6] = {remote_scratch(m->remote), MFD_CLOEXEC | flags};
	int err = remote_write(m->remote, name, name_size, m->reason);

	err = err ?: remote_call(m->remote, SYS_memfd_create, arguments, number, m->reason);
	/*
	 * Older kernels do not know the flag; with vm.memfd_noexec=2 the flag is refused, not
	 * execution.
	 */
	arguments[1] = MFD_CLOEXEC;
	if (!err && *number < 0)
		err = pages_call(m, "make a file in memory", number, SYS_memfd_create, arguments);
	if (err)
		return err;
	*file = owner_open_made(m->pages->memory, *number, name);
	if (*file == -EBUSY)
		return refuse(m->reason, -EBUSY, "it has another file in the place of its new one");
	if (*file < 0 || ftruncate(*file, (off_t)size))
		return refuse(m->reason, -EIO, "its file in memory cannot be opened");
	return 0;
}

void guard_pages_close(struct guard_pages *pages)
{
	if (pages->file >= 0)
		close(pages->file);
	pages->file = -1;
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

	m->data = false;
	/* Locks it before there is anything that another tool could take over. */
	if (!err && owner_take(pages->file))
		err = refuse(m->reason, -EBUSY, "its file in memory cannot be locked");
	if (!err && pwrite(pages->file, m->code, GUARD_CODE_SIZE, 0) != GUARD_CODE_SIZE)
		err = refuse(m->reason, -EIO, "its file in memory cannot be written");
	err = err
		      ?: pages_map_file(m, pages->address, GUARD_CODE_SIZE, PROT_READ | PROT_EXEC,
					MAP_PRIVATE, number, pages->file);
	pages_close_number(m, number);
	if (err)
		return err;
	err = pages_map(m, data, GUARD_SIZE - GUARD_CODE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	m->data = !err;
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
 * Maps without any right at first: in a process that has locked all that it maps (mlockall),
 * writable memory is filled at once.
 */
static int pages_prepare(struct pages_making *m, uint64_t address, uint64_t size)
{
	const uint64_t unlock[6] = {address, size};
	const uint64_t protect[6] = {address, size, PROT_READ | PROT_WRITE};
	long result;
	int err = pages_call(m, "unlock memory", &result, SYS_munlock, unlock);

	if (!err) {
		err = pages_advise(m, address, size, MADV_NOHUGEPAGE, "have small pages");
		/* A kernel without huge pages does not know the advice, and needs none. */
		err = err == -EINVAL ? 0 : err;
	}
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

	err = err ?: pages_map_file(m, pages->pool, size, PROT_NONE, MAP_PRIVATE, number, file);
	if (!err) {
		err = pages_map_file(m, pages->save, size, PROT_NONE, MAP_SHARED, number, file);
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

/* `alive` comes last: it says that all is there. */
static int pages_write_data(struct pages_making *m)
{
	const struct guard_pages *pages = m->pages;
	struct guard_pool pool;
	struct guard_header header;
	int err;

	guard_pool_init(&pool, pages->pool, pages->save, pages->count, pages->keep_pages);
	guard_header_init(&header, 0, m->request->at_left, m->request->by_fault);
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

/* Chooses room for the pool and its saved contents, with as much between them. */
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

/*
 * A thread that has gone on may have left mappings. While an earlier try's are there, this one has
 * none.
 */
static void pages_note_left(struct pages_making *m)
{
	struct guard_pages *pages = m->pages;

	if (!remote_is_lost(m->remote) || m->left.file >= 0)
		return;
	m->left = (struct pages_left){.file = pages->file,
				      .data = m->data,
				      .address = pages->address,
				      .pool = pages->pool,
				      .save = pages->save};
	pages->file = -1;
}

/* Unmaps the pool or its saved contents: nobody else has chosen that place. */
static void pages_unmap_left_pool(struct pages_making *m, const struct maps *maps, uint64_t address)
{
	const struct mapping *mapping = maps_find(maps, address);

	if (mapping && mapping->start == address && !strcmp(mapping->path, GUARD_POOL_PATH))
		pages_unmap(m, address, mapping->end - address);
}

/* Unmaps all that we know of: the rest is unused addresses. */
static void pages_unmap_left(struct pages_making *m)
{
	struct pages_left *left = &m->left;
	struct maps *maps = NULL;

	if (left->file < 0)
		return;
	if (owner_is_mapped(m->pages->memory, left->address, GUARD_CODE_SIZE, left->file))
		pages_unmap(m, left->address, left->data ? GUARD_SIZE : GUARD_CODE_SIZE);
	if (!maps_read(m->pages->memory, &maps)) {
		pages_unmap_left_pool(m, maps, left->pool);
		pages_unmap_left_pool(m, maps, left->save);
	}
	maps_free(maps);
	/* This thread has gone on as well: the next one unmaps it. */
	if (remote_is_lost(m->remote))
		return;
	close(left->file);
	left->file = -1;
}

/* Without the words pages are kept: the process has guards all the same. */
static int pages_map_said(struct pages_making *m)
{
	struct guard_pages *pages = m->pages;
	const struct guard_said where = {.pid = pages->pid,
					 .program = &pages->program,
					 .address = pages->address + GUARD_SAID};
	char reason[REASON_MAX];
	int err;

	pages->unsaid[0] = '\0';
	if (m->request->said < 0)
		return 0;
	err = guard_said_map(m->remote, &where, m->request->said, reason);
	if (err && remote_is_lost(m->remote)) {
		memcpy(m->reason, reason, REASON_MAX);
		return err;
	}
	if (err)
		snprintf(pages->unsaid, sizeof(pages->unsaid),
			 "no program can tell it of seccomp filters: %.80s", reason);
	return 0;
}

int guard_pages_take_over(const struct guard_request *request, struct guard_pages *pages,
			  char reason[static REASON_MAX])
{
	struct pages_making m = {.request = request, .pages = pages, .reason = reason};
	int err = 0;

	for (int tries = 0; !tries || gate_hold_again(err, tries); tries++) {
		run_first(true);
		err = gate_hold_enter(pages->pid, pages->hold, pages->loose, &m.remote, reason);
		if (!err) {
			err = pages_map_said(&m);
			pages_note_pause(pages, gate_hold_leave(pages->hold, m.remote, false,
								&pages->loose));
		}
		run_first(false);
	}
	return err;
}

static int pages_make_once(struct pages_making *m)
{
	int err = pages_choose(m);

	if (err)
		return err;
	/* Otherwise other threads on a busy machine decide how long the pause is. */
	run_first(true);
	err = gate_hold_enter(m->pages->pid, m->pages->hold, m->pages->loose, &m->remote,
			      m->reason);
	if (!err) {
		pages_unmap_left(m);
		err = pages_map_code(m);
		if (!err) {
			err = pages_map_pool(m);
			if (err)
				pages_unmap(m, m->pages->address, GUARD_SIZE);
			err = err ?: pages_map_said(m);
			err = err ?: pages_write_data(m);
		}
		if (err)
			pages_note_left(m);
		/* A process that cannot have guards may still have a gate, for which it waits. */
		pages_note_pause(m->pages, gate_hold_leave(m->pages->hold, m->remote, false,
							   &m->pages->loose));
	}
	run_first(false);
	if (err)
		guard_pages_close(m->pages);
	return err;
}

int guard_pages_make(const struct guard_request *request, const struct guard_part *parts,
		     struct guard_pages *pages, char reason[static REASON_MAX])
{
	_cleanup_free_ uint8_t *code = malloc(GUARD_CODE_SIZE);
	struct pages_making m = {
		.request = request, .parts = parts, .pages = pages, .code = code, .reason = reason};
	int err = code ? 0 : refuse(reason, -ENOMEM, "no memory");

	m.left.file = -1;
	pages->count = request->count;
	for (int tries = 0; !tries ? !err : gate_hold_again(err, tries); tries++)
		err = pages_make_once(&m);
	if (m.left.file >= 0)
		close(m.left.file);
	return err;
}

void guard_pages_remove(struct guard_pages *pages)
{
	const uint64_t dead = 0,
		       alive = pages->address + GUARD_HEADER + offsetof(struct guard_header, alive);
	struct pages_making m = {.pages = pages};
	char reason[REASON_MAX];

	/*
	 * First, so that nobody takes over what is about to go if this tool is killed now. The call
	 * under way is made all the same.
	 */
	if (guard_pages_write(pages, alive, &dead, sizeof(dead), reason) ||
	    gate_hold_enter(pages->pid, pages->hold, pages->loose, &m.remote, reason))
		return;
	/* Otherwise it has become another program meanwhile, which may have something there. */
	if (owner_is_mapped(pages->memory, pages->address, GUARD_CODE_SIZE, pages->file))
		pages_unmap_all(&m);
	gate_hold_leave(pages->hold, m.remote, false, &pages->loose);
}
