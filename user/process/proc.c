// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/fnv.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/elf_file.h"

#define PF_KTHREAD	  0x00200000u /* the kernel's include/linux/sched.h; stable since 2.6.35 */
#define MAX_CMDLINE_BYTES (1u << 20)
/*
 * As much as the kernel takes for a program (bprm_stack_limits()): the wanted variable may come
 * last.
 */
#define MAX_ENVIRON_BYTES (6u << 20)
#define MAX_AUXV_BYTES	  4096
/* Valgrind's tools have 2 MB without symbols. */
#define MAX_TOOL_BYTES	 (64u << 20)
#define TOOL_PIECE_BYTES 65536
#define LAUNCHER	 "VALGRIND_LAUNCHER"

/* Reads /proc/PID/NAME whole, up to max bytes; '\0'-terminated. *out is freed by the caller. */
static int proc_read_file(pid_t pid, const char *name, size_t max, char **out, size_t *len)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t capacity = 0, used = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (;;) {
		ssize_t n;

		if (used + 1 >= capacity) {
			char *larger;

			capacity = capacity ? 2 * capacity : 4096;
			larger = realloc(text, capacity);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		n = read(fd, text + used, capacity - used - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		used += (size_t)n;
		if (n == 0 || used >= max)
			break;
	}
	text[used] = '\0';
	*len = used;
	*out = TAKE_PTR(text);
	return 0;
}

int proc_stat_parse(const char *text, struct proc_stat *out)
{
	const char *open = strchr(text, '(');
	/* The name may hold parentheses and blanks itself: the last one closes it. */
	const char *close = strrchr(text, ')');
	unsigned flags;
	size_t len;
	int ppid;
	long threads;
	unsigned long long start;

	if (!open || !close || close < open)
		return -EBADMSG;
	memset(out, 0, sizeof(*out));
	/*
	 * state ppid pgrp session tty_nr tpgid flags, 10 numbers, num_threads itrealvalue starttime
	 */
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
		   &out->state, &ppid, &flags, &threads, &start) != 5 ||
	    threads < 0)
		return -EBADMSG;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(out->comm))
		len = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, len);
	out->ppid = ppid;
	out->threads = (unsigned)threads;
	out->start_ticks = start;
	out->kernel_thread = flags & PF_KTHREAD;
	return 0;
}

int proc_stat(pid_t pid, struct proc_stat *out)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int err = proc_read_file(pid, "stat", 4096, &text, &len);

	return err ? err : proc_stat_parse(text, out);
}

static int proc_read_ran(pid_t pid, uint64_t *ran_ns)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int err = proc_read_file(pid, "schedstat", 4096, &text, &len);

	if (err)
		return err;
	return sscanf(text, "%" SCNu64, ran_ns) == 1 ? 0 : -EBADMSG;
}

int proc_ran_ns(pid_t pid, uint64_t *ran_ns)
{
	uint64_t own = 0;

	/* Where the kernel does not count, it writes zeros, too. But we ourselves have run. */
	if (proc_read_ran(getpid(), &own) || !own)
		return -ENOTSUP;
	return proc_read_ran(pid, ran_ns);
}

int proc_comm(pid_t pid, char comm[16])
{
	struct proc_stat stat;
	int err = proc_stat(pid, &stat);

	if (!err)
		memcpy(comm, stat.comm, sizeof(stat.comm));
	return err;
}

int proc_entry(pid_t pid, uint64_t *entry)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int err = proc_read_file(pid, "auxv", MAX_AUXV_BYTES, &text, &len);

	for (size_t at = 0; !err && at + 16 <= len; at += 16) {
		uint64_t pair[2];

		memcpy(pair, text + at, sizeof(pair));
		if (pair[0] != AT_ENTRY)
			continue;
		*entry = pair[1];
		return 0;
	}
	return err ?: -ENOENT;
}

uint64_t proc_program(pid_t pid)
{
	_cleanup_free_ char *auxv = NULL;
	size_t len;

	if (proc_read_file(proc_memory_id(pid), "auxv", MAX_AUXV_BYTES, &auxv, &len) || !len)
		return 0;
	return fnv1a(FNV1A_BASIS, auxv, len) ?: 1;
}

int proc_cmdline(pid_t pid, char ***out)
{
	_cleanup_free_ char *text = NULL;
	size_t len, count = 0;
	char **argv, *strings;
	int err = proc_read_file(pid, "cmdline", MAX_CMDLINE_BYTES, &text, &len);
	pid_t other = err || len ? pid : proc_memory_id(pid);

	if (other != pid) {
		free(TAKE_PTR(text));
		err = proc_read_file(other, "cmdline", MAX_CMDLINE_BYTES, &text, &len);
	}
	if (err)
		return err;
	/* A program that overwrites its arguments may leave the last one without an end, */
	if (len && text[len - 1] != '\0')
		len++;
	/* or fill its arguments with zeros: nobody has given so many empty ones at the end. */
	if (len > 2 && !text[len - 2] && !text[len - 3]) {
		while (len > 1 && !text[len - 2])
			len--;
	}
	for (size_t i = 0; i < len; i++)
		count += text[i] == '\0';
	argv = malloc((count + 1) * sizeof(*argv) + len);
	if (!argv)
		return -ENOMEM;
	strings = (char *)(argv + count + 1);
	memcpy(strings, text, len);
	for (size_t i = 0; i < count; i++) {
		argv[i] = strings;
		strings += strlen(strings) + 1;
	}
	argv[count] = NULL;
	*out = argv;
	return 0;
}

int proc_status_field(pid_t pid, const char *name, char **out)
{
	_cleanup_free_ char *text = NULL;
	size_t len, name_len = strlen(name);
	int err = proc_read_file(pid, "status", 64 * 1024, &text, &len);

	if (err)
		return err;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, name_len) != 0 || line[name_len] != ':')
			continue;
		line += name_len + 1;
		*out = strndup(line, strcspn(line, "\n"));
		return *out ? 0 : -ENOMEM;
	}
	return -ENOENT;
}

long proc_status_number(pid_t pid, const char *name, long unknown)
{
	_cleanup_free_ char *value = NULL;

	return proc_status_field(pid, name, &value) ? unknown : strtol(value, NULL, 10);
}

bool proc_has_filter(pid_t pid)
{
	return proc_status_number(pid, "Seccomp", 0) != 0;
}

pid_t proc_tgid(pid_t tid)
{
	_cleanup_free_ char *value = NULL;
	int err = proc_status_field(tid, "Tgid", &value);

	return err ? err : (pid_t)strtol(value, NULL, 10);
}

/* The directory's entries that are numbers. */
static int each_number(const char *path, int (*visit)(void *ctx, pid_t number), void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int result = 0;

	if (!dir)
		return -errno;
	while (!result && (entry = readdir(dir)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]))
			result = visit(ctx, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return result;
}

int proc_each(int (*visit)(void *ctx, pid_t pid), void *ctx)
{
	return each_number("/proc", visit, ctx);
}

int proc_each_thread(pid_t pid, int (*visit)(void *ctx, pid_t tid), void *ctx)
{
	char path[64];
	int result;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	result = each_number(path, visit, ctx);
	return result == -ENOENT ? -ESRCH : result;
}

struct other_thread {
	pid_t pid, but;
};

static int visit_other_thread(void *ctx, pid_t tid)
{
	const struct other_thread *other = ctx;
	_cleanup_free_ char *rss = NULL;

	/* A thread that ends gives its memory up before it is a zombie. */
	if (tid == other->pid || tid == other->but || proc_status_field(tid, "VmRSS", &rss))
		return 0;
	return tid;
}

pid_t proc_other_thread(pid_t pid, pid_t but)
{
	struct other_thread other = {pid, but};
	int found = proc_each_thread(pid, visit_other_thread, &other);

	return found > 0 ? found : 0;
}

pid_t proc_memory_id(pid_t pid)
{
	struct proc_stat stat;
	pid_t living;

	if (proc_stat(pid, &stat) || stat.state != 'Z')
		return pid;
	living = proc_other_thread(pid, 0);
	return living ? living : pid;
}

pid_t proc_ns_pid(pid_t pid)
{
	_cleanup_free_ char *value = NULL;
	const char *last;
	int err = proc_status_field(pid, "NSpid", &value);

	if (err)
		return err;
	/* One number per namespace, the innermost one last. */
	last = strrchr(value, '\t');
	return (pid_t)strtol(last ? last : value, NULL, 10);
}

struct children {
	pid_t parent;
	pid_t *pids;
	size_t count, capacity;
};

static int visit_child(void *ctx, pid_t pid)
{
	struct children *children = ctx;
	struct proc_stat stat;

	if (proc_stat(pid, &stat) || stat.ppid != children->parent)
		return 0;
	if (!RESERVE_ITEM(children->pids, children->count, children->capacity, 16))
		return -ENOMEM;
	children->pids[children->count++] = pid;
	return 0;
}

int proc_children(pid_t pid, pid_t **out, size_t *count)
{
	struct children children = {.parent = pid};
	int err = proc_each(visit_child, &children);

	if (err) {
		free(children.pids);
		return err;
	}
	*out = children.pids;
	*count = children.count;
	return 0;
}

/* Kernel threads have no memory, and processes that have ended have none any more. */
static bool proc_has_memory(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	return !proc_read_file(pid, "statm", 4096, &text, &len) && strtoull(text, NULL, 10);
}

/*
 * 1: the same memory; 0: another, or none; -errno. kcmp() calls any two without memory the same.
 * Nobody gets memory back, so who has memory afterwards had it then.
 */
static int proc_compare_memory(pid_t pid, pid_t other)
{
	long order = syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0);

	return order < 0 ? -errno : order == 0 && proc_has_memory(pid);
}

bool proc_shares(pid_t pid, pid_t other)
{
	return proc_compare_memory(proc_memory_id(pid), other) == 1;
}

static int visit_sharer(void *ctx, pid_t pid)
{
	struct children *sharers = ctx;
	int same = pid == sharers->parent ? 0 : proc_compare_memory(sharers->parent, pid);

	if (same == -ENOSYS)
		return same;
	if (same != 1)
		return 0;
	if (!RESERVE_ITEM(sharers->pids, sharers->count, sharers->capacity, 4))
		return -ENOMEM;
	sharers->pids[sharers->count++] = pid;
	return 0;
}

int proc_sharers(pid_t pid, pid_t **out, size_t *count)
{
	pid_t id = proc_memory_id(pid);
	struct children sharers = {.parent = id};
	int err = proc_compare_memory(id, id);

	*out = NULL;
	*count = 0;
	err = err < 0 ? err : proc_each(visit_sharer, &sharers);
	if (err) {
		free(sharers.pids);
		return err;
	}
	*out = sharers.pids;
	*count = sharers.count;
	return 0;
}

/*
 * Is there Valgrind's variable, by which its launcher tells the tools where it is? The tools do not
 * begin without it, and hide it from their own children (coregrind/launcher-linux.c and m_main.c of
 * Valgrind). Other programs may have it, too. True, too, where the environment cannot be read.
 */
static bool proc_has_launcher(pid_t pid)
{
	_cleanup_free_ char *environ = NULL;
	size_t len;

	if (proc_read_file(pid, "environ", MAX_ENVIRON_BYTES, &environ, &len))
		return true;
	for (size_t at = 0; at < len; at += strlen(environ + at) + 1) {
		if (!strncmp(environ + at, LAUNCHER "=", strlen(LAUNCHER "=")))
			return true;
	}
	return false;
}

/*
 * Has the program a loader? Valgrind's tools have none: they bring all that they need. False, too,
 * where its headers cannot be read.
 */
static bool proc_elf_is_dynamic(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    header.e_phentsize != sizeof(segment))
		return false;
	for (size_t i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/*
 * Does the file name the launcher's variable? A tool asks for it. Looks only at the beginning of a
 * file that is larger than any tool.
 */
static bool proc_file_asks_for_launcher(int fd)
{
	static const char wanted[] = LAUNCHER; /* with its end */
	char bytes[TOOL_PIECE_BYTES + sizeof(wanted)];
	size_t kept = 0;

	for (off_t at = 0; at < MAX_TOOL_BYTES;) {
		ssize_t n = pread(fd, bytes + kept, TOOL_PIECE_BYTES, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		kept += (size_t)n;
		if (memmem(bytes, kept, wanted, sizeof(wanted)))
			return true;
		/* The name may begin in this piece and end in the next. */
		if (kept >= sizeof(wanted)) {
			memmove(bytes, bytes + kept - (sizeof(wanted) - 1), sizeof(wanted) - 1);
			kept = sizeof(wanted) - 1;
		}
	}
	return false;
}

int proc_elf(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	unsigned char ident[EI_NIDENT];
	uint16_t machine, type;
	char path[32];

	pid = proc_memory_id(pid);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (pread(fd, ident, sizeof(ident), 0) != (ssize_t)sizeof(ident) ||
	    memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    pread(fd, &type, sizeof(type), offsetof(Elf64_Ehdr, e_type)) != (ssize_t)sizeof(type) ||
	    pread(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)) !=
		    (ssize_t)sizeof(machine))
		return -ENOEXEC;
	if (ident[EI_CLASS] != ELFCLASS64)
		return PROC_ELF_32BIT;
	if (ident[EI_DATA] != ELFDATA2LSB || machine != ELF_NATIVE_MACHINE)
		return PROC_ELF_FOREIGN;
	/* Valgrind's tools lie at a fixed address, out of the way of the programs that they run. */
	return type == ET_EXEC && proc_has_launcher(pid) && !proc_elf_is_dynamic(fd) &&
			       proc_file_asks_for_launcher(fd)
		       ? PROC_ELF_VALGRIND
		       : PROC_ELF_NATIVE;
}
