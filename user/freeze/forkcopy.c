// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two forks. The thread makes a helper in microseconds: a process that shares its memory. The
 * helper is stopped before its first instruction and made to fork the copy. Then the helper is
 * killed and the thread made to wait for it. So the process has no child when it goes on, not even
 * a dead one, and the copy belongs to process 1. Neither sends its parent a signal at its end, so
 * no handler runs and no wait() of the program's own sees them.
 *
 * Whenever the tool is killed, each stopped thread goes on by itself. A call's registers and the
 * place where it returns to are set in one step. The thread's frames lie below its stack pointer,
 * where nothing is used. It makes its call, waits for the helper if there is one, and takes its own
 * registers and signal mask back. Helper and copy have another frame, by which they end at once.
 * They are killed with their tracer before that (PTRACE_O_EXITKILL, on these two and never on the
 * process).
 */
#include "user/freeze/forkcopy.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/can_run.h"
#include "user/freeze/code_search.h"
#include "user/process/proc.h"
#include "user/process/program_memory.h"

#define NO_PROCESS 0x7fffffff
#define SHARED_FLAGS \
	CLONE_FILES /* or what the program closes would stay open until the copy ends */
#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)

/* ---- may it be forked? -------------------------------------------------------------------- */

/*
 * A child would be the first process of another PID namespace. After its end nothing more could be
 * forked into that.
 */
static bool forkcopy_has_namespace_for_children(pid_t pid)
{
	char path[2][64];
	struct stat own, children;

	snprintf(path[0], sizeof(path[0]), "/proc/%d/ns/pid", (int)pid);
	snprintf(path[1], sizeof(path[1]), "/proc/%d/ns/pid_for_children", (int)pid);
	return stat(path[0], &own) || stat(path[1], &children) || own.st_ino != children.st_ino;
}

/*
 * Checks one thread: each may have filters and a shadow stack of its own, and get them at any
 * moment while it runs.
 */
static int forkcopy_check_thread(pid_t tid, char reason[static REASON_MAX])
{
	_cleanup_free_ char *features = NULL;

	if (proc_status_number(tid, "Seccomp", 0))
		return refuse(
			reason, -EPERM,
			"a seccomp filter watches its system calls, and might kill it for one "
			"that it does not expect");
	if (!proc_status_field(tid, "x86_Thread_features", &features) && strstr(features, "shstk"))
		return refuse(reason, -EPERM, "its returns are checked by a shadow stack");
	return 0;
}

static int forkcopy_check_process(pid_t pid, char reason[static REASON_MAX])
{
	_cleanup_free_ char *state = NULL;
	int err;

	if (proc_status_field(pid, "State", &state))
		return refuse(reason, -ESRCH, "it has ended");
	if (state[1] == 'T' || state[1] == 't')
		return refuse(reason, -EBUSY, "it is stopped anyway");
	err = can_run_check_thread(pid, reason) ?: forkcopy_check_thread(pid, reason);
	if (err)
		return err;
	if (proc_ns_pid(pid) == 1)
		return refuse(reason, -EPERM,
			      "it is process 1 of its container, which orphans are given to");
	if (forkcopy_has_namespace_for_children(pid))
		return refuse(reason, -EPERM, "its children get another PID namespace");
	return 0;
}

int forkcopy_prepare(pid_t pid, struct call_code *out, char reason[static REASON_MAX])
{
	int err = forkcopy_check_process(pid, reason);

	*out = (struct call_code){0};
	return err ?: code_search(pid, out, reason);
}

/* ---- which thread ------------------------------------------------------------------------- */

struct making {
	pid_t pid;
	/* A thread left asleep may wake up and execute another program, which gets the pid. */
	struct program_memory memory;
	const struct call_code *code;
	const struct call_thread *thread;
	uint64_t deadline_ns;
	uint64_t mask;			     /* its blocked signals */
	uint64_t wait_sp, resume_sp, end_sp; /* stack pointers of the frames */
	uint64_t pid_at; /* where in the process the helper's pid is to be written */
	pid_t helper, copy;
	char *reason;
};

static const struct call_thread *forkcopy_choose_thread(const struct making *m,
							const struct maps *maps,
							const struct call_thread *threads,
							size_t count, size_t size)
{
	const struct call_thread *second = NULL;
	char unused[REASON_MAX];

	for (size_t i = 0; i < count; i++) {
		const struct call_thread *t = &threads[i];

		if (call_thread_check(m->pid, maps, t, size, unused) ||
		    forkcopy_check_thread(t->tid, unused))
			continue;
		if (call_is_in_kernel(&t->registers) && !call_is_remembered(&t->registers))
			return t;
		if (!second || call_is_remembered(&second->registers))
			second = t;
	}
	return second;
}

/* ---- frames ------------------------------------------------------------------------------- */

static int forkcopy_write_frames(struct making *m, const struct maps *maps,
				 const struct call_vector *vector)
{
	const size_t small = call_frame_size(NULL), large = call_frame_size(vector);
	const size_t size = 2 * small + large;
	const uint64_t base = call_thread_room(maps, m->thread, size);
	const uint64_t nothing[CALL_ARGUMENTS] = {0},
		       none[CALL_ARGUMENTS] = {NO_PROCESS, 0, __WALL};
	_cleanup_free_ unsigned char *frames = calloc(1, size);
	struct user_regs_struct regs = m->thread->registers;
	int err;

	if (!frames || !base)
		return refuse(m->reason, -ENOMEM, "no memory");
	/*
	 * The frames lie in the order of their use. Memory below the stack pointer of the frame in
	 * use may be overwritten. That may be by a signal's handler, or by the next tool's frames
	 * when this one has been killed.
	 */
	call_registers_resumed(&regs, m->pid);
	m->resume_sp =
		call_frame_put(frames + small, base + small, m->code, &regs, m->mask, vector);
	/*
	 * The pid of the thread's child is not known yet: the kernel writes it there. Without a
	 * helper there is nothing to wait for.
	 */
	regs = m->thread->registers;
	call_registers(&regs, m->code, SYS_wait4, none, m->resume_sp);
	m->wait_sp = call_frame_put(frames, base, m->code, &regs, UINT64_MAX, NULL);
	m->pid_at = base + call_frame_argument();
	regs = m->thread->registers;
	call_registers(&regs, m->code, SYS_exit_group, nothing, base + small + large);
	m->end_sp = call_frame_put(frames + small + large, base + small + large, m->code, &regs,
				   UINT64_MAX, NULL);
	err = program_memory_write(&m->memory, base, frames, size);
	return err ? refuse(m->reason, err, "its stack cannot be written to: %s", strerror(-err))
		   : 0;
}

/* ---- step by step ------------------------------------------------------------------------- */

/* Runs into the system call, and to its end or to a child that it has made: *child, 0 without. */
static int forkcopy_run_call(const struct making *m, pid_t tid, pid_t *child)
{
	unsigned long message = 0;
	int err = call_thread_resume(tid, PTRACE_SYSCALL);
	int stop;

	*child = 0;
	err = err ?: call_thread_expect_stop(tid, STOP_CALL, m->deadline_ns);
	err = err ?: call_thread_resume(tid, PTRACE_SYSCALL);
	if (err)
		return err;
	stop = call_thread_next_stop(tid, m->deadline_ns);
	if (stop == STOP_CALL)
		return 0;
	if (stop != STOP_CLONE)
		return stop < 0 ? stop : -EINTR;
	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message))
		return -errno;
	*child = (pid_t)message;
	return 0;
}

/* The error of a call that made no child. */
static int forkcopy_failure_of(pid_t tid)
{
	struct user_regs_struct regs = {0};
	int err = call_thread_get_registers(tid, &regs);

	return err ?: call_result(&regs) < 0 ? (int)call_result(&regs) : -EIO;
}

/*
 * The thread comes back by itself from the moment in which its registers are set. Signals are
 * blocked after that, or a tool that dies would leave them so.
 */
static int forkcopy_make_helper(struct making *m)
{
	struct user_regs_struct regs = m->thread->registers;
	const uint64_t arguments[CALL_ARGUMENTS] = {CLONE_VM | SHARED_FLAGS | CLONE_PARENT_SETTID,
						    m->end_sp, m->pid_at};
	pid_t tid = m->thread->tid;
	int err = ptrace(PTRACE_SETOPTIONS, tid, NULL, OPTIONS) ? -errno : 0;

	call_registers(&regs, m->code, SYS_clone, arguments, m->wait_sp);
	err = err ?: call_thread_set_registers(tid, &regs);
	err = err ?: call_thread_set_mask(tid, UINT64_MAX);
	err = err ?: forkcopy_run_call(m, tid, &m->helper);
	if (err || m->helper)
		return err;
	err = forkcopy_failure_of(tid);
	return refuse(m->reason, err, "it cannot fork: %s", strerror(-err));
}

/* The helper has the frame by which it ends, and its copy inherits that. */
static int forkcopy_make_copy(struct making *m)
{
	const uint64_t arguments[CALL_ARGUMENTS] = {SHARED_FLAGS};
	struct user_regs_struct regs = {0};
	int err = call_thread_expect_stop(m->helper, STOP_ASKED, m->deadline_ns);

	if (!err && ptrace(PTRACE_SETOPTIONS, m->helper, NULL, OPTIONS | PTRACE_O_EXITKILL))
		err = -errno;
	err = err ?: call_thread_get_registers(m->helper, &regs);
	if (err)
		return err;
	/*
	 * The fork is all of the pause: on a busy machine nobody else shall go first. Where
	 * SCHED_FIFO is not permitted the fork takes longer.
	 */
	sched_setscheduler(m->helper, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	call_registers(&regs, m->code, SYS_clone, arguments, m->end_sp);
	err = call_thread_set_registers(m->helper, &regs);
	err = err ?: forkcopy_run_call(m, m->helper, &m->copy);
	if (err)
		return err == -ETIMEDOUT ? refuse(m->reason, err, "the fork takes too long") : err;
	if (m->copy)
		return call_thread_expect_stop(m->copy, STOP_ASKED, m->deadline_ns);
	err = forkcopy_failure_of(m->helper);
	return refuse(m->reason, err, "it cannot fork: %s", strerror(-err));
}

/*
 * Kills it as its tracer, whoever it belongs to (Linux 5.19: PTRACE_KILL is SIGKILL). Otherwise
 * this needs CAP_KILL for another user's process. 0 or -EPERM.
 */
static int forkcopy_kill(pid_t child)
{
	siginfo_t info;

	if (!child)
		return 0;
	if (kill(child, SIGKILL) && errno == EPERM && ptrace(PTRACE_KILL, child, NULL, NULL))
		return -EPERM;
	while (waitid(P_PID, (id_t)child, &info, WEXITED | __WALL) && errno == EINTR)
		;
	return 0;
}

/* The thread is at the end of its first call, or has just made the helper. */
static int forkcopy_bury_helper(struct making *m)
{
	pid_t tid = m->thread->tid, child;
	struct user_regs_struct regs = {0};
	uint64_t arguments[CALL_ARGUMENTS] = {0, 0, __WALL};
	int err = call_thread_resume(tid, PTRACE_SYSCALL);

	err = err ?: call_thread_expect_stop(tid, STOP_CALL, m->deadline_ns);
	err = err ?: call_thread_get_registers(tid, &regs);
	if (err)
		return err;
	arguments[0] = (uint64_t)call_result(&regs); /* its pid in the process's own namespace */
	call_registers(&regs, m->code, SYS_wait4, arguments, m->resume_sp);
	err = call_thread_set_registers(tid, &regs);
	return err ?: forkcopy_run_call(m, tid, &child);
}

/*
 * Takes the thread from the end of a system call to a stop of the kind that it was in before. Only
 * there does the kernel look whether a call is to be restarted.
 */
static int forkcopy_put_back(const struct making *m)
{
	pid_t tid = m->thread->tid;
	int err = call_thread_resume(tid, PTRACE_INTERRUPT);

	err = err ?: call_thread_resume(tid, PTRACE_CONT);
	err = err ?: call_thread_expect_stop(tid, STOP_ASKED, m->deadline_ns);
	err = err ?: call_thread_set_mask(tid, m->mask);
	err = err ?: call_thread_set_registers(tid, &m->thread->registers);
	if (!err && ptrace(PTRACE_SETOPTIONS, tid, NULL, 0))
		err = -errno;
	return err;
}

static int forkcopy_make_both(struct making *m)
{
	int failed = forkcopy_make_helper(m), err = 0;

	/* Its state is unknown: it comes back by itself when it is let go. */
	if (failed && !m->helper && !*m->reason)
		return failed;
	if (m->helper) {
		/* The pause must end, but the helper must be buried even if that takes longer. */
		failed = forkcopy_make_copy(m);
		m->deadline_ns += NS_PER_S;
		err = forkcopy_kill(m->helper);
		if (err)
			return refuse(m->reason, err,
				      "its fork cannot be ended, CAP_KILL is missing");
		err = forkcopy_bury_helper(m);
	}
	err = err ?: forkcopy_put_back(m);
	return failed ?: err;
}

int forkcopy_make(pid_t pid, const struct call_code *code, const struct call_thread *threads,
		  size_t thread_count, uint64_t deadline_ns, pid_t *copy,
		  char reason[static REASON_MAX])
{
	_cleanup_free_ struct call_vector *vector = aligned_alloc(64, sizeof(*vector));
	struct making m = {.pid = pid,
			   .memory = PROGRAM_MEMORY_NONE,
			   .code = code,
			   .deadline_ns = deadline_ns,
			   .reason = reason};
	struct maps *maps = NULL;
	int err = vector ? 0 : -ENOMEM;

	*reason = '\0';
	*copy = 0;
	/* Before anything is looked at: nothing is written to another program. */
	err = err ?: program_memory_open(pid, &m.memory);
	if (!err && maps_read(pid, &maps))
		err = -ENOMEM;
	if (!err && !call_code_stands(code, pid))
		err = refuse(reason, -ENOENT, "its code has changed");
	if (!err) {
		/* The largest frames: the thread's real need is known once it is chosen. */
		m.thread = forkcopy_choose_thread(&m, maps, threads, thread_count,
						  sizeof(*vector) + 4096);
		if (!m.thread)
			err = refuse(reason, -EBUSY,
				     "none of its threads is where it could be made to fork");
	}
	if (!err && ptrace(PTRACE_GETSIGMASK, m.thread->tid, sizeof(m.mask), &m.mask))
		err = -errno;
	err = err ?: call_vector_read(m.thread->tid, vector);
	err = err ?: forkcopy_write_frames(&m, maps, vector);
	err = err ?: forkcopy_make_both(&m);
	maps_free(maps);
	program_memory_close(&m.memory);
	if (err) {
		forkcopy_kill(m.copy);
		if (!*reason)
			refuse(reason, err, "forking it failed: %s",
			       err == -ETIMEDOUT ? "it took too long" : strerror(-err));
		return err;
	}
	*copy = m.copy;
	return 0;
}
