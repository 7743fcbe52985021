// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/write.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/freeze/remote.h"
#include "user/freeze/run_first.h"
#include "user/process/proc.h"

/*
 * The process goes on after that in any case. On a busy machine a thousand threads need longer than
 * HOLD_NS to stop. After LATE_TRIES such failures LONG_HOLD_NS is tried as often. Only then a gate
 * is given up for probes, which cost the process more in its first second.
 */
#define HOLD_NS	     (200 * NS_PER_MS)
#define LONG_HOLD_NS NS_PER_S

/* Between two tries: a thread runs a few instructions in less. */
#define TRIES	   50
#define BREAK_NS   (200 * 1000)
#define LATE_TRIES 3

static int write_once(pid_t pid, uint64_t hold_ns, const struct stop_piece *pieces, size_t count,
		      uint64_t *pause_ns, char reason[static REASON_MAX])
{
	struct stop *stop;
	uint64_t stood;
	int err;

	run_first(true);
	err = stop_begin(pid, hold_ns, NULL, &stop, reason);
	if (err) {
		run_first(false);
		return err;
	}
	err = stop_write(stop, pieces, count, reason);
	stood = stop_end(stop);
	run_first(false);
	if (stood > *pause_ns)
		*pause_ns = stood;
	stop_free(stop);
	return err;
}

/*
 * Waits if a control group of version 1 has frozen the process, so that nothing can be stopped, or
 * another memleakbpf holds it. Both are found at once, and may be over in a moment. Jumps to be
 * taken away are worth as much patience as threads that do not stop.
 */
static bool write_waits(int err, uint64_t hold_ns)
{
	const struct timespec pause = ns_timespec(hold_ns / 2);

	if (err != -EBUSY)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

static bool write_is_worth_another_try(int err)
{
	return err == -EAGAIN || err == -ETIMEDOUT || err == -ECANCELED;
}

/* Are the bytes there? For a try that may or may not have written. */
static bool write_is_done(pid_t pid, const struct stop_piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t there[sizeof(pieces[i].bytes)];
		struct iovec to = {there, pieces[i].length};
		struct iovec from = {(void *)(uintptr_t)pieces[i].address, to.iov_len};

		if (process_vm_readv(proc_memory_id(pid), &to, 1, &from, 1, 0) !=
			    (ssize_t)to.iov_len ||
		    memcmp(there, pieces[i].bytes, pieces[i].length) != 0)
			return false;
	}
	return true;
}

/* `first`: why it is unknown whether the bytes are there already; or empty. */
static int write_all(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		     char first[static REASON_MAX], char reason[static REASON_MAX])
{
	const struct timespec pause = {.tv_nsec = BREAK_NS};
	bool waits = false;
	int err = -EAGAIN;

	for (int i = 0, late = 0; i < TRIES && (waits || write_is_worth_another_try(err)); i++) {
		uint64_t hold_ns = late < LATE_TRIES ? HOLD_NS : LONG_HOLD_NS;

		if (i)
			nanosleep(&pause, NULL);
		err = write_once(pid, hold_ns, pieces, count, pause_ns, reason);
		waits = write_waits(err, hold_ns);
		if (err == -ECANCELED && !*first)
			memcpy(first, reason, REASON_MAX);
		/* The try before had written, and could not say so in time. */
		if (err == -ESTALE && *first && write_is_done(pid, pieces, count))
			return 0;
		/* On a busy machine its threads may be slow to stop, and so may we. */
		if (err && err != -EAGAIN && ++late == 2 * LATE_TRIES)
			break;
	}
	if (!err || err == -ESRCH || !*first)
		return err;
	memcpy(reason, first, REASON_MAX);
	return -ECANCELED;
}

int gate_write_all(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX])
{
	char first[REASON_MAX] = "";

	return write_all(pid, pieces, count, pause_ns, first, reason);
}

int gate_write_held(struct gate_hold *hold, pid_t pid, const struct stop_piece *pieces,
		    size_t count, uint64_t *pause_ns, char reason[static REASON_MAX])
{
	char first[REASON_MAX] = "";
	int err;

	if (hold && hold->holder) {
		err = remote_write_text(hold->holder, pieces, count, reason);
		if (err != -ECANCELED)
			return err;
		memcpy(first, reason, REASON_MAX);
		gate_hold_end(hold);
	}
	return write_all(pid, pieces, count, pause_ns, first, reason);
}
