// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A question has its kind, an address (64 bits each) and a query of places. An answer begins with
 * its length in bytes (32 bits). For an address it has the entry's address (64) and the number of
 * frames. Each frame has the line (32), function, file and directory: length (32, NONE: unknown)
 * and bytes. For types it is a packed table (type_table.c), for places debug_places_pack()'s. The
 * child's answer is a stranger's word as well.
 */
#include "user/symbol/debug_child.h"

#include <dirent.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/bytes.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/confine.h"
#include "user/symbol/debug_types.h"

#define NONE	     UINT32_MAX
#define STRING_MAX   8192u /* longer ones are cut; names in reports are shorter */
#define ANSWER_MAX   ((INLINE_DEPTH_MAX + 1) * (16u + 3 * STRING_MAX) + 16u)
#define IDLE_MS	     1000
#define DEADLINE_S   60
#define MEMORY_SPARE (4u << 20)

/* AddressSanitizer's allocator ends the program where others return NULL, and fails the test. */
#if defined(__SANITIZE_ADDRESS__)
#define DEBUG_CHILD_LIMITED false
#else
#define DEBUG_CHILD_LIMITED true
#endif

enum ending {
	ENDING_IDLE = 0, /* or nobody asks any more */
	ENDING_MEMORY = 3,
	ENDING_OTHER = 4,
};

enum debug_wanted {
	WANTED_ADDRESS,
	WANTED_TYPES,
	WANTED_PLACES,
};

struct debug_question {
	uint64_t wanted; /* enum debug_wanted */
	uint64_t vaddr;
	struct debug_place_query places;
};

struct debug_child {
	Dwarf *dwarf;
	uint64_t bias, memory;
	pid_t pid; /* 0: none */
	int fd;
};

/* ---- the child ------------------------------------------------------------------------------ */

/* Not _Noreturn: for clang it is no part of the type that libdw wants. */
static void __attribute__((noreturn)) debug_child_on_oom(void)
{
	_exit(ENDING_MEMORY);
}

/* Closes all but 0 and 2: links to probes would keep them in place when the tool is killed. */
static void debug_child_close_others(int fd)
{
	dup2(fd, STDIN_FILENO);
	close(STDOUT_FILENO);
	if (!syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0))
		return;
	/* Before Linux 5.9. */
	for (int i = STDERR_FILENO + 1, max = (int)sysconf(_SC_OPEN_MAX); i < max; i++)
		close(i);
}

/* Limits address space to what is used now, and so much more. */
static void debug_child_limit_memory(uint64_t memory)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages, bytes;
	struct rlimit limit;

	if (!DEBUG_CHILD_LIMITED || !file || fscanf(file, "%" SCNu64, &pages) != 1)
		return;
	bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE) + memory;
	limit = (struct rlimit){.rlim_cur = bytes, .rlim_max = bytes};
	setrlimit(RLIMIT_AS, &limit);
	limit = (struct rlimit){0};
	setrlimit(RLIMIT_CORE, &limit);
}

/* Where libdw had no memory for a thing, it mostly says that the thing is not there. */
static void debug_child_check_memory(void)
{
	void *spare = malloc(MEMORY_SPARE);

	if (!spare)
		_exit(ENDING_MEMORY);
	free(spare);
}

static void debug_answer_put_string(struct bytes_writer *answer, const char *text)
{
	uint32_t len = text ? (uint32_t)strnlen(text, STRING_MAX) : NONE;

	bytes_put_32(answer, len);
	if (text)
		bytes_put(answer, text, len);
}

static void debug_answer_fill(struct bytes_writer *answer, const struct source_stack *stack)
{
	bytes_put(answer, &stack->entry, sizeof(stack->entry));
	bytes_put_32(answer, (uint32_t)stack->count);
	for (size_t i = 0; i < stack->count; i++) {
		const struct source_frame *frame = &stack->frames[i];

		bytes_put(answer, &frame->line, sizeof(frame->line));
		debug_answer_put_string(answer, frame->function);
		debug_answer_put_string(answer, frame->file);
		debug_answer_put_string(answer, frame->directory);
	}
}

static void debug_child_write(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len) {
		ssize_t n = write(STDIN_FILENO, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(ENDING_IDLE);
		p += n;
		len -= (size_t)n;
	}
}

/* Reads the next question; ends the process where there is none. */
static void debug_child_read(struct debug_question *question)
{
	struct pollfd poll_fd = {.fd = STDIN_FILENO, .events = POLLIN};

	if (poll(&poll_fd, 1, IDLE_MS) <= 0 ||
	    read(STDIN_FILENO, question, sizeof(*question)) != (ssize_t)sizeof(*question))
		_exit(ENDING_IDLE);
}

/* Ends the process if there was no memory for the answer. */
static void debug_child_write_answer(struct bytes_writer *answer)
{
	uint32_t len = (uint32_t)answer->len;

	if (answer->failed)
		_exit(ENDING_MEMORY);
	debug_child_write(&len, sizeof(len));
	debug_child_write(answer->bytes, len);
	free(answer->bytes);
}

static void debug_child_answer_address(struct debuginfo *info, uint64_t vaddr)
{
	struct source_stack stack = {.count = 0};
	struct bytes_writer answer = {.failed = false};

	if (info)
		debuginfo_find(info, vaddr, &stack);
	debug_child_check_memory();
	debug_answer_fill(&answer, &stack);
	source_stack_release(&stack);
	debug_child_write_answer(&answer);
}

static void debug_child_answer_types(const struct debug_child *child)
{
	struct bytes_writer answer = {.failed = false};
	struct type_table *table;

	if (debug_types_read(child->dwarf, child->bias, &table))
		_exit(ENDING_MEMORY);
	type_table_pack(table, &answer);
	debug_child_check_memory();
	debug_child_write_answer(&answer);
	type_table_free(table);
}

static void debug_child_answer_places(const struct debug_child *child,
				      struct debug_place_query *query)
{
	struct bytes_writer answer = {.failed = false};
	struct debug_places places;

	query->text[sizeof(query->text) - 1] = '\0';
	debug_places_find(child->dwarf, child->bias, query, &places);
	debug_child_check_memory();
	debug_places_pack(&places, &answer);
	debug_child_write_answer(&answer);
}

static _Noreturn void debug_child_serve(const struct debug_child *child)
{
	struct debuginfo *info = NULL;
	bool tried = false;
	Dwarf *alternate;

	dwarf_new_oom_handler(child->dwarf, debug_child_on_oom);
	alternate = dwarf_getalt(child->dwarf);
	if (alternate)
		dwarf_new_oom_handler(alternate, debug_child_on_oom);
	for (;;) {
		struct debug_question question;

		debug_child_read(&question);
		if (question.wanted == WANTED_TYPES) {
			debug_child_answer_types(child);
			continue;
		}
		if (question.wanted == WANTED_PLACES) {
			debug_child_answer_places(child, &question.places);
			continue;
		}
		if (!tried)
			info = debuginfo_new(child->dwarf, child->bias);
		tried = true;
		debug_child_answer_address(info, question.vaddr);
	}
}

static _Noreturn void debug_child_run(const struct debug_child *child, int fd, pid_t parent)
{
	int err;

	/* Descriptors first: to close a probe's with SIGKILL pending leaves it in place. */
	debug_child_close_others(fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(ENDING_IDLE);
	prctl(PR_SET_NAME, "reading-dwarf");
	debug_child_limit_memory(child->memory);
	err = confine_reader();
	/* A kernel without seccomp cannot confine. */
	if (err && err != -EINVAL)
		_exit(ENDING_OTHER);
	debug_child_serve(child);
}

/* ---- who asks ------------------------------------------------------------------------------- */

struct debug_child *debug_child_new(Dwarf *dwarf, uint64_t bias, uint64_t memory)
{
	struct debug_child *child = calloc(1, sizeof(*child));
	GElf_Phdr ph;

	if (!child)
		return NULL;
	*child = (struct debug_child){.dwarf = dwarf, .bias = bias, .memory = memory, .fd = -1};
	/* libdw reads them at the first question, when the child has no file. */
	if (!gelf_getphdr(dwarf_getelf(dwarf), 0, &ph))
		log_debug("debug information without program headers");
	return child;
}

bool debug_child_runs(const struct debug_child *child)
{
	return child->pid > 0;
}

/* Returns how it ended, in waitpid(2)'s form. */
static int debug_child_end(struct debug_child *child, bool kill_it)
{
	int status = 0;

	if (kill_it)
		kill(child->pid, SIGKILL);
	close(child->fd);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
	child->fd = -1;
	return status;
}

void debug_child_rest(struct debug_child *child)
{
	if (debug_child_runs(child))
		debug_child_end(child, true);
}

void debug_child_free(struct debug_child *child)
{
	if (child)
		debug_child_rest(child);
	free(child);
}

static int debug_child_start(struct debug_child *child)
{
	int fds[2];
	pid_t self = getpid(), pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (!pid)
		debug_child_run(child, fds[1], self);
	close(fds[1]);
	if (pid < 0) {
		int err = -errno;

		close(fds[0]);
		return err;
	}
	child->pid = pid;
	child->fd = fds[0];
	return 0;
}

/* 0; -EPIPE when the child has ended; -ETIME. */
static int debug_child_receive(struct debug_child *child, void *out, size_t len, uint64_t deadline)
{
	uint8_t *p = out;

	while (len) {
		uint64_t now = monotonic_ns();
		struct pollfd poll_fd = {.fd = child->fd, .events = POLLIN};
		ssize_t n;

		if (now >= deadline)
			return -ETIME;
		if (poll(&poll_fd, 1, (int)((deadline - now) / NS_PER_MS) + 1) <= 0)
			continue;
		n = recv(child->fd, p, len, MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A malloc'ed copy; NULL: unknown, or out of memory. */
static char *debug_child_string(struct bytes_reader *r)
{
	uint32_t len = bytes_get_32(r);
	const uint8_t *text = r->bad || len == NONE ? NULL : bytes_take(r, len);

	return text ? strndup((const char *)text, len) : NULL;
}

static int debug_child_parse(const uint8_t *bytes, uint32_t len, struct source_stack *out)
{
	struct bytes_reader r = {.p = bytes, .end = bytes + len};
	uint32_t count;

	bytes_get(&r, &out->entry, sizeof(out->entry));
	count = bytes_get_32(&r);
	if (r.bad || count > ARRAY_SIZE(out->frames))
		return -EBADMSG;
	out->owned = true;
	for (; out->count < count && !r.bad; out->count++) {
		struct source_frame *frame = &out->frames[out->count];

		bytes_get(&r, &frame->line, sizeof(frame->line));
		frame->function = debug_child_string(&r);
		frame->file = debug_child_string(&r);
		frame->directory = debug_child_string(&r);
	}
	return r.bad ? -EBADMSG : 0;
}

static uint64_t debug_child_deadline(void)
{
	return monotonic_ns() + DEADLINE_S * NS_PER_S;
}

/* Gets the answer's bytes, which the caller frees, or NULL. 0, or why there is none. */
static int debug_child_ask(struct debug_child *child, const struct debug_question *question,
			   uint64_t deadline, uint32_t max, uint8_t **bytes, uint32_t *len)
{
	int err = debug_child_runs(child) ? 0 : debug_child_start(child);

	*bytes = NULL;
	if (err)
		return err;
	if (send(child->fd, question, sizeof(*question), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(*question))
		return -EPIPE;
	err = debug_child_receive(child, len, sizeof(*len), deadline);
	if (err)
		return err;
	if (*len > max)
		return -EBADMSG;
	*bytes = malloc(*len + 1);
	if (!*bytes)
		return -ENOMEM;
	return debug_child_receive(child, *bytes, *len, deadline);
}

static int debug_child_ask_address(struct debug_child *child, uint64_t vaddr,
				   struct source_stack *out)
{
	const struct debug_question question = {.vaddr = vaddr};
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t len;
	int err =
		debug_child_ask(child, &question, debug_child_deadline(), ANSWER_MAX, &bytes, &len);

	err = err ?: debug_child_parse(bytes, len, out);
	if (err)
		source_stack_release(out);
	return err;
}

static int debug_child_ask_types(struct debug_child *child, uint64_t deadline,
				 struct type_table **out)
{
	const struct debug_question question = {.wanted = WANTED_TYPES};
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t len;
	int err = debug_child_ask(child, &question, deadline, TYPE_BYTES_MAX, &bytes, &len);

	return err ?: type_table_parse(bytes, len, out);
}

static int debug_child_ask_places(struct debug_child *child, const struct debug_place_query *query,
				  struct debug_places *out)
{
	const struct debug_question question = {.wanted = WANTED_PLACES, .places = *query};
	_cleanup_free_ uint8_t *bytes = NULL;
	struct bytes_reader from;
	uint32_t len;
	int err =
		debug_child_ask(child, &question, debug_child_deadline(), ANSWER_MAX, &bytes, &len);

	if (err)
		return err;
	from = (struct bytes_reader){.p = bytes, .end = bytes + len};
	return debug_places_parse(&from, out);
}

static int debug_child_say(const struct debug_child *child, int err, int status,
			   char reason[static REASON_MAX])
{
	if (err == -ETIME)
		return refuse(reason, -EPIPE, "reading it took too long");
	if (err != -EPIPE)
		return refuse(reason, -EPIPE, "the process that reads it does not work: %s",
			      strerror(-err));
	if (WIFEXITED(status) && WEXITSTATUS(status) == ENDING_MEMORY)
		return refuse(reason, -EPIPE, "reading it took more than %" PRIu64 " MiB of memory",
			      child->memory >> 20);
	/* libdw ends itself by SIGABRT in some places when out of memory. */
	if (WIFSIGNALED(status))
		return refuse(reason, -EPIPE,
			      "reading it ended with signal %d, with %" PRIu64
			      " MiB of memory to be had",
			      WTERMSIG(status), child->memory >> 20);
	return refuse(reason, -EPIPE, "reading it ended with status %d", WEXITSTATUS(status));
}

/*
 * After a question that came to `err`. 0: ask again, the child had just ended from idleness.
 * -EPIPE, with the reason: there is no answer.
 */
static int debug_child_look_at(struct debug_child *child, int err, bool first,
			       char reason[static REASON_MAX])
{
	int status = 0;

	if (debug_child_runs(child))
		status = debug_child_end(child, err != -EPIPE);
	if (first && err == -EPIPE && WIFEXITED(status) && WEXITSTATUS(status) == ENDING_IDLE)
		return 0;
	return debug_child_say(child, err, status, reason);
}

int debug_child_find(struct debug_child *child, uint64_t vaddr, char reason[static REASON_MAX],
		     struct source_stack *out)
{
	for (bool first = true;; first = false) {
		int err;

		*out = (struct source_stack){.count = 0};
		err = debug_child_ask_address(child, vaddr, out);
		if (!err)
			return 0;
		err = debug_child_look_at(child, err, first, reason);
		if (err)
			return err;
	}
}

int debug_child_types(struct debug_child *child, uint64_t deadline_ns,
		      char reason[static REASON_MAX], struct type_table **out)
{
	uint64_t deadline = debug_child_deadline();

	if (deadline_ns < deadline)
		deadline = deadline_ns;
	for (bool first = true;; first = false) {
		int err = debug_child_ask_types(child, deadline, out);

		if (!err)
			return 0;
		/* Our own memory is short; the answer is lost. */
		if (err == -ENOMEM && debug_child_runs(child)) {
			debug_child_rest(child);
			return err;
		}
		err = debug_child_look_at(child, err, first, reason);
		if (err)
			return err;
	}
}

int debug_child_places(struct debug_child *child, const struct debug_place_query *query,
		       char reason[static REASON_MAX], struct debug_places *out)
{
	for (bool first = true;; first = false) {
		int err;

		out->count = 0;
		err = debug_child_ask_places(child, query, out);
		if (!err)
			return 0;
		err = debug_child_look_at(child, err, first, reason);
		if (err)
			return err;
	}
}
