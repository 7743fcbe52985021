// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/run_first.h"
#include "user/freeze/stop.h"

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

int gate_write_all(pid_t pid, const struct gate_write *writes, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX])
{
	_cleanup_free_ struct stop_piece *pieces = calloc(count + 1, sizeof(*pieces));
	const struct timespec pause = {.tv_nsec = BREAK_NS};
	int err = -EAGAIN;

	if (!pieces)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++) {
		pieces[i] = (struct stop_piece){.address = writes[i].address,
						.length = (uint8_t)writes[i].size,
						.from = writes[i].address + 1,
						.to = writes[i].address + writes[i].busy};
		memcpy(pieces[i].expected, writes[i].expected, GATE_WRITE_MAX);
		memcpy(pieces[i].bytes, writes[i].bytes, GATE_WRITE_MAX);
	}
	for (int i = 0, late = 0; i < TRIES && (err == -EAGAIN || err == -ETIMEDOUT); i++) {
		if (i)
			nanosleep(&pause, NULL);
		err = write_once(pid, pieces, count, pause_ns, reason);
		/* On a busy machine its threads may take their time to stop. */
		if (err == -ETIMEDOUT && ++late == LATE_TRIES)
			break;
	}
	return err;
}

static int held_put(struct remote *holder, int memory, const struct gate_write *write,
		    const uint8_t *bytes, char reason[static REASON_MAX])
{
	char why[REASON_MAX];
	int err;

	if (pwrite(memory, bytes, write->size, (off_t)write->address) == (ssize_t)write->size)
		return 0;
	/* Some kernels let only the tracer write where the process may not. */
	err = remote_write_text(holder, write->address, bytes, write->size, why);
	return err ? refuse(reason, err, "its code cannot be written: %s", why) : 0;
}

static int held_put_all(struct remote *holder, int memory, const struct gate_write *writes,
			size_t count, char reason[static REASON_MAX])
{
	for (size_t i = 0; i < count; i++) {
		uint8_t now[GATE_WRITE_MAX];

		if (pread(memory, now, writes[i].size, (off_t)writes[i].address) !=
			    (ssize_t)writes[i].size ||
		    memcmp(now, writes[i].expected, writes[i].size) != 0)
			return refuse(reason, -EBUSY, "its code has been changed meanwhile");
	}
	for (size_t i = 0; i < count; i++) {
		char unused[REASON_MAX];
		int err = held_put(holder, memory, &writes[i], writes[i].bytes, reason);

		if (!err)
			continue;
		while (i-- > 0)
			held_put(holder, memory, &writes[i], writes[i].expected, unused);
		return err;
	}
	return 0;
}

int gate_write_held(struct remote *holder, pid_t pid, const struct gate_write *writes, size_t count,
		    char reason[static REASON_MAX])
{
	char path[64];
	int memory, err;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return refuse(reason, -errno, "its memory cannot be opened: %s", strerror(errno));
	err = held_put_all(holder, memory, writes, count, reason);
	close(memory);
	return err;
}
