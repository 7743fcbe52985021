// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/code_search.h"
#include "user/freeze/remote_child.h"
#include "user/process/proc.h"

struct remote {
	struct remote_job job;
	pid_t child; /* 0: none */
	int channel;
	struct remote_answer last;
};

/* ---- the child ----------------------------------------------------------------------------- */

static int remote_take_answer(struct remote *r)
{
	ssize_t n;

	do {
		/* ECONNRESET: the child has ended before it read the order; its answer is there. */
		n = recv(r->channel, &r->last, sizeof(r->last), 0);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n == (ssize_t)sizeof(r->last))
		return r->last.err;
	r->last.end_ns = monotonic_ns();
	r->last.loose = true;
	return r->last.err = refuse(r->last.reason, -ECANCELED,
				    "the process that held its thread has been killed");
}

static int remote_give_order(struct remote *r, const struct remote_order *order,
			     char reason[static REASON_MAX])
{
	/* Where send() fails the child has ended, and has perhaps said why. */
	if (!r->last.end_ns) {
		send(r->channel, order, sizeof(*order), MSG_NOSIGNAL);
		remote_take_answer(r);
	} else if (!r->last.err) {
		r->last.err = refuse(r->last.reason, -ECANCELED, "its thread has been let go");
	}
	memcpy(reason, r->last.reason, REASON_MAX);
	return r->last.err;
}

static int remote_make_child(struct remote *r, char reason[static REASON_MAX])
{
	int ends[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return refuse(reason, -errno, "there is no socket to who holds it: %s",
			      strerror(errno));
	r->channel = ends[0];
	r->job.channel = ends[1];
	r->child = fork();
	if (!r->child) {
		/* Otherwise the child would never see that the tool has ended. */
		close(ends[0]);
		remote_child_run(&r->job);
	}
	err = -errno;
	close(ends[1]);
	if (r->child > 0)
		return 0;
	r->child = 0;
	return refuse(reason, err, "no process to hold it: %s", strerror(-err));
}

/* ---- may it be used? ----------------------------------------------------------------------- */

static int remote_check_process(pid_t pid, char reason[static REASON_MAX])
{
	_cleanup_free_ char *features = NULL;
	int err = can_run_check(pid, reason);

	if (err)
		return err;
	if (proc_elf(pid) == PROC_ELF_32BIT)
		return refuse(reason, -EOPNOTSUPP, "it is a 32-bit program");
	if (!proc_status_field(pid, "x86_Thread_features", &features) && strstr(features, "shstk"))
		return refuse(reason, -EPERM, "its returns are checked by a shadow stack");
	return 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

int remote_begin_with(pid_t pid, pid_t only, uint64_t max_hold_ns, struct remote **out,
		      char reason[static REASON_MAX])
{
	struct remote *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return refuse(reason, -ENOMEM, "no memory to hold it");
	r->job = (struct remote_job){
		.pid = pid, .tool = getpid(), .only = only, .hold_ns = max_hold_ns};
	r->channel = -1;
	err = remote_check_process(pid, reason);
	err = err ?: code_search(proc_memory_id(pid), &r->job.code, reason);
	err = err ?: remote_make_child(r, reason);
	if (!err && remote_take_answer(r)) {
		err = r->last.err;
		memcpy(reason, r->last.reason, REASON_MAX);
	}
	if (err) {
		remote_end(r);
		return err;
	}
	*out = r;
	return 0;
}

int remote_begin(pid_t pid, uint64_t max_hold_ns, struct remote **out,
		 char reason[static REASON_MAX])
{
	return remote_begin_with(pid, 0, max_hold_ns, out, reason);
}

int remote_call(struct remote *r, long number, const uint64_t arguments[CALL_ARGUMENTS],
		long *result, char reason[static REASON_MAX])
{
	struct remote_order order = {.kind = REMOTE_CALL, .number = number};
	int err;

	memcpy(order.arguments, arguments, sizeof(order.arguments));
	err = remote_give_order(r, &order, reason);
	*result = err ?: r->last.result;
	return err;
}

int remote_call_must(struct remote *r, const char *what, long number,
		     const uint64_t arguments[CALL_ARGUMENTS], long *result,
		     char reason[static REASON_MAX])
{
	int err = remote_call(r, number, arguments, result, reason);

	if (err)
		return err;
	if (*result < 0 && *result > -4096)
		return refuse(reason, *result == -ENOMEM ? -ENOSPC : (int)*result,
			      "it cannot %s: %s", what, strerror((int)-*result));
	return 0;
}

pid_t remote_tid(const struct remote *r)
{
	return r->last.tid;
}

bool remote_is_lost(const struct remote *r)
{
	return r->last.end_ns != 0;
}

pid_t remote_loose(const struct remote *r)
{
	return r->last.loose ? r->last.tid : 0;
}

uint64_t remote_scratch(const struct remote *r)
{
	return r->last.scratch;
}

int remote_write(struct remote *r, const void *bytes, size_t size, char reason[static REASON_MAX])
{
	struct remote_order order = {.kind = REMOTE_WRITE, .size = size};

	if (size > sizeof(order.bytes))
		return refuse(reason, -EINVAL, "%zu bytes are more than have room", size);
	memcpy(order.bytes, bytes, size);
	return remote_give_order(r, &order, reason);
}

int remote_write_text(struct remote *r, const struct stop_piece *pieces, size_t count,
		      char reason[static REASON_MAX])
{
	struct remote_order order = {.kind = REMOTE_TEXT, .piece_count = count};

	if (count > STOP_PIECES_MAX)
		return refuse(reason, -EINVAL, "%zu pieces of code are too many at once", count);
	memcpy(order.pieces, pieces, count * sizeof(*pieces));
	return remote_give_order(r, &order, reason);
}

uint64_t remote_end(struct remote *r)
{
	const struct remote_order order = {.kind = REMOTE_END};
	char unused[REASON_MAX];
	uint64_t stood_ns = 0;

	if (!r)
		return 0;
	if (r->child) {
		remote_give_order(r, &order, unused);
		/* The child ends by itself, unless it has been stopped: then its timer kills it. */
		while (waitpid(r->child, NULL, 0) < 0 && errno == EINTR)
			;
		if (r->last.end_ns && r->last.start_ns)
			stood_ns = r->last.end_ns - r->last.start_ns;
	}
	if (r->channel >= 0)
		close(r->channel);
	free(r);
	return stood_ns;
}
