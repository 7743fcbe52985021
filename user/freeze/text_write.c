// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code is written where no program may write: by /proc/PID/mem, in one copy a piece. A kernel may
 * permit that to tracers only or to nobody (proc_mem.force_override=, Linux 6.12). Then by
 * PTRACE_POKETEXT, a word at a time: threads that all stand still see no difference.
 */
#include "user/freeze/text_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/freeze/calls.h"
#include "user/freeze/signal_frames.h"

#define CALL_SIZE 2 /* x86_64: of the call instruction, to which a restarted call goes back */

struct text {
	pid_t tid; /* a thread that stands in a stop of ours; 0: none */
	int mem;   /* -1: it cannot be opened */
};

/* ---- its memory ---------------------------------------------------------------------------- */

static void text_open(struct text *text, const struct tracees *all)
{
	char path[64];

	for (size_t i = 0; !text->tid && i < all->count; i++) {
		if (all->items[i].stopped && !all->items[i].gone)
			text->tid = all->items[i].thread.tid;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)(text->tid ?: all->pid));
	text->mem = open(path, O_RDWR | O_CLOEXEC);
}

/* By ptrace, in whole words: puts `bytes` into them or takes them out. 0 or -errno. */
static int text_trace(const struct text *text, uint64_t address, void *bytes, size_t size,
		      bool write)
{
	unsigned char *at = bytes;

	if (!text->tid)
		return -EPERM;
	while (size) {
		uint64_t word_at = address & ~(uint64_t)(sizeof(long) - 1);
		size_t skip = (size_t)(address - word_at);
		size_t n = sizeof(long) - skip < size ? sizeof(long) - skip : size;
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, text->tid, (void *)(uintptr_t)word_at, NULL);
		if (errno)
			return -errno;
		if (write) {
			memcpy((char *)&word + skip, at, n);
			if (ptrace(PTRACE_POKETEXT, text->tid, (void *)(uintptr_t)word_at,
				   (void *)word))
				return -errno;
		} else {
			memcpy(at, (char *)&word + skip, n);
		}
		at += n;
		address += n;
		size -= n;
	}
	return 0;
}

static int text_get(const struct text *text, uint64_t address, void *bytes, size_t size)
{
	if (text->mem >= 0 && pread(text->mem, bytes, size, (off_t)address) == (ssize_t)size)
		return 0;
	return text_trace(text, address, bytes, size, false);
}

/* Writes, and reads back to compare. 0 or -errno; some bytes may be written then. */
static int text_put(const struct text *text, uint64_t address, const void *bytes, size_t size)
{
	unsigned char now[STOP_PIECE_MAX];
	int err = 0;

	if (text->mem < 0 || pwrite(text->mem, bytes, size, (off_t)address) != (ssize_t)size)
		err = text_trace(text, address, (void *)bytes, size, true);
	err = err ?: text_get(text, address, now, size);
	return err ?: memcmp(now, bytes, size) ? -EIO : 0;
}

/* ---- may they be written? ------------------------------------------------------------------ */

static bool text_holds(const struct stop_piece *piece, uint64_t address)
{
	return address >= piece->from && address < piece->to;
}

static int text_check_threads(const struct tracees *all, const struct stop_piece *piece,
			      char reason[static REASON_MAX])
{
	for (size_t i = 0; i < all->count; i++) {
		const struct stop_thread *t = &all->items[i].thread;
		struct user_regs_struct regs;

		if (all->items[i].gone || t->word_count * sizeof(*t->words) < sizeof(regs))
			continue;
		memcpy(&regs, t->words, sizeof(regs));
		if (text_holds(piece, call_ip(&regs)) ||
		    (call_is_in_kernel(&regs) && text_holds(piece, call_ip(&regs) - CALL_SIZE)))
			return refuse(reason, -EAGAIN,
				      "its thread %d stands in the code that is to be changed, at "
				      "%#llx",
				      (int)t->tid, (unsigned long long)call_ip(&regs));
	}
	return 0;
}

static int text_check(const struct text *text, const struct tracees *all,
		      const struct stop_piece *piece, char reason[static REASON_MAX])
{
	unsigned char now[STOP_PIECE_MAX];
	uint64_t end = piece->address + piece->length, page = page_size();
	int err;

	if (!piece->length || piece->length > STOP_PIECE_MAX ||
	    page_down(piece->address, page) != page_down(end - 1, page))
		return refuse(reason, -EINVAL,
			      "%u bytes at %#llx are none, too many or of two pages", piece->length,
			      (unsigned long long)piece->address);
	err = text_get(text, piece->address, now, piece->length);
	if (err)
		return refuse(reason, err, "its code at %#llx cannot be read: %s",
			      (unsigned long long)piece->address, strerror(-err));
	if (memcmp(now, piece->expected, piece->length) != 0)
		return refuse(reason, -ESTALE, "its code at %#llx is not what it was",
			      (unsigned long long)piece->address);
	return text_check_threads(all, piece, reason);
}

struct text_pieces {
	const struct stop_piece *pieces;
	size_t count;
	uint64_t found;
};

static bool text_goes_back(void *ctx, const struct signal_frame *frame)
{
	struct text_pieces *all = ctx;

	for (size_t i = 0; i < all->count; i++) {
		if (!text_holds(&all->pieces[i], frame->ip))
			continue;
		all->found = frame->ip;
		return true;
	}
	return false;
}

/*
 * A thread in a signal handler also stands where the handler has interrupted it: it goes on there.
 */
static int text_check_handlers(const struct tracees *all, const struct stop_piece *pieces,
			       size_t count, char reason[static REASON_MAX])
{
	struct text_pieces looked = {.pieces = pieces, .count = count};
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= pieces[i].from < pieces[i].to;
	for (size_t i = 0; any && i < all->count; i++) {
		const struct stop_thread *t = &all->items[i].thread;

		if (all->is_late && all->is_late(all->ctx))
			return refuse(
				reason, -ETIMEDOUT,
				"looking for signal handlers on its %zu threads' stacks takes "
				"too long",
				all->count);
		if (!all->items[i].gone && t->sp &&
		    signal_frames_any(t->tid, t->sp, text_goes_back, &looked))
			return refuse(
				reason, -EAGAIN,
				"its thread %d is in a signal handler, and goes back into the "
				"code that is to be changed, at %#llx",
				(int)t->tid, (unsigned long long)looked.found);
	}
	return 0;
}

/* ---- all of them, or none ------------------------------------------------------------------ */

static int text_write_all(const struct text *text, const struct stop_piece *pieces, size_t count,
			  char reason[static REASON_MAX])
{
	size_t done = 0;
	int err = 0, lost = 0;

	while (!err && done < count) {
		const struct stop_piece *piece = &pieces[done++];

		err = text_put(text, piece->address, piece->bytes, piece->length);
	}
	if (!err)
		return 0;
	refuse(reason, err, "its code at %#llx cannot be written: %s",
	       (unsigned long long)pieces[done - 1].address, strerror(-err));
	/* Also the piece that failed: a part of it may have been written. */
	for (size_t i = done; i > 0; i--) {
		unsigned char now[STOP_PIECE_MAX];
		const struct stop_piece *piece = &pieces[i - 1];
		int err_back;

		if (!text_get(text, piece->address, now, piece->length) &&
		    !memcmp(now, piece->expected, piece->length))
			continue;
		err_back = text_put(text, piece->address, piece->expected, piece->length);
		if (err_back)
			lost = err_back;
	}
	return lost ? refuse(reason, -ENOTRECOVERABLE,
			     "some of its code was changed and cannot be changed back: %s",
			     strerror(-lost))
		    : err;
}

int text_write(const struct tracees *all, const struct stop_piece *pieces, size_t count,
	       char reason[static REASON_MAX])
{
	struct text text = {.mem = -1};
	int err = 0;

	text_open(&text, all);
	for (size_t i = 0; !err && i < count; i++)
		err = text_check(&text, all, &pieces[i], reason);
	err = err ?: text_check_handlers(all, pieces, count, reason);
	err = err ?: text_write_all(&text, pieces, count, reason);
	if (text.mem >= 0)
		close(text.mem);
	return err;
}
