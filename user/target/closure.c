// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/closure.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/elf_file.h"
#include "user/process/object_open.h"

#define LOADER_TIMEOUT_MS 10000
#define MAX_LISTING	  (1u << 20)
#define SHEBANG_BYTES	  256 /* BINPRM_BUF_SIZE: what the kernel looks at */
#define MAX_SHEBANGS	  4   /* interpreters of interpreters, as in the kernel's exec_binprm() */

/* ---- the file that execvp would run ---- */

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? -errno : 0;
}

/* One more candidate of PATH; an empty element is the current directory. */
static int try_directory(const char *dir, size_t len, const char *command, char **out)
{
	_cleanup_free_ char *path = NULL;
	int err;

	if (asprintf(&path, "%.*s/%s", len ? (int)len : 1, len ? dir : ".", command) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	err = check_executable(path);
	if (!err)
		*out = TAKE_PTR(path);
	return err;
}

static int resolve_command(const char *command, char **out)
{
	const char *path = getenv("PATH");
	int result = -ENOENT;

	if (!*command)
		return -ENOENT;
	if (strchr(command, '/')) {
		int err = check_executable(command);

		if (err)
			return err;
		*out = strdup(command);
		return *out ? 0 : -ENOMEM;
	}
	if (!path)
		path = "/bin:/usr/bin"; /* confstr(_CS_PATH), execvp's default */
	for (;;) {
		size_t len = strcspn(path, ":");
		int err = try_directory(path, len, command, out);

		if (err != -ENOENT && err != -ENOTDIR && err != -EACCES)
			return err;
		/*
		 * Something of that name that may not be run is worth saying if nothing else turns
		 * up.
		 */
		if (err == -EACCES)
			result = err;
		if (!path[len])
			return result;
		path += len + 1;
	}
}

bool closure_command_exists(const char *command)
{
	_cleanup_free_ char *path = NULL;

	return !resolve_command(command, &path);
}

/* ---- what kind of file it is ---- */

/* The interpreter of a "#!" line, which head[] begins with. -ENOEXEC when there is none. */
static int parse_shebang(char *head, char **interpreter)
{
	char *start = head + 2 + strspn(head + 2, " \t");
	size_t len = strcspn(start, " \t\n");

	if (len == 0)
		return -ENOEXEC;
	*interpreter = strndup(start, len);
	return *interpreter ? 0 : -ENOMEM;
}

/*
 * Follows #! lines from *path to an ELF file and opens that. Returns its descriptor, *path then
 * names it.
 */
static int open_program(char **path)
{
	for (int depth = 0; depth <= MAX_SHEBANGS + 1; depth++) {
		_cleanup_close_ int fd = object_open_path(*path);
		char head[SHEBANG_BYTES + 1];
		char *interpreter;
		ssize_t n;
		int err;

		if (fd < 0)
			return fd;
		n = pread(fd, head, SHEBANG_BYTES, 0);
		if (n < 0)
			return -errno;
		head[n] = '\0';
		if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
			return TAKE_FD(fd);
		if (n < 2 || memcmp(head, "#!", 2) != 0)
			return -ENOEXEC;
		err = parse_shebang(head, &interpreter);
		if (err)
			return err;
		free(*path);
		*path = interpreter;
	}
	return -ELOOP;
}

/* PT_INTERP's path, NULL for a static executable, and for a file that is refused. */
static int read_interpreter(int fd, char **out)
{
	struct elf_headers headers;
	char path[PATH_MAX], reason[REASON_MAX];
	int err = elf_headers_read(fd, &headers, reason);
	uint64_t offset, size;
	bool native;
	ssize_t n;

	*out = NULL;
	if (err == -EFBIG)
		log_warn("the command's file is not looked into before it starts: %s", reason);
	if (err)
		return err == -EFBIG ? 0 : err;
	native = headers.native64;
	offset = headers.interp_offset;
	size = headers.interp_size;
	elf_headers_release(&headers);
	if (!native)
		return -EOPNOTSUPP;
	if (size == 0)
		return 0;
	if (size > sizeof(path))
		return -ENOEXEC;
	n = pread(fd, path, size, (off_t)offset);
	if (n != (ssize_t)size || path[size - 1] != '\0' || path[0] != '/')
		return -ENOEXEC;
	*out = strdup(path);
	return *out ? 0 : -ENOMEM;
}

/* ---- asking the dynamic loader ---- */

static int spawn_loader(const char *loader, const char *program, int out_fd, pid_t *pid)
{
	char *argv[] = {(char *)loader, "--list", (char *)program, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	err = posix_spawn(pid, loader, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_ns() / NS_PER_MS);
}

/* Reads to the end of the pipe. -ETIME when that does not come. */
static int read_listing(int fd, char **out)
{
	_cleanup_free_ char *text = malloc(MAX_LISTING + 1);
	int64_t deadline = now_ms() + LOADER_TIMEOUT_MS;
	size_t len = 0;

	if (!text)
		return -ENOMEM;
	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - now_ms();
		ssize_t n;

		if (left <= 0)
			return -ETIME;
		n = poll(&ready, 1, (int)left);
		if (n > 0)
			n = read(fd, text + len, MAX_LISTING - len);
		else if (n == 0)
			return -ETIME;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len == MAX_LISTING)
			return -EFBIG;
	}
	text[len] = '\0';
	*out = TAKE_PTR(text);
	return 0;
}

static int ask_loader(const char *loader, const char *program, char **listing)
{
	_cleanup_close_ int read_end = -1;
	int pipe_fds[2], err;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	read_end = pipe_fds[0];
	err = spawn_loader(loader, program, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (err)
		return err;
	err = read_listing(read_end, listing);
	/* At the end of its output it has ended or may be ended. */
	if (err)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

/* ---- the result ---- */

static int closure_add_path(struct closure *closure, const char *path, size_t len)
{
	char **paths;

	for (size_t i = 0; i < closure->count; i++) {
		if (strlen(closure->paths[i]) == len && !memcmp(closure->paths[i], path, len))
			return 0;
	}
	paths = reallocarray(closure->paths, closure->count + 2, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	closure->paths = paths;
	paths[closure->count] = strndup(path, len);
	if (!paths[closure->count])
		return -ENOMEM;
	paths[++closure->count] = NULL;
	return 0;
}

/* Lines of both glibc and musl: "\tNAME => PATH (0xADDRESS)" or "\tPATH (0xADDRESS)". */
static int add_listing(struct closure *closure, const char *listing)
{
	for (const char *line = listing; *line;) {
		size_t len = strcspn(line, "\n");
		const char *arrow = memmem(line, len, " => ", 4);
		const char *path = arrow ? arrow + 4 : line + strspn(line, "\t ");
		const char *end = memmem(path, (size_t)(line + len - path), " (0x", 4);

		for (const char *later = end; later;) {
			end = later;
			later = memmem(end + 1, (size_t)(line + len - end - 1), " (0x", 4);
		}
		/* linux-vdso.so.1 is no file; a relative path is one. */
		if (end && memchr(path, '/', (size_t)(end - path)) &&
		    closure_add_path(closure, path, (size_t)(end - path)))
			return -ENOMEM;
		line += len + (line[len] == '\n');
	}
	return 0;
}

static int add_libraries(struct closure *closure, const char *loader, const char *program)
{
	_cleanup_free_ char *listing = NULL, *dashed = NULL;
	int err;

	/* Not to be taken for an option of the loader. */
	if (program[0] == '-') {
		if (asprintf(&dashed, "./%s", program) < 0) {
			dashed = NULL;
			return -ENOMEM;
		}
		program = dashed;
	}
	err = ask_loader(loader, program, &listing);
	if (err) {
		log_debug("%s --list %s: %s", loader, program, strerror(-err));
		return err == -ENOMEM ? err : 0;
	}
	return add_listing(closure, listing);
}

static int closure_fill(struct closure *closure, const char *command)
{
	_cleanup_free_ char *program = NULL, *loader = NULL;
	_cleanup_close_ int fd = -1;
	int err = resolve_command(command, &closure->command);

	if (err)
		return err;
	program = strdup(closure->command);
	if (!program)
		return -ENOMEM;
	fd = open_program(&program);
	if (fd < 0)
		return fd;
	err = closure_add_path(closure, program, strlen(program));
	if (!err)
		err = read_interpreter(fd, &loader);
	if (err || !loader)
		return err;
	err = closure_add_path(closure, loader, strlen(loader));
	return err ? err : add_libraries(closure, loader, program);
}

static int closure_explain(int err, const char *command, const struct closure *closure)
{
	switch (err) {
	case -ENOENT:
	case -ENOTDIR:
		if (closure->command)
			log_error("%s: its interpreter was not found", command);
		else
			log_error("%s: command not found", command);
		return -ENOENT;
	case -EACCES:
		log_error("%s: not executable, or no permission", command);
		return err;
	case -ENOEXEC:
		log_error("%s: neither an ELF program nor a script with a #! line", command);
		return err;
	case -ELOOP:
		log_error("%s: too many scripts that interpret each other", command);
		return err;
	case -EOPNOTSUPP:
		log_error("%s: a 32-bit program or one for another architecture; only native "
			  "64-bit ones can be traced",
			  command);
		return err;
	default:
		return log_errno(err, "%s", command);
	}
}

int closure_find(const char *command, struct closure **out)
{
	struct closure *closure = calloc(1, sizeof(*closure));
	int err;

	if (!closure)
		return log_errno(ENOMEM, "%s", command);
	err = closure_fill(closure, command);
	if (err) {
		err = closure_explain(err, command, closure);
		closure_free(closure);
		return err;
	}
	*out = closure;
	return 0;
}

void closure_free(struct closure *closure)
{
	if (!closure)
		return;
	for (size_t i = 0; i < closure->count; i++)
		free(closure->paths[i]);
	free(closure->paths);
	free(closure->command);
	free(closure);
}
