// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Formats: "Separate Debug Files" in the GDB manual (build-id, debuglink and its CRC), dwz(1) for
 * .gnu_debugaltlink.
 *
 * libdwfl maps the debug file that it is given. One that somebody truncates meanwhile would kill us
 * with SIGBUS, and a target can do that to files in its own directories. So only files under our
 * own /usr/lib/debug and debuginfod's cache are handed over as they are; all others are copied into
 * anonymous memory first. We do not search with dwfl_standard_find_debuginfo(). It asks debuginfod
 * whenever the environment names a server, and opens paths that a target chose, FIFOs included.
 */
#include "user/symbol/debugfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <elfutils/libdwelf.h>

#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/symbol/root.h"
#include "user/process/elf_open.h"

#define DEBUG_ROOT     "/usr/lib/debug"
#define DEBUG_FILE_MAX (4ULL << 30) /* bytes copied at most */
#define BUILD_ID_MAX   64

struct wanted {
	const uint8_t *id; /* build-id of the file looked for; NULL: unknown */
	size_t id_len;
	bool has_crc;
	uint32_t crc;
};

/* .gnu_debuglink's CRC-32: the reflected polynomial 0xedb88320 of IEEE 802.3. */
static uint32_t crc32_update(const uint32_t table[256], uint32_t crc, const uint8_t *data,
			     size_t len)
{
	for (size_t i = 0; i < len; i++)
		crc = table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
	return crc;
}

static void crc32_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0xedb88320U : 0);
	}
}

static int debugfile_write_all(int fd, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

/* Copies the file into anonymous memory, and computes its CRC; or -errno. */
static int copy_file(int fd, uint32_t *crc)
{
	enum { CHUNK = 1 << 18 };
	_cleanup_close_ int copy = memfd_create("memleakbpf-debug", MFD_CLOEXEC);
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK);
	uint64_t done = 0, limit;
	uint32_t table[256];
	struct stat st;

	if (copy < 0 || !chunk)
		return copy < 0 ? -errno : -ENOMEM;
	if (!is_elf(fd))
		return -ENOEXEC;
	/* A target can make a file of any size from holes. */
	limit = elf_read_allowance(fd);
	if (limit > DEBUG_FILE_MAX)
		limit = DEBUG_FILE_MAX;
	if (fstat(fd, &st) || (uint64_t)st.st_size > limit) {
		log_warn("a debug file is left out: it claims to be %" PRIu64
			 " MiB, of which %" PRIu64 " would be copied",
			 (uint64_t)st.st_size >> 20, limit >> 20);
		return -EFBIG;
	}
	crc32_table(table);
	*crc = UINT32_MAX;
	for (;;) {
		ssize_t n = pread(fd, chunk, CHUNK, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (uint64_t)n;
		if (done > limit)
			return -EFBIG;
		*crc = crc32_update(table, *crc, chunk, (size_t)n);
		if (debugfile_write_all(copy, chunk, (size_t)n))
			return -EIO;
	}
	*crc = ~*crc;
	return TAKE_FD(copy);
}

static Elf *debugfile_open(int fd, bool need_dwarf)
{
	char reason[REASON_MAX];
	Elf *elf;
	int err = elf_open(fd, need_dwarf ? ELF_FOR_DEBUG : 0, reason, &elf);

	if (err == -EFBIG)
		log_warn("a debug file is left out: %s", reason);
	return err ? NULL : elf;
}

/* Is this the wanted file, and an ELF file with DWARF in it or at least symbols? */
static bool debugfile_matches(int fd, const struct wanted *wanted, uint32_t crc, bool need_dwarf)
{
	_cleanup_elf_ Elf *elf = debugfile_open(fd, need_dwarf);
	const void *id = NULL;
	ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	bool good;

	if (!elf)
		good = false;
	else if (len > 0 && wanted->id)
		good = (size_t)len == wanted->id_len && memcmp(id, wanted->id, (size_t)len) == 0;
	else
		good = wanted->has_crc && crc == wanted->crc;
	if (good && need_dwarf) {
		Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

		good = dwarf != NULL;
		dwarf_end(dwarf);
	}
	return good;
}

/*
 * A path that a target chose is looked up in its own root. If that is not ours, we search ours only
 * below /usr/lib/debug: other files of that name on this machine are somebody else's.
 */
static bool may_search(const struct debugfile_query *query, int root, const char *path)
{
	if (root != ROOT_OURS)
		return root >= 0;
	return query->root_fd < 0 ||
	       (!strncmp(path, DEBUG_ROOT "/", strlen(DEBUG_ROOT "/")) && !strstr(path, "/../"));
}

static int try_path(const struct debugfile_query *query, const struct wanted *wanted,
		    const char *path, char **name)
{
	int roots[] = {query->root_fd, ROOT_OURS};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = -1;
		_cleanup_close_ int copy = -1;
		uint32_t crc = 0;

		if (!may_search(query, roots[i], path))
			continue;
		fd = root_open_file(roots[i], path);
		if (fd < 0)
			continue;
		copy = copy_file(fd, &crc);
		if (copy < 0 ||
		    !debugfile_matches(copy, wanted, crc, debugfile_is_alternate(query)))
			continue;
		*name = strdup(path);
		if (!*name)
			return -1;
		log_debug("%s: debug info from %s", object_path(query->object), path);
		return TAKE_FD(copy);
	}
	return -1;
}

static int try_join(const struct debugfile_query *query, const struct wanted *wanted,
		    const char *prefix, const char *directory, const char *middle, const char *file,
		    char **name)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s%s%s", prefix, directory, middle, file);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -1;
	return try_path(query, wanted, path, name);
}

/* Tries /usr/lib/debug/.build-id/xx/yyyy.debug in the target's root; libdwfl has searched ours. */
static int try_build_id(const struct debugfile_query *query, const struct wanted *wanted,
			char **name)
{
	char hex[2 * BUILD_ID_MAX + 1];
	char file[sizeof(hex) + sizeof("/.debug")];

	if (query->root_fd < 0 || wanted->id_len < 2 || wanted->id_len > BUILD_ID_MAX)
		return -1;
	format_hex(hex, sizeof(hex), wanted->id, wanted->id_len);
	snprintf(file, sizeof(file), "%.2s/%s.debug", hex, hex + 2);
	return try_join(query, wanted, DEBUG_ROOT, "/.build-id/", "", file, name);
}

/* The directory part of a path with its last slash; "" when it has none. Malloc'ed. */
static char *directory_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
}

static int find_linked(const struct debugfile_query *query, const struct wanted *wanted,
		       char **name)
{
	_cleanup_free_ char *directory = directory_of(object_path(query->object));
	const char *file = query->link_name;
	int fd;

	/* The link holds a plain file name; no tool writes anything else. */
	if (!directory || directory[0] != '/' || !file || !*file || strchr(file, '/'))
		return -1;
	fd = try_join(query, wanted, "", directory, "", file, name);
	if (fd < 0)
		fd = try_join(query, wanted, "", directory, ".debug/", file, name);
	if (fd < 0)
		fd = try_join(query, wanted, DEBUG_ROOT, directory, "", file, name);
	return fd;
}

static int find_alternate(const struct debugfile_query *query, const struct wanted *wanted,
			  char **name)
{
	_cleanup_free_ char *directory = NULL;
	const char *file = query->link_name;

	if (!file || !*file)
		return -1;
	if (file[0] == '/')
		return try_path(query, wanted, file, name);
	/* Relative to the file that has the link; libdwfl has no name for the main file. */
	directory = directory_of(query->file_name ? query->file_name : object_path(query->object));
	if (!directory || directory[0] != '/')
		return -1;
	return try_join(query, wanted, "", directory, "", file, name);
}

/* debuginfod's client calls this every so often; a non-zero result would end the transfer. */
static int show_progress(void *client, long done, long total)
{
	(void)client;
	if (total > 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "\rmemleakbpf: debuginfod: %ld of %ld KiB%s", done / 1024,
			total / 1024, done >= total ? "\n" : "");
	return 0;
}

/*
 * libdwfl loads libdebuginfod when it first needs it, so that only its users pay for curl. We need
 * one function of the same library, and look it up the same way.
 */
static void set_progress(Dwfl *dwfl)
{
	debuginfod_client *client = dwfl_get_debuginfod_client(dwfl);
	void *library = client ? dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void (*set_progressfn)(debuginfod_client *, int (*)(void *, long, long)) = NULL;

	if (!library)
		return;
	*(void **)&set_progressfn = dlsym(library, "debuginfod_set_progressfn");
	if (set_progressfn)
		set_progressfn(client, show_progress);
	dlclose(library);
}

static int ask_debuginfod(const struct debugfile_query *query, char **name)
{
	set_progress(query->dwfl);
	log_info("asking debuginfod for the debug info of %s", object_name(query->object));
	/*
	 * Without names it looks by build-id only, and then asks the servers; see the head of this
	 * file.
	 */
	return dwfl_standard_find_debuginfo(query->module, NULL, NULL, 0, NULL, NULL, 0, name);
}

bool debugfile_is_alternate(const struct debugfile_query *query)
{
	Dwarf_Addr bias = 0;

	dwfl_module_info(query->module, NULL, NULL, NULL, &bias, NULL, NULL, NULL);
	return bias != (Dwarf_Addr)-1; /* libdwfl's value for "no debug info yet" */
}

int debugfile_find(const struct debugfile_query *query, char **name)
{
	struct wanted wanted = {.crc = query->crc, .has_crc = query->link_name != NULL};
	bool alternate = debugfile_is_alternate(query);
	int fd;

	fd = dwfl_build_id_find_debuginfo(query->module, NULL, NULL, 0, NULL, NULL, 0, name);
	if (fd >= 0)
		return fd;
	if (alternate) {
		Dwarf_Addr bias;
		const char *link;
		const void *id;
		ssize_t len = dwelf_dwarf_gnu_debugaltlink(
			dwfl_module_getdwarf(query->module, &bias), &link, &id);

		if (len <= 0)
			return -1;
		wanted = (struct wanted){.id = id, .id_len = (size_t)len};
	} else {
		wanted.id = object_build_id(query->object, &wanted.id_len);
	}
	if (wanted.id)
		fd = try_build_id(query, &wanted, name);
	if (fd < 0)
		fd = alternate ? find_alternate(query, &wanted, name)
			       : find_linked(query, &wanted, name);
	if (fd < 0 && wanted.id && query->debuginfod)
		fd = ask_debuginfod(query, name);
	return fd;
}
