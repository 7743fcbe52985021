// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <sys/stat.h>

#include "tests/unit/corefile/dumped.h"
#include "user/base/page.h"
#include "user/corefile/core_file.h"

struct opened {
	struct object_cache *objects;
	struct core_file *core;
	struct memory_image *image;
	const struct core_facts *facts;
};

static void open_core(struct opened *o, int fd)
{
	struct core_file_options options = {.root_fd = -1};
	char reason[REASON_MAX] = "";

	memset(o, 0, sizeof(*o));
	options.objects = o->objects = object_cache_new();
	assert_non_null(o->objects);
	if (core_file_open(fd, &options, &o->core, reason) ||
	    core_file_take_memory(o->core, &o->image, reason))
		fail_msg("%s", reason);
	o->facts = core_file_facts(o->core);
}

static void close_core(struct opened *o)
{
	memory_image_free(o->image);
	core_file_free(o->core);
	object_cache_free(o->objects);
}

/* ---- memory ------------------------------------------------------------------------------- */

static uint64_t word_at(const struct opened *o, uint64_t address)
{
	uint64_t word;

	if (!memory_image_word(o->image, address, &word))
		fail_msg("no word at %#llx", (unsigned long long)address);
	return word;
}

static bool is_there(const struct opened *o, uint64_t address)
{
	uint64_t word;

	return memory_image_word(o->image, address & ~7ull, &word);
}

/* Of gcore's there are zeros, said to be that. */
static bool was_touched(const struct opened *o, uint64_t page)
{
	return is_there(o, page) && !memory_image_untouched(o->image, page, page + page_size());
}

/* `kernels`: gcore says of all memory that it may be read. */
static void check_memory(const struct opened *o, const struct dumped *d, bool kernels)
{
	const uint64_t page = page_size();

	for (uint64_t i = 0; i < 2 * page / 8; i++)
		assert_int_equal(word_at(o, d->facts->heap + 8 * i), DUMPED_WORD + i);
	assert_int_equal(word_at(o, d->facts->vdata), DUMPED_WORD);
	/* What was never touched is not there, nor what may not be read, nor code. */
	for (uint64_t i = 0; i < DUMPED_PAGES; i++)
		assert_int_equal(was_touched(o, d->facts->pages + i * page),
				 i % 4 == 1 || i % 4 == 2);
	assert_int_equal(is_there(o, d->facts->secret), !kernels);
	assert_false(is_there(o, d->facts->text));
	assert_true(is_there(o, d->facts->left_out + page));
}

static void check_regions(const struct opened *o)
{
	uint64_t end = 0;

	assert_true(o->image->region_count > 0);
	for (size_t i = 0; i < o->image->region_count; i++) {
		const struct memory_region *r = &o->image->regions[i];

		assert_true(r->start >= end && r->size && !(r->start % 8) && !(r->size % 8));
		assert_true((uintptr_t)r->words % 8 == 0);
		assert_non_null(r->mapping);
		assert_true(r->start >= r->mapping->start && r->start + r->size <= r->mapping->end);
		end = r->start + r->size;
	}
}

/* ---- mappings, against /proc/PID/maps of the living process ------------------------------- */

/* One that a core cannot have: it has no names that programs give, and no memory of devices. */
static bool is_named_alike(const struct mapping *was, const struct mapping *m)
{
	if (!strncmp(was->path, "[vvar", 5))
		return !*m->path || !strcmp(m->path, "[vvar]");
	return !strcmp(was->path, m->path);
}

static void put_mapping(char text[static 128], const struct mapping *m)
{
	if (!m)
		strcpy(text, "missing");
	else
		snprintf(text, 128, "%llx-%llx %c%c%c %s", (unsigned long long)m->start,
			 (unsigned long long)m->end, m->read ? 'r' : '-', m->write ? 'w' : '-',
			 m->exec ? 'x' : '-', m->path);
}

static void fail_mapping(const struct mapping *was, const struct mapping *m)
{
	char a[128], b[128];

	put_mapping(a, was);
	put_mapping(b, m);
	fail_msg("%s is %s", a, b);
}

static void check_maps(const struct opened *o, const struct dumped *d, bool kernels)
{
	size_t heaps = 0, stacks = 0, guards = 0;

	for (size_t i = 0; i < maps_count(d->maps); i++) {
		const struct mapping *was = maps_at(d->maps, i);
		const struct mapping *m = maps_find(o->image->maps, was->start);

		/* gcore leaves out what nobody may read, and MADV_DONTDUMP, without a word. */
		if (!m && !kernels &&
		    (!was->read || was->start == d->facts->left_out ||
		     !strncmp(was->path, "[vvar", 5)))
			continue;
		if (!m || m->start != was->start || m->end != was->end || m->write != was->write ||
		    m->exec != was->exec ||
		    m->read != (was->read || (!kernels && was->start == d->facts->secret)) ||
		    !is_named_alike(was, m))
			fail_mapping(was, m);
		assert_int_equal(m->ino != 0, was->ino != 0);
		if (was->ino && *was->path == '/' && !was->shared) {
			assert_int_equal(m->offset, was->offset);
			assert_false(m->shared);
		}
		heaps += !strcmp(m->path, "[heap]");
		stacks += !strcmp(m->path, "[stack]");
		guards += !m->read && !m->write && !m->exec;
	}
	assert_int_equal(heaps, 1);
	assert_int_equal(stacks, 1);
	assert_true(guards >= DUMPED_THREADS + 1 - 1);
}

/* Below each thread's stack, also where gcore has left it out. */
static void check_guards(const struct opened *o, const struct dumped *d)
{
	for (size_t i = 0; i < DUMPED_THREADS; i++) {
		const struct mapping *stack = maps_find(o->image->maps, d->facts->threads[i].local);
		const struct mapping *guard, *was;

		assert_non_null(stack);
		guard = maps_find(o->image->maps, stack->start - 1);
		was = maps_find(d->maps, stack->start - 1);
		assert_non_null(guard);
		assert_true(!guard->read && !guard->write && !guard->exec);
		assert_int_equal(guard->start, was->start);
	}
}

/* The program and its libraries are here: the cache has them by what the mappings say. */
static void check_objects(const struct opened *o, const struct dumped *d)
{
	const struct mapping *m = maps_find(o->image->maps, d->facts->text);
	struct object *object;
	const char *why;

	assert_true(o->facts->objects >= 3);
	for (size_t i = 0; core_file_missing(o->core, i, &why); i++)
		fail_msg("%s: %s", core_file_missing(o->core, i, &why), why);
	assert_int_equal(o->facts->objects, o->facts->objects_found);
	assert_non_null(m);
	assert_int_equal(object_cache_get(o->objects, 0, m, &object), 0);
	assert_string_equal(object_path(object), m->path);
	object_unref(object);
	/* The kernel says how much of its memory is its own. */
	assert_true(o->facts->file_private_bytes > 0);
	assert_in_range(o->facts->private_bytes, d->anon - 16 * page_size(),
			d->anon + 16 * page_size());
}

/* ---- threads ------------------------------------------------------------------------------ */

static const struct memory_thread *find_thread(const struct opened *o, pid_t tid)
{
	for (size_t i = 0; i < o->image->thread_count; i++) {
		if (o->image->threads[i].tid == tid)
			return &o->image->threads[i];
	}
	fail_msg("no thread %d", (int)tid);
	return NULL;
}

static void check_threads(const struct opened *o, const struct dumped *d)
{
	assert_int_equal(o->image->thread_count, DUMPED_THREADS + 1);
	assert_int_equal(o->facts->threads_unknown, 0);
	for (size_t i = 0; i <= DUMPED_THREADS; i++) {
		const struct dumped_thread *was = &d->facts->threads[i];
		const struct memory_thread *t = find_thread(o, was->tid);
		bool found = false;

		assert_int_equal(t->tls, was->tls);
		assert_true(t->sp < was->local && was->local - t->sp < 65536);
		/* With its vector registers. */
		assert_true(t->word_count > 27 + 64);
		for (size_t w = 0; w < t->word_count; w++)
			found |= t->words[w] == t->sp;
		assert_true(found);
	}
}

static void check_process(const struct opened *o, const struct dumped *d)
{
	char comm[16] = "";
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, comm, sizeof(comm) - 1);

	close(fd);
	assert_true(n > 0);
	comm[n - 1] = '\0';
	assert_int_equal(o->facts->pid, d->pid);
	assert_string_equal(o->facts->comm, comm);
	assert_non_null(o->facts->cmdline);
	assert_false(o->facts->cmdline_cut);
	assert_non_null(strstr(o->facts->cmdline[0], "test_core_file"));
	assert_null(o->facts->cmdline[1]);
}

static void check_all(const struct opened *o, const struct dumped *d, bool kernels)
{
	check_regions(o);
	check_memory(o, d, kernels);
	check_maps(o, d, kernels);
	check_guards(o, d);
	check_objects(o, d);
	check_threads(o, d);
	check_process(o, d);
	assert_int_equal(o->facts->cut_bytes, 0);
	assert_int_equal(o->facts->mappings_dropped, 0);
}

static void test_kernels(void **state)
{
	struct dumped d;
	struct opened o;

	(void)state;
	dumped_by_kernel(&d);
	open_core(&o, d.core);
	check_all(&o, &d, true);
	assert_int_equal(o.facts->signal, SIGSEGV);
	assert_false(is_there(&o, d.facts->left_out));
	assert_true(o.facts->left_out_bytes >= page_size());
	/* It is ours: nothing is copied. */
	assert_int_equal(o.facts->copied_bytes, 0);
	assert_true(o.facts->mapped_bytes > 0);
	close_core(&o);
	dumped_end(&d);
}

static void test_gcore(void **state)
{
	struct dumped d;
	struct opened o;

	(void)state;
	dumped_by_gcore(&d);
	open_core(&o, d.core);
	check_all(&o, &d, false);
	close_core(&o);
	dumped_end(&d);
}

/* One that others may write to is copied: what it holds then is the same. */
static void test_copied(void **state)
{
	struct dumped d;
	struct opened o;

	(void)state;
	dumped_by_kernel(&d);
	assert_int_equal(fchmod(d.core, 0666), 0);
	open_core(&o, d.core);
	assert_int_equal(o.facts->mapped_bytes, 0);
	/* ... even when the file changes. */
	assert_int_equal(ftruncate(d.core, 0), 0);
	check_regions(&o);
	check_memory(&o, &d, true);
	check_maps(&o, &d, true);
	check_threads(&o, &d);
	close_core(&o);
	dumped_end(&d);
}

/* ---- cores that are not whole ------------------------------------------------------------- */

static void test_cut(void **state)
{
	struct dumped d;
	struct opened o, whole;
	uint64_t size;

	(void)state;
	dumped_by_kernel(&d);
	open_core(&whole, d.core);
	size = whole.facts->file_bytes;
	close_core(&whole);
	assert_int_equal(ftruncate(d.core, (off_t)(size - 10000)), 0);
	open_core(&o, d.core);
	assert_true(o.facts->cut_bytes >= 8000);
	check_regions(&o);
	check_threads(&o, &d);
	check_maps(&o, &d, true);
	assert_int_equal(word_at(&o, d.facts->vdata), DUMPED_WORD);
	close_core(&o);
	/* Nothing but headers and notes. */
	assert_int_equal(ftruncate(d.core, 64 * 1024), 0);
	open_core(&o, d.core);
	assert_true(o.facts->cut_bytes > size / 2);
	check_threads(&o, &d);
	close_core(&o);
	dumped_end(&d);
}

/* Cut while it is looked at: an end with a message, as of any error. */
static void test_cut_meanwhile(void **state)
{
	struct dumped d;
	char text[256] = "";
	int status, to[2];
	pid_t pid;

	(void)state;
	dumped_by_kernel(&d);
	assert_int_equal(pipe(to), 0);
	pid = fork();
	if (!pid) {
		struct opened o;

		dup2(to[1], STDERR_FILENO);
		open_core(&o, d.core);
		if (ftruncate(d.core, 4096))
			_exit(3);
		check_memory(&o, &d, true);
		_exit(2);
	}
	close(to[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(to[0], text, sizeof(text) - 1) > 0);
	close(to[0]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_non_null(strstr(text, "cut"));
	dumped_end(&d);
}

/* ---- what is refused ---------------------------------------------------------------------- */

static void refused(const void *bytes, size_t size, const char *why)
{
	struct core_file_options options = {.root_fd = -1, .objects = object_cache_new()};
	int fd = memfd_create("no-core", MFD_CLOEXEC);
	char reason[REASON_MAX] = "";
	struct core_file *core;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	assert_true(core_file_open(fd, &options, &core, reason) < 0);
	if (!strstr(reason, why))
		fail_msg("\"%s\" instead of \"%s\"", reason, why);
	close(fd);
	object_cache_free(options.objects);
}

static void refused_header(unsigned char class, uint16_t type, uint16_t machine, const char *why)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT},
		.e_type = type,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_ehsize = class == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	Elf32_Ehdr small = {
		.e_ident = {0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT},
		.e_type = type,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf32_Ehdr),
	};

	if (class == ELFCLASS64)
		refused(&header, sizeof(header), why);
	else
		refused(&small, sizeof(small), why);
}

static void test_refused(void **state)
{
	struct core_file_options options = {.root_fd = -1};
	char reason[REASON_MAX] = "";
	struct core_file *core;
	int fd;

	(void)state;
	refused("", 0, "empty");
	refused("hello, world", 12, "no core file");
	refused("\x28\xb5\x2f\xfd\0\0\0\0", 8, "zstd");
	refused("\x7f"
		"ELF\x02\x01\x01",
		7, "no core file");
	refused_header(ELFCLASS64, ET_DYN, EM_X86_64, "a program or a library");
	refused_header(ELFCLASS64, ET_CORE, EM_S390, "another kind of machine");
	refused_header(ELFCLASS32, ET_CORE, EM_386, "32-bit");
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(core_file_open(fd, &options, &core, reason) < 0);
	assert_non_null(strstr(reason, "no regular file"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),	      cmocka_unit_test(test_gcore),
		cmocka_unit_test(test_copied),	      cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_meanwhile), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
