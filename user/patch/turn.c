// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/patch/patches_internal.h"
#include "user/process/proc.h"

/* To come, or to go, takes a tool milliseconds; seconds on a machine that is very busy. */
#define TURN_WAIT_NS (5 * NS_PER_S)
#define TURN_LOOK_NS (2 * NS_PER_MS)

#define PATIENCE_NS NS_PER_S
#define AGAIN_NS    (20 * NS_PER_MS)

static bool turn_is_others(int file)
{
	return flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
}

static void turn_wait(struct patches *patches, const struct patched *patched, int file)
{
	const struct timespec pause = ns_timespec(TURN_LOOK_NS);
	uint64_t until = monotonic_ns() + TURN_WAIT_NS;
	bool others;

	log_debug("process %d (%s): waits for another memleakbpf to come or go",
		  patched->process.pid, patched->process.comm);
	do
		nanosleep(&pause, NULL);
	while ((others = turn_is_others(file)) && monotonic_ns() < until);
	if (!others)
		return;
	patches->turns_off = true;
	log_debug("process %d (%s): it is not waited for any more, nor at other processes",
		  patched->process.pid, patched->process.comm);
}

int turn_begin(struct patches *patches, const struct patched *patched)
{
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)proc_memory_id(patched->process.pid));
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0 && turn_is_others(file) && !patches->turns_off)
		turn_wait(patches, patched, file);
	return file;
}

uint64_t turn_patience(void)
{
	return monotonic_ns() + PATIENCE_NS;
}

bool turn_again(const struct patched *patched, int err, uint64_t until)
{
	const struct timespec pause = ns_timespec(AGAIN_NS);

	if ((err != -EBUSY && err != -ESTALE) || !patched->process.runs || monotonic_ns() >= until)
		return false;
	nanosleep(&pause, NULL);
	return true;
}
