// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the first call on, the thread stands at the end of a system call, in front of instructions
 * that make another one. That is rt_sigreturn, which takes the frame; or the closing of a left
 * descriptor, which returns into the frame. For a call, the thread is let go to the beginning of
 * that next one, where the call is exchanged. So a thread that nobody holds any more always does
 * one and the same. A filter then sees no call that it would not see anyway: it is suspended only
 * while the thread is traced. Even seccomp's strict mode permits rt_sigreturn.
 */
#include "user/freeze/remote_child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/remote_thread.h"
#include "user/freeze/run_first.h"
#include "user/freeze/text_write.h"
#include "user/freeze/tracing_child.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

/* The child uses half of it at most. */
#define GRACE_NS TRACING_CHILD_GRACE_NS

/* A socket, and what has come by it. */
#define LEFT_MAX 2

struct remote_left {
	int number;
	dev_t dev; /* of its file */
	ino_t ino;
};

struct remote_child {
	const struct remote_job *job;
	timer_t killer; /* ends us if we are late, and so lets the thread go */
	struct call_thread thread;
	/*
	 * Another thread may execute another program at any moment, which ends this one; the main
	 * thread's id is the new program's then.
	 */
	struct program_memory memory;
	struct call_vector *vector;
	uint64_t mask; /* its blocked signals */
	/* Stack pointers of the frames: the closing one closes the last of `left`, then takes the other. */
	uint64_t frame, closing_frame;
	uint64_t left_at; /* where in the process the closing one has its argument */
	uint64_t scratch;
	struct remote_left left[LEFT_MAX]; /* descriptors that it would leave open */
	int left_count;
	bool filtered, begun;
	bool loose;				/* let go as it was; it comes back by itself */
	uint64_t start_ns, deadline_ns, end_ns; /* end: when it was let go; 0: it has not been */
};

/* ---- the thread ---------------------------------------------------------------------------- */

/*
 * Waits for a stop of one of two kinds: a call's beginning or end, or PTRACE_INTERRUPT's. A
 * SIGSTOP, which cannot be blocked, is passed on. It stops the process for as long as it says, and
 * this thread when it is let go.
 */
static int remote_child_go(const struct remote_child *r, enum __ptrace_request how,
			   uint64_t deadline_ns)
{
	const bool to_call = how == PTRACE_SYSCALL;
	pid_t tid = r->thread.tid;
	int err = call_thread_resume(tid, how);

	while (!err) {
		int stop = call_thread_next_stop(tid, deadline_ns);

		if (stop < 0)
			return stop;
		if (to_call ? stop == STOP_CALL : stop >> 8 == PTRACE_EVENT_STOP)
			return 0;
		if (stop == SIGSTOP || stop >> 8 == PTRACE_EVENT_STOP)
			err = ptrace(how, tid, NULL, stop >> 8 ? NULL : (void *)(intptr_t)stop)
				      ? -errno
				      : 0;
		else
			return -EINTR;
	}
	return err;
}

/* The descriptor that was made last of those that are left; -1: none is. */
static int remote_child_last(const struct remote_child *r)
{
	return r->left_count ? r->left[r->left_count - 1].number : -1;
}

/* A filter might not permit close(), and sees it when nobody traces the thread any more. */
static bool remote_child_closes(const struct remote_child *r)
{
	return r->left_count && !r->filtered;
}

static int remote_child_park(struct remote_child *r)
{
	const uint64_t left[CALL_ARGUMENTS] = {(uint64_t)remote_child_last(r)};
	struct user_regs_struct regs = r->thread.registers;

	if (remote_child_closes(r))
		call_registers(&regs, &r->job->code, SYS_close, left, r->frame);
	else
		call_registers_back(&regs, &r->job->code, r->frame);
	return call_thread_set_registers(r->thread.tid, &regs);
}

/*
 * The thread comes back by itself from the moment in which its registers are set. Signals are
 * blocked after that, or a child that is killed would leave them so.
 */
static int remote_child_begin_calls(struct remote_child *r)
{
	int err;

	if (r->begun)
		return 0;
	r->begun = true;
	err = remote_child_park(r);
	return err ?: call_thread_set_mask(r->thread.tid, UINT64_MAX);
}

static bool remote_child_stat(const struct remote_child *r, int number, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)r->thread.tid, number);
	return !stat(path, st);
}

/*
 * Is the descriptor still the one left? Another thread may have closed it, and have a file of its
 * own under that number.
 */
static bool remote_child_has_left(const struct remote_child *r)
{
	const struct remote_left *last = &r->left[r->left_count - 1];
	struct stat st;

	return remote_child_stat(r, last->number, &st) && st.st_dev == last->dev &&
	       st.st_ino == last->ino;
}

/* The closing frame's argument is the descriptor that is the last one now. */
static void remote_child_write_last(const struct remote_child *r)
{
	uint64_t last = (uint64_t)remote_child_last(r);

	program_memory_write(&r->memory, r->left_at, &last, sizeof(last));
}

static void remote_child_push(struct remote_child *r, int number)
{
	struct stat st;

	if (r->left_count == LEFT_MAX || !remote_child_stat(r, number, &st))
		return;
	r->left[r->left_count++] =
		(struct remote_left){.number = number, .dev = st.st_dev, .ino = st.st_ino};
	remote_child_write_last(r);
}

static void remote_child_pop(struct remote_child *r)
{
	r->left_count--;
	remote_child_write_last(r);
}

/* It has been closed. */
static void remote_child_forget(struct remote_child *r, int number)
{
	for (int i = 0; i < r->left_count; i++) {
		if (r->left[i].number != number)
			continue;
		r->left[i] = r->left[r->left_count - 1];
		remote_child_pop(r);
		return;
	}
}

/* The descriptor that has come with a message (SCM_RIGHTS); -1: none has. */
static int remote_child_received(const struct remote_child *r, uint64_t message)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr header = {0};
	int number = -1;

	if (program_memory_read(&r->memory, message, &header, sizeof(header)) ||
	    header.msg_controllen < CMSG_LEN(sizeof(number)) ||
	    program_memory_read(&r->memory, (uint64_t)(uintptr_t)header.msg_control, &control,
				CMSG_LEN(sizeof(number))) ||
	    control.header.cmsg_level != SOL_SOCKET || control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&number, CMSG_DATA(&control.header), sizeof(number));
	return number;
}

/* Notes the descriptor that a call has made or closed. */
static void remote_child_note(struct remote_child *r, long number,
			      const uint64_t arguments[CALL_ARGUMENTS], long result)
{
	int received;

	if ((number == SYS_memfd_create || number == SYS_socket) && result >= 0) {
		remote_child_push(r, (int)result);
	} else if (number == SYS_recvmsg && result >= 0) {
		received = remote_child_received(r, arguments[1]);
		if (received >= 0)
			remote_child_push(r, received);
	} else if (number == SYS_close) {
		remote_child_forget(r, (int)arguments[0]);
	}
}

static int remote_child_call(struct remote_child *r, long number,
			     const uint64_t arguments[CALL_ARGUMENTS], uint64_t deadline_ns,
			     long *result)
{
	struct user_regs_struct regs = r->thread.registers;
	/* Does not close twice: another thread may open a file of the same number in between. */
	bool closes =
		number == SYS_close && r->left_count && (int)arguments[0] == remote_child_last(r);
	uint64_t frame = remote_child_closes(r) && !closes ? r->closing_frame : r->frame;
	pid_t tid = r->thread.tid;
	int err = remote_child_begin_calls(r);

	if (!err && closes && !remote_child_has_left(r)) {
		remote_child_pop(r);
		*result = -EBADF;
		return remote_child_park(r);
	}
	err = err ?: remote_child_go(r, PTRACE_SYSCALL, deadline_ns);
	err = err ?: call_exchange(tid, &regs, &r->job->code, number, arguments, frame);
	err = err ?: remote_child_go(r, PTRACE_SYSCALL, deadline_ns);
	err = err ?: call_thread_get_registers(tid, &regs);
	if (err)
		return err;
	*result = call_result(&regs);
	remote_child_note(r, number, arguments, *result);
	return remote_child_park(r);
}

/*
 * Takes the thread from the end of a system call to a stop of the kind that it was in before. Only
 * there does the kernel look whether a call is to be restarted.
 */
static int remote_child_put_back(const struct remote_child *r, uint64_t deadline_ns)
{
	pid_t tid = r->thread.tid;
	int err = call_thread_resume(tid, PTRACE_INTERRUPT);

	err = err ?: remote_child_go(r, PTRACE_CONT, deadline_ns);
	err = err ?: call_thread_set_mask(tid, r->mask);
	return err ?: call_thread_set_registers(tid, &r->thread.registers);
}

/* Interrupts a call that takes too long. 0: the thread stands. */
static int remote_child_interrupt(const struct remote_child *r)
{
	int err = call_thread_resume(r->thread.tid, PTRACE_INTERRUPT), stop;

	if (err)
		return err;
	stop = call_thread_next_stop(r->thread.tid, monotonic_ns() + GRACE_NS / 4);
	return stop < 0 ? stop : 0;
}

/* If this fails, our end lets the thread go, and it comes back by itself. */
static void remote_child_let_go(struct remote_child *r)
{
	uint64_t deadline_ns = monotonic_ns() + GRACE_NS / 2;
	long result;
	int err = 0;

	if (r->end_ns)
		return;
	for (int n = r->left_count; n && !err; n--) {
		const uint64_t left[CALL_ARGUMENTS] = {(uint64_t)remote_child_last(r)};

		if (r->left_count == n)
			err = remote_child_call(r, SYS_close, left, deadline_ns, &result);
	}
	if (r->begun)
		err = err ?: remote_child_put_back(r, deadline_ns);
	if (!err)
		ptrace(PTRACE_DETACH, r->thread.tid, NULL, NULL);
	r->loose = err != 0;
	r->end_ns = monotonic_ns();
}

/* ---- the beginning ------------------------------------------------------------------------- */

/* The closing frame, the one above it, and above that the scratch. */
static int remote_child_write_frames(struct remote_child *r, const struct maps *maps,
				     char reason[static REASON_MAX])
{
	const size_t small = call_frame_size(NULL), large = call_frame_size(r->vector);
	const size_t size = small + large + REMOTE_SCRATCH;
	const uint64_t base = call_thread_room(maps, &r->thread, size);
	const uint64_t none[CALL_ARGUMENTS] = {(uint64_t)-1};
	_cleanup_free_ unsigned char *bytes = calloc(1, size);
	struct user_regs_struct regs = r->thread.registers;
	int err;

	if (!bytes || !base)
		return refuse(reason, -ENOMEM, "no memory");
	call_registers_resumed(&regs, r->thread.tid);
	r->frame = call_frame_put(bytes + small, base + small, &r->job->code, &regs, r->mask,
				  r->vector);
	regs = r->thread.registers;
	call_registers(&regs, &r->job->code, SYS_close, none, r->frame);
	r->closing_frame = call_frame_put(bytes, base, &r->job->code, &regs, UINT64_MAX, NULL);
	r->left_at = base + call_frame_argument();
	r->scratch = base + small + large;
	err = program_memory_write(&r->memory, base, bytes, size);
	return err ? refuse(reason, err, "its stack cannot be written to: %s", strerror(-err)) : 0;
}

static int remote_child_take_thread(struct remote_child *r, const struct maps *maps,
				    char reason[static REASON_MAX])
{
	struct remote_thread taken;
	pid_t tid;
	/* The largest frame: the thread's real need is known once it is chosen. */
	int err = remote_thread_take(r->job->pid, r->job->only, maps,
				     sizeof(*r->vector) + 4096 + REMOTE_SCRATCH, r->deadline_ns,
				     &taken, reason);

	if (err)
		return err;
	r->thread = taken.thread;
	r->filtered = taken.filtered;
	r->start_ns = taken.start_ns;
	/* While it had no processor to stop on, the thread did not stand still. */
	if (taken.alone) {
		r->deadline_ns = taken.start_ns + r->job->hold_ns;
		tracing_child_set_deadline(r->killer, r->deadline_ns);
	}
	tid = r->thread.tid;
	if (!call_code_stands(&r->job->code, tid))
		err = refuse(reason, -ENOENT, "its code has changed");
	if (!err && (ptrace(PTRACE_GETSIGMASK, tid, sizeof(r->mask), &r->mask) ||
		     call_vector_read(tid, r->vector)))
		err = refuse(reason, -ESRCH, "its registers cannot be read");
	err = err ?: remote_child_write_frames(r, maps, reason);
	if (err)
		remote_child_let_go(r);
	return err;
}

static int remote_child_begin(struct remote_child *r, char reason[static REASON_MAX])
{
	struct maps *maps = NULL;
	int err;

	r->vector = aligned_alloc(64, sizeof(*r->vector));
	if (!r->vector)
		return refuse(reason, -ENOMEM, "no memory");
	/* First of all: from here on we look at this program's memory, and write to no other. */
	program_memory_open(proc_memory_id(r->job->pid), &r->memory);
	if (maps_read(proc_memory_id(r->job->pid), &maps))
		return refuse(reason, -ESRCH, "its memory cannot be looked at");
	run_first(true);
	err = tracing_child_make_killer(&r->killer, reason);
	r->deadline_ns = monotonic_ns() + r->job->hold_ns;
	if (!err)
		tracing_child_set_deadline(r->killer, r->deadline_ns);
	err = err ?: remote_child_take_thread(r, maps, reason);
	maps_free(maps);
	return err;
}

/* ---- orders and answers -------------------------------------------------------------------- */

/* False: nobody gives orders any more, or it is late. */
static bool remote_child_next_order(const struct remote_child *r, struct remote_order *order)
{
	struct pollfd poll = {.fd = r->job->channel, .events = POLLIN};
	uint64_t now = monotonic_ns();
	struct timespec patience = ns_timespec(r->deadline_ns > now ? r->deadline_ns - now : 0);

	return ppoll(&poll, 1, &patience, NULL) > 0 &&
	       recv(r->job->channel, order, sizeof(*order), 0) == sizeof(*order);
}

static int remote_child_write(const struct remote_child *r, const struct remote_order *order)
{
	return program_memory_write(&r->memory, r->scratch, order->bytes, order->size);
}

static int remote_child_write_text(struct remote_child *r, const struct remote_order *order,
				   char reason[static REASON_MAX])
{
	struct tracee only = {
		.thread = {.tid = r->thread.tid,
			   .words = (uint64_t *)&r->thread.registers,
			   .word_count = sizeof(r->thread.registers) / sizeof(uint64_t),
			   .sp = call_sp(&r->thread.registers)},
		.stopped = true,
	};
	const struct tracees all = {.pid = r->job->pid, .items = &only, .count = 1};
	int err;

	/* Finishes what has begun, even if we have to wait for a processor. */
	tracing_child_set_killer(r->killer, monotonic_ns() + NS_PER_S);
	err = text_write(&all, order->pieces, order->piece_count, reason);
	tracing_child_set_deadline(r->killer, r->deadline_ns);
	return err;
}

static void remote_child_obey(struct remote_child *r, const struct remote_order *order,
			      struct remote_answer *answer)
{
	switch (order->kind) {
	case REMOTE_CALL:
		answer->err = remote_child_call(r, order->number, order->arguments, r->deadline_ns,
						&answer->result);
		break;
	case REMOTE_WRITE:
		answer->err = remote_child_write(r, order);
		break;
	case REMOTE_TEXT:
		/* The thread stays held: it is as it was. */
		answer->err = remote_child_write_text(r, order, answer->reason);
		return;
	case REMOTE_END:
		remote_child_let_go(r);
		return;
	}
	if (!answer->err)
		return;
	refuse(answer->reason, answer->err, "its thread %d cannot be made to do a system call: %s",
	       (int)r->thread.tid,
	       answer->err == -ETIMEDOUT ? "it takes too long" : strerror(-answer->err));
	/* It may have been frozen since the stop: then another try is worth it after the thaw. */
	if (answer->err == -ETIMEDOUT)
		can_run_check_thread(r->thread.tid, answer->reason);
	/*
	 * If the call cannot be interrupted either, the thread comes back by itself at the call's
	 * end.
	 */
	if (answer->err == -ETIMEDOUT && remote_child_interrupt(r)) {
		r->loose = true;
		r->end_ns = monotonic_ns();
	}
	remote_child_let_go(r);
}

static void remote_child_answer(const struct remote_child *r, struct remote_answer *answer)
{
	answer->tid = r->thread.tid;
	answer->scratch = r->scratch;
	answer->start_ns = r->start_ns;
	answer->end_ns = r->end_ns;
	answer->loose = r->loose;
	send(r->job->channel, answer, sizeof(*answer), MSG_NOSIGNAL);
}

_Noreturn void remote_child_run(const struct remote_job *job)
{
	struct remote_child r = {.job = job, .memory = PROGRAM_MEMORY_NONE};
	struct remote_answer answer = {0};
	struct remote_order order;

	tracing_child_be_alone(job->tool, &job->channel, 1);
	/* When the tool is killed the channel ends: we finish the call that is under way. */
	if (!tracing_child_end_with(job->tool, false))
		_exit(1);
	answer.err = remote_child_begin(&r, answer.reason);
	remote_child_answer(&r, &answer);
	if (answer.err)
		_exit(0);
	while (!r.end_ns) {
		answer = (struct remote_answer){0};
		if (remote_child_next_order(&r, &order)) {
			remote_child_obey(&r, &order, &answer);
		} else {
			/* This answers the next order, if there is one. */
			remote_child_let_go(&r);
			answer.err = refuse(answer.reason, -ECANCELED,
					    "its thread went on before all calls were made: it "
					    "had been held for as long as it may be");
		}
		remote_child_answer(&r, &answer);
	}
	_exit(0);
}
