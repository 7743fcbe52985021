// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/guard_faults.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/run_first.h"
#include "user/freeze/stop.h"

/*
 * A fault takes some 10 us a thread. On a very busy machine some threads do not run for that long,
 * so they do not stop. Then it is tried again as often as jumps are written, with more patience in
 * the end (user/gate/write.c).
 */
#define FAULTS_PAUSE_NS	     (200 * NS_PER_MS)
#define FAULTS_LONG_PAUSE_NS NS_PER_S
#define FAULTS_TRIES	     3 /* of each */

struct guard_faults {
	size_t count;
	int fds[];
};

/* Threads that it makes have it as well, and children that it forks do not. -ESRCH: it has ended. */
static int faults_open_thread(pid_t tid, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.inherit = 1,
		.inherit_thread = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, program))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int faults_refuse(int err, char reason[static REASON_MAX])
{
	return refuse(reason, err, "its page faults cannot be listened to: %s", strerror(-err));
}

static int faults_open_all(const struct stop *stop, int program, struct guard_faults *faults)
{
	for (size_t i = 0; i < stop_thread_count(stop); i++) {
		int fd = faults_open_thread(stop_thread_at(stop, i)->tid, program);

		if (fd >= 0)
			faults->fds[faults->count++] = fd;
		else if (fd != -ESRCH)
			return fd;
	}
	return faults->count ? 0 : -ESRCH;
}

/* Its only thread stands still. */
static int faults_open_held(pid_t pid, int program, struct guard_faults **out,
			    char reason[static REASON_MAX])
{
	struct guard_faults *faults = calloc(1, sizeof(*faults) + sizeof(faults->fds[0]));
	int fd = faults ? faults_open_thread(pid, program) : -ENOMEM;

	if (fd < 0) {
		free(faults);
		return faults_refuse(fd, reason);
	}
	faults->fds[faults->count++] = fd;
	*out = faults;
	return 0;
}

static int faults_open_once(pid_t pid, uint64_t pause_ns, int program, struct guard_faults **out,
			    char reason[static REASON_MAX])
{
	struct guard_faults *faults;
	struct stop *stop;
	int err = stop_begin(pid, pause_ns, NULL, &stop, reason);

	if (err)
		return err;
	faults = calloc(1, sizeof(*faults) + stop_thread_count(stop) * sizeof(faults->fds[0]));
	err = faults ? faults_open_all(stop, program, faults) : -ENOMEM;
	stop_end(stop);
	/* On a machine that is very busy, it was not known any more who is there. */
	if (!err && stop_left_ns(stop) != UINT64_MAX)
		err = stop_refuse_left(reason);
	else if (err == -EMFILE)
		refuse(reason, err, "it has more threads than we may have open files (ulimit -n)");
	else if (err)
		faults_refuse(err, reason);
	stop_free(stop);
	if (err) {
		guard_faults_free(faults);
		return err;
	}
	*out = faults;
	return 0;
}

int guard_faults_open(pid_t pid, bool held, int program, struct guard_faults **out,
		      char reason[static REASON_MAX])
{
	int err = -ETIMEDOUT;

	if (held)
		return faults_open_held(pid, program, out, reason);
	for (int i = 0; i < 2 * FAULTS_TRIES && (err == -ETIMEDOUT || err == -ECANCELED); i++) {
		run_first(true);
		err = faults_open_once(pid,
				       i < FAULTS_TRIES ? FAULTS_PAUSE_NS : FAULTS_LONG_PAUSE_NS,
				       program, out, reason);
		run_first(false);
	}
	return err;
}

void guard_faults_free(struct guard_faults *faults)
{
	if (!faults)
		return;
	for (size_t i = 0; i < faults->count; i++)
		close(faults->fds[i]);
	free(faults);
}
