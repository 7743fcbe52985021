// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For later programs the object is opened once more, from the same bytes. It shares every map with
 * the first one, those of constants and global variables included. Only the wanted programs are
 * loaded.
 */
#include "user/trace/later.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/trace/programs.h"
#include "user/trace/refused.h"

/* Its descriptor; -ENOENT: it has not been loaded; another -errno: it has been refused. */
static int later_find(const struct trace *trace, const struct bpf_program *program)
{
	const struct later *later = &trace->later;
	int fd = bpf_program__fd(program);

	if (fd >= 0)
		return fd;
	for (size_t i = 0; i < later->count; i++) {
		if (later->loaded[i].program == program)
			return later->loaded[i].fd;
	}
	return -ENOENT;
}

int later_fd(const struct trace *trace, const struct bpf_program *program)
{
	int fd = later_find(trace, program);

	return fd < 0 ? -1 : fd;
}

/*
 * A map that was not made, since this trace does not need it, is not made now either. Only the maps
 * of the programs that follow runtimes are.
 */
static int later_share_maps(const struct trace *trace, struct memleakbpf *again)
{
	struct bpf_map *map = bpf_object__next_map(again->obj, NULL);
	const struct bpf_map *same = bpf_object__next_map(trace->skel->obj, NULL);
	int err = 0;

	for (; map && same && !err; map = bpf_object__next_map(again->obj, map),
				    same = bpf_object__next_map(trace->skel->obj, same)) {
		if (bpf_map__fd(same) >= 0)
			err = bpf_map__reuse_fd(map, bpf_map__fd(same));
		else
			err = bpf_map__set_autocreate(
				map, trace->later.runtimes && programs_is_runtime_map(again, map));
	}
	return err;
}

/* They are the first object's from now on, for what is loaded after this. */
static int later_keep_maps(struct memleakbpf *skel, const struct memleakbpf *again)
{
	struct bpf_map *same = bpf_object__next_map(skel->obj, NULL);
	const struct bpf_map *map = bpf_object__next_map(again->obj, NULL);
	int err = 0;

	for (; map && same && !err; map = bpf_object__next_map(again->obj, map),
				    same = bpf_object__next_map(skel->obj, same)) {
		if (bpf_map__fd(same) < 0 && bpf_map__fd(map) >= 0)
			err = bpf_map__reuse_fd(same, bpf_map__fd(map));
	}
	return err;
}

/* The program of the other opening. */
static struct bpf_program *later_same(const struct memleakbpf *again,
				      const struct bpf_program *program)
{
	return bpf_object__find_program_by_name(again->obj, bpf_program__name(program));
}

static bool later_is_among(const struct bpf_program *program,
			   const struct bpf_program *const wanted[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(bpf_program__name(program), bpf_program__name(wanted[i])))
			return true;
	}
	return false;
}

static int later_load_object(const struct trace *trace, struct memleakbpf *again,
			     const struct bpf_program *const wanted[], size_t count)
{
	struct bpf_program *program;
	int err = later_share_maps(trace, again);

	if (err)
		return err;
	bpf_object__for_each_program(program, again->obj)
		bpf_program__set_autoload(program, later_is_among(program, wanted, count));
	for (size_t i = 0; i < count; i++)
		bpf_program__set_expected_attach_type(
			later_same(again, wanted[i]),
			bpf_program__get_expected_attach_type(wanted[i]));
	err = bpf_object__load(again->obj);
	return err ?: later_keep_maps(trace->skel, again);
}

static void later_say_loaded(const struct bpf_program *const wanted[], size_t count, uint64_t ns)
{
	for (size_t i = 0; i < count; i++)
		log_debug("loaded when first needed: %s (%llu ms%s)", bpf_program__name(wanted[i]),
			  (unsigned long long)(ns / NS_PER_MS), i + 1 < count ? " with" : "");
}

/* All or none. 0 or -errno, not logged. */
static int later_load_all(struct trace *trace, const struct bpf_program *const wanted[],
			  size_t count)
{
	struct shared *shared = &trace->skel->bss->shared;
	struct later *later = &trace->later;
	uint64_t begin_ns = monotonic_ns();
	struct memleakbpf *again;
	int fds[LATER_PROGRAMS], err = 0;
	size_t n = 0;

	if (later->count + count > LATER_PROGRAMS)
		return -E2BIG;
	again = skeleton_open(trace->options.children == CHILDREN_EXACT);
	if (!again)
		return -errno;
	/* Who waits for us at its loader's stop waits longer. */
	__atomic_store_n(&shared->loading, 1, __ATOMIC_RELEASE);
	err = later_load_object(trace, again, wanted, count);
	__atomic_store_n(&shared->loading, 0, __ATOMIC_RELEASE);
	for (; n < count && !err; n++) {
		fds[n] = fcntl(bpf_program__fd(later_same(again, wanted[n])), F_DUPFD_CLOEXEC, 0);
		if (fds[n] < 0) {
			err = -errno;
			break;
		}
	}
	memleakbpf__destroy(again);
	if (err) {
		while (n)
			close(fds[--n]);
		return err;
	}
	for (size_t i = 0; i < count; i++)
		later->loaded[later->count++] = (struct later_program){wanted[i], fds[i]};
	later_say_loaded(wanted, count, monotonic_ns() - begin_ns);
	return 0;
}

/* From now on the usual program goes on there, for targets that have a runtime. */
static int later_fill_slot(const struct trace *trace, const struct programs_managed *managed)
{
	int fd = later_fd(trace, managed->program);
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(managed->slot), &zero, &fd, BPF_ANY) ? -errno : 0;
}

/* Of `only`, or of all that are loaded (NULL). */
static int later_load_managed(struct trace *trace, const struct bpf_program *only)
{
	struct programs_managed managed[PROGRAMS_MANAGED];
	const struct bpf_program *wanted[PROGRAMS_MANAGED];
	size_t count = 0;
	int err;

	programs_managed(trace->skel, &trace->options, &trace->programs, managed);
	for (size_t i = 0; i < PROGRAMS_MANAGED; i++) {
		if ((only ? managed[i].usual == only : later_fd(trace, managed[i].usual) >= 0) &&
		    later_fd(trace, managed[i].program) < 0)
			wanted[count++] = managed[i].program;
	}
	err = count ? later_load_all(trace, wanted, count) : 0;
	for (size_t i = 0; i < PROGRAMS_MANAGED && !err; i++) {
		if (later_fd(trace, managed[i].program) >= 0)
			err = later_fill_slot(trace, &managed[i]);
	}
	return err;
}

/* Once: what was refused is not tried again for the next object. -errno. */
static int later_refused(struct trace *trace, const struct bpf_program *program, int err)
{
	struct later *later = &trace->later;

	if (later->count < LATER_PROGRAMS)
		later->loaded[later->count++] = (struct later_program){program, err};
	return log_errno(err,
			 "the kernel refuses the program %s, which is loaded when it is first "
			 "needed (-vv shows why)",
			 bpf_program__name(program));
}

int later_load(void *ctx, const struct bpf_program *program)
{
	struct trace *trace = ctx;
	int fd = later_find(trace, program), err = 0;

	if (fd != -ENOENT)
		return fd;
	/* What it goes on in is there before it. */
	if (trace->later.runtimes && !trace->later.runtimes_err)
		err = later_load_managed(trace, program);
	err = err ?: later_load_all(trace, &program, 1);
	return err ? later_refused(trace, program, err) : later_fd(trace, program);
}

int later_runtimes(struct trace *trace, uint32_t runtime)
{
	struct later *later = &trace->later;

	if (trace->options.managed_later && !later->runtimes) {
		later->runtimes = true;
		later->runtimes_err = later_load_managed(trace, NULL);
		if (later->runtimes_err)
			refused_note(
				trace, "runtime_frames",
				"stacks have no functions of Python, Ruby, PHP, Perl, Java and "
				"JavaScript",
				later->runtimes_err, "the programs that follow runtimes");
	}
	if (later->runtimes_err)
		return later->runtimes_err;
	/* For good: programs look for the rows of those that some target has had. */
	__atomic_fetch_or(&trace->skel->bss->shared.runtimes, runtime, __ATOMIC_RELEASE);
	return 0;
}

void later_free(struct trace *trace)
{
	for (size_t i = 0; i < trace->later.count; i++) {
		if (trace->later.loaded[i].fd >= 0)
			close(trace->later.loaded[i].fd);
	}
}
