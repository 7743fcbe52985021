// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/write.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/freeze/run_first.h"

/* The process goes on after that in any case. */
#define HOLD_NS (200 * NS_PER_MS)

/* Between two tries: a thread runs a few instructions in less. */
#define TRIES	   50
#define BREAK_NS   (200 * 1000)
#define LATE_TRIES 3

static int write_once(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		      char reason[static REASON_MAX])
{
	struct stop *stop;
	uint64_t stood;
	int err;

	run_first(true);
	err = stop_begin(pid, HOLD_NS, NULL, &stop, reason);
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

static bool write_is_worth_another_try(int err)
{
	return err == -EAGAIN || err == -ETIMEDOUT || err == -ECANCELED;
}

int gate_write_all(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX])
{
	const struct timespec pause = {.tv_nsec = BREAK_NS};
	bool unknown = false;
	int err = -EAGAIN;

	for (int i = 0, late = 0; i < TRIES && write_is_worth_another_try(err); i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = write_once(pid, pieces, count, pause_ns, reason);
		unknown |= err == -ECANCELED;
		/* On a busy machine its threads may take their time to stop, and we ours. */
		if (err && err != -EAGAIN && ++late == LATE_TRIES)
			break;
	}
	return err && unknown ? -ECANCELED : err;
}
