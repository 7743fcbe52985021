// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process itself makes the file and maps it, by system calls that one of its threads is made to
 * do (user/freeze/remote.h). Not every container has a name for a file from outside. This file is
 * the process's own, so a probe in it is in no other process.
 */
#include "user/gate/gate_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/remote.h"
#include "user/freeze/run_first.h"
#include "user/freeze/stop.h"
#include "user/gate/hole.h"
#include "user/gate/leftover.h"
#include "user/gate/owner.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

/* Newer than some libcs' headers: linux/memfd.h of 6.3, asm-generic/mman-common.h of 4.14 and 4.17. */
#define MFD_WITH_EXEC	 0x0010U
#define WIPE_ON_FORK	 18
#define FIXED_NO_REPLACE 0x100000

/* The other threads stand still for so long, while one makes the calls. */
#define OTHERS_HOLD_NS (100 * NS_PER_MS)

#define DATA_SIZE (GATE_SIZE - GATE_HEADER)

struct pages_making {
	const struct gate_request *request;
	const struct gate_part *parts;
	struct gate_pages *pages;
	struct remote *remote;
	uint8_t *code; /* GATE_CODE_SIZE, and as much for code that is read */
	uint64_t on;   /* turns the stubs on */
	uint64_t seed; /* of the last header that was written */
	/* An earlier try may have left data without code here, with that header. 0: it has not. */
	uint64_t left, left_seed;
	int (*get)(struct pages_making *m);
	char *reason;
};

static int pages_call(struct pages_making *m, const char *what, long *result, long number,
		      const uint64_t arguments[6])
{
	return remote_call_must(m->remote, what, number, arguments, result, m->reason);
}

/* Makes the file in the process; *number is its number there. */
static int pages_make_file(struct pages_making *m, long *number)
{
	uint64_t arguments[6] = {remote_scratch(m->remote), MFD_CLOEXEC | MFD_WITH_EXEC};
	int err = remote_write(m->remote, GATE_NAME, sizeof(GATE_NAME), m->reason);

	if (err)
		return err;
	err = remote_call(m->remote, SYS_memfd_create, arguments, number, m->reason);
	if (err || *number >= 0)
		return err;
	/*
	 * Older kernels do not know the flag; with vm.memfd_noexec=2 the flag is refused, not
	 * execution.
	 */
	arguments[1] = MFD_CLOEXEC;
	return pages_call(m, "make a file in memory", number, SYS_memfd_create, arguments);
}

static int pages_open_file(struct pages_making *m, long number)
{
	struct gate_pages *pages = m->pages;
	int file = owner_open_made(pages->memory, number, GATE_NAME);

	gate_pages_close(pages);
	if (file < 0)
		return refuse(m->reason, file, "its file in memory cannot be opened: %s",
			      file == -EBUSY ? "it has another one in its place by now"
					     : strerror(-file));
	pages->file = file;
	/* Locks it before there is anything that another tool could take over. */
	if (owner_take(pages->file))
		return refuse(m->reason, -EBUSY, "its file in memory cannot be locked");
	if (ftruncate(pages->file, GATE_CODE_SIZE) ||
	    pwrite(pages->file, m->code, GATE_CODE_SIZE, 0) != (ssize_t)GATE_CODE_SIZE)
		return refuse(m->reason, -EIO, "its file in memory cannot be written");
	return 0;
}

static void pages_close_number(struct pages_making *m, long number)
{
	const uint64_t arguments[6] = {(uint64_t)number};
	char reason[REASON_MAX];
	long result;

	remote_call(m->remote, SYS_close, arguments, &result, reason);
}

static int pages_unmap(struct pages_making *m, uint64_t address, uint64_t size)
{
	const uint64_t arguments[6] = {address, size};
	char reason[REASON_MAX];
	long result;

	return remote_call(m->remote, SYS_munmap, arguments, &result, reason);
}

/* Of a thread that has gone on we know only what has been mapped: the next try unmaps that. */
static void pages_unmap_data(struct pages_making *m)
{
	if (pages_unmap(m, m->pages->address + GATE_HEADER, DATA_SIZE)) {
		m->left = m->pages->address;
		m->left_seed = m->seed;
	}
}

/*
 * Unmaps what an earlier try may have left in this very program: data with our header, and no code.
 * With code it would be a gate that another tool can take over.
 */
static void pages_unmap_left(struct pages_making *m)
{
	struct gate_header header = {0};
	struct iovec to = {&header, sizeof(header)};
	struct iovec from = {(void *)(uintptr_t)(m->left + GATE_HEADER), sizeof(header)};
	struct maps *maps = NULL;

	if (!m->left || maps_read(m->pages->memory, &maps))
		return;
	if (!maps_find(maps, m->left) &&
	    process_vm_readv(m->pages->memory, &to, 1, &from, 1, 0) == sizeof(header) &&
	    header.seed == m->left_seed && !pages_unmap(m, m->left + GATE_HEADER, DATA_SIZE))
		m->left = 0;
	maps_free(maps);
}

/* `flags`: MAP_FIXED; or FIXED_NO_REPLACE, which is only a hint for kernels before 4.17. */
static int pages_map_code(struct pages_making *m, long number, uint64_t flags)
{
	const uint64_t arguments[6] = {m->pages->address,   GATE_CODE_SIZE,   PROT_READ | PROT_EXEC,
				       MAP_PRIVATE | flags, (uint64_t)number, 0};
	long result;
	int err = 0;

	/*
	 * Another thread may have put another file in its place; no other file may be mapped over
	 * code that is in use.
	 */
	if (!owner_is_number(m->pages->memory, number, m->pages->file))
		err = refuse(m->reason, -EBUSY, "it has another file in the place of its new one");
	err = err ?: pages_call(m, "map code", &result, SYS_mmap, arguments);
	if (err)
		return err;
	if (flags == MAP_FIXED ||
	    ((uint64_t)result == m->pages->address && gate_pages_are_ours(m->pages)))
		return 0;
	pages_unmap(m, (uint64_t)result, GATE_CODE_SIZE);
	return refuse(m->reason, -EEXIST, "it maps things too fast");
}

/* Writes all of the header; the switch is off. */
static int pages_write_header(struct pages_making *m)
{
	struct gate_header header;
	int err;

	gate_header_init(&header, m->request->mean);
	header.level = m->request->level;
	/* For exact stubs any value will do. */
	m->on = m->request->mean ? header.mean_ln2 : 1;
	header.mean_ln2 = 0;
	m->seed = header.seed;
	err = program_memory_write(&m->pages->program, m->pages->address + GATE_HEADER, &header,
				   sizeof(header));
	return err ? refuse(m->reason, err, "its memory cannot be written: %s", strerror(-err)) : 0;
}

/* Maps the data with its header, by which we know it as ours. */
static int pages_map_data(struct pages_making *m)
{
	uint64_t at = m->pages->address + GATE_HEADER;
	const uint64_t map[6] = {at,
				 DATA_SIZE,
				 PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | FIXED_NO_REPLACE,
				 (uint64_t)-1,
				 0};
	const uint64_t advice[6] = {at, DATA_SIZE, WIPE_ON_FORK};
	long result;
	int err = pages_call(m, "map memory", &result, SYS_mmap, map);

	if (!err && (uint64_t)result != at) {
		pages_unmap(m, (uint64_t)result, DATA_SIZE);
		return refuse(m->reason, -EEXIST, "it maps things too fast");
	}
	if (err)
		return err;
	err = pages_write_header(m);
	err = err ?: pages_call(m, "have memory wiped in children", &result, SYS_madvise, advice);
	if (err)
		pages_unmap_data(m);
	return err;
}

/*
 * Makes the pages at pages->address, where nothing is. The code comes last, since a gate is known
 * by it: nobody takes over the pages of a tool that was killed in between. All data that is taken
 * over is wiped in children. An empty header means a child's, over which another tool would map its
 * own code.
 */
static int pages_make(struct pages_making *m)
{
	long number;
	int err = pages_make_file(m, &number);

	if (err)
		return err;
	err = pages_open_file(m, number);
	err = err ?: pages_map_data(m);
	if (!err) {
		err = pages_map_code(m, number, FIXED_NO_REPLACE);
		if (err)
			pages_unmap_data(m);
	}
	pages_close_number(m, number);
	m->pages->fresh = !err;
	return err;
}

/*
 * Nothing goes through the stubs, so the data is of no use any more. The header is never empty
 * meanwhile: see pages_make().
 */
static int pages_empty_data(struct pages_making *m)
{
	const uint64_t arguments[6] = {m->pages->address + GATE_SLOTS, GATE_SIZE - GATE_SLOTS,
				       MADV_DONTNEED};
	int err = pages_write_header(m);
	long result;

	return err ?: pages_call(m, "empty memory", &result, SYS_madvise, arguments);
}

/*
 * A forked child maps its parent's file, with the parent's breakpoints in it. It gets its own file
 * over that, with the same code: a thread may be in it.
 */
static int pages_replace(struct pages_making *m)
{
	long number;
	int err = pages_make_file(m, &number);

	if (err)
		return err;
	err = pages_open_file(m, number);
	err = err ?: pages_map_code(m, number, MAP_FIXED);
	pages_close_number(m, number);
	return err ?: pages_empty_data(m);
}

/* Has the mapping exactly the code that this gate is to have? */
static bool pages_fit(struct pages_making *m, const struct mapping *mapping, int file)
{
	uint8_t *there = m->code + GATE_CODE_SIZE;

	return file >= 0 && !gate_parts_fill(m->request, m->parts, mapping->start, m->code) &&
	       pread(file, there, GATE_CODE_SIZE, 0) == (ssize_t)GATE_CODE_SIZE &&
	       !memcmp(there, m->code, GATE_CODE_SIZE);
}

/* Is the data still there? The program may have unmapped it, or have something of its own there. */
static bool pages_has_data(const struct maps *maps, const struct mapping *code)
{
	const struct mapping *data = maps_find(maps, code->start + GATE_HEADER);

	return data && data->start == code->start + GATE_HEADER &&
	       data->end == data->start + DATA_SIZE && data->read && data->write && !data->exec &&
	       !data->shared && !data->ino;
}

/* Finds an earlier gate's pages that can be used again. */
static bool pages_find(struct pages_making *m, const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mapping = maps_at(maps, i);
		enum gate_state state;
		int file;

		state = gate_state_of(m->pages->memory, mapping, &file);
		if ((state == GATE_IS_FREE || state == GATE_IS_INHERITED) &&
		    pages_has_data(maps, mapping) && pages_fit(m, mapping, file) &&
		    (state == GATE_IS_INHERITED || !owner_take(file))) {
			m->pages->address = mapping->start;
			m->pages->file = file;
			m->get = state == GATE_IS_FREE ? pages_empty_data : pages_replace;
			return true;
		}
		if (file >= 0)
			close(file);
	}
	return false;
}

/* Decides where the pages will be and how they get there, and makes the code for that place. */
static int pages_choose(struct pages_making *m)
{
	uint64_t from = m->request->text_address, to = from + m->request->text_size;
	struct maps *maps;
	bool found;

	if (maps_read(m->pages->memory, &maps))
		return refuse(m->reason, -ESRCH, "it has ended");
	found = pages_find(m, maps);
	if (!found) {
		m->pages->address = gate_hole_find(maps, from, to, GATE_SIZE);
		m->get = pages_make;
	}
	maps_free(maps);
	if (found)
		return 0;
	if (!m->pages->address || gate_parts_fill(m->request, m->parts, m->pages->address, m->code))
		return refuse(m->reason, -ENOSPC, "nothing is free within 2 GiB of its allocator");
	return 0;
}

struct pages_running {
	pid_t but;
	long count, enough;
};

static int pages_count_running(void *ctx, pid_t tid)
{
	struct pages_running *running = ctx;
	struct proc_stat stat;

	running->count += tid != running->but && !proc_stat(tid, &stat) && stat.state == 'R';
	return running->count >= running->enough;
}

/*
 * If more threads run than there are processors, the one that makes the calls would wait for its
 * turn in the midst of them. 50 ms at a time were seen with 64. So the others are held as well.
 * NULL: they need not be, or cannot.
 */
static struct stop *pages_stop_others(const struct pages_making *m)
{
	struct pages_running running = {
		.but = remote_tid(m->remote),
		.enough = sysconf(_SC_NPROCESSORS_ONLN),
	};
	char unused[REASON_MAX];
	struct stop *stop;

	proc_each_thread(m->pages->pid, pages_count_running, &running);
	if (running.count < running.enough)
		return NULL;
	return stop_begin_others(m->pages->pid, running.but, OTHERS_HOLD_NS, &stop, unused) ? NULL
											    : stop;
}

static void pages_note_pause(struct gate_pages *pages, uint64_t stood)
{
	if (stood > pages->pause_ns)
		pages->pause_ns = stood;
}

static void pages_end(struct pages_making *m, struct stop *others, int err)
{
	struct gate_pages *pages = m->pages;

	pages_note_pause(pages, gate_hold_leave(pages->hold, m->remote, err != 0, &pages->loose));
	pages_note_pause(pages, others ? stop_end(others) : 0);
	stop_free(others);
}

/*
 * Checks what we saw from outside: another tool may have unmapped it since, or have its own there.
 */
static int pages_check_found(const struct pages_making *m)
{
	return m->get == pages_make || gate_pages_are_ours(m->pages)
		       ? 0
		       : refuse(m->reason, -EEXIST, "another memleakbpf comes or goes");
}

static int pages_get(struct pages_making *m)
{
	struct stop *others = NULL;
	int err;

	/* An earlier try's file: its whole pages are nobody's now, and will be found. */
	gate_pages_close(m->pages);
	err = pages_choose(m);
	if (err)
		return err;
	/* Otherwise other threads on a busy machine decide how long the pause is. */
	run_first(true);
	/* The process may stand still already, for earlier parts than this gate. */
	err = gate_hold_enter(m->pages->pid, m->pages->hold, m->pages->loose, &m->remote,
			      m->reason);
	if (!err) {
		others = pages_stop_others(m);
		pages_unmap_left(m);
		err = pages_check_found(m) ?: m->get(m);
		err = err ?: pages_write_header(m);
		pages_end(m, others, err);
	}
	run_first(false);
	return err;
}

int gate_pages_open(const struct gate_request *request, const struct gate_part *parts,
		    struct gate_pages *pages, uint64_t *on, char reason[static REASON_MAX])
{
	_cleanup_free_ uint8_t *code = malloc(2 * GATE_CODE_SIZE);
	struct pages_making m = {
		.request = request, .parts = parts, .pages = pages, .code = code, .reason = reason};
	int err = code ? 0 : refuse(reason, -ENOMEM, "no memory");

	for (int tries = 0; !tries ? !err : gate_hold_again(err, tries); tries++)
		err = pages_get(&m);
	*on = m.on;
	return err;
}

bool gate_pages_are_ours(const struct gate_pages *pages)
{
	return owner_is_mapped(pages->memory, pages->address, GATE_CODE_SIZE, pages->file);
}

uint64_t gate_pages_switch(const struct gate_pages *pages)
{
	return pages->address + GATE_HEADER + offsetof(struct gate_header, mean_ln2);
}

void gate_pages_read_dropped(const struct gate_pages *pages, uint64_t *dropped)
{
	uint64_t now, at = pages->address + GATE_HEADER + offsetof(struct gate_header, dropped);

	if (!program_memory_read(&pages->program, at, &now, sizeof(now)))
		*dropped = now;
}

int gate_pages_write_level(const struct gate_pages *pages, uint64_t level)
{
	uint64_t at = pages->address + GATE_HEADER + offsetof(struct gate_header, level);

	if (level > GATE_LEVEL_MAX)
		return -EINVAL;
	/* Only one of its bytes is ever anything but 0, so half a write does no harm. */
	return program_memory_write(&pages->program, at, &level, sizeof(level));
}

void gate_pages_remove(struct gate_pages *pages)
{
	struct pages_making m = {.pages = pages};
	char reason[REASON_MAX];

	if (pages->hold)
		gate_hold_end(pages->hold);
	if (!pages->fresh || gate_hold_enter(pages->pid, NULL, pages->loose, &m.remote, reason))
		return;
	/* Otherwise it has become another program, which may have something there. */
	if (gate_pages_are_ours(pages))
		pages_unmap(&m, pages->address, GATE_SIZE);
	gate_hold_leave(NULL, m.remote, false, &pages->loose);
	pages->fresh = false;
}

void gate_pages_close(struct gate_pages *pages)
{
	if (pages->file >= 0)
		close(pages->file);
	pages->file = -1;
}
