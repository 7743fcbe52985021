// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/survey/survey_abi.h"
#include "survey.skel.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/memory.h"
#include "user/kernel/privilege.h"
#include "user/process/proc.h"
#include "user/trace/libbpf_messages.h"
#include "user/trace/recursion_misses.h"

/* What the kernel has counted of those that have exited, as far as it was read. */
struct survey_reader_exits {
	struct survey_parent *parents; /* SURVEY_MAX_PARENTS of each */
	struct survey_exits *sums;
	size_t count;
};

struct survey_reader {
	struct survey *skel; /* NULL: /proc */
	struct bpf_link *link;
	struct bpf_link *exit_link; /* NULL: exits are not counted */
	struct process_list list;
	struct survey_reader_exits exits;
	struct missing_parts missing;
	uint64_t page, ns_per_tick;
	int64_t boot_offset_ns; /* of our time namespace */
};

static struct process_sample *survey_reader_add(struct process_list *list)
{
	if (!RESERVE_ITEM(list->items, list->count, list->room, 256))
		return NULL;
	return &list->items[list->count++];
}

static int survey_reader_by_pid(const void *a, const void *b)
{
	const struct process_sample *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* A process without its first thread comes once per thread that is left. */
static void survey_reader_sort_and_unite(struct process_list *list)
{
	size_t kept = 0;

	qsort(list->items, list->count, sizeof(*list->items), survey_reader_by_pid);
	for (size_t i = 0; i < list->count; i++) {
		if (!kept || list->items[kept - 1].pid != list->items[i].pid)
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

/* ---- the iterator ------------------------------------------------------------------------- */

/* time_namespaces(7): what /proc adds to the kernel's own time since boot. 0 where there are none. */
static int64_t survey_reader_boot_offset_ns(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, ns = 0;

	if (!file || fscanf(file, "monotonic %*d %*d boottime %lld %lld", &seconds, &ns) != 2)
		return 0;
	return seconds * (int64_t)NS_PER_S + ns;
}

/* As /proc/PID/stat has it. */
static uint64_t survey_reader_ticks(const struct survey_reader *r, uint64_t start_ns)
{
	return (start_ns + (uint64_t)r->boot_offset_ns) / r->ns_per_tick;
}

static int survey_reader_take_record(struct survey_reader *r, const struct survey_record *record)
{
	struct process_sample *p = survey_reader_add(&r->list);
	/* As VmRSS of /proc/PID/status is. */
	const int64_t rss = record->anon + record->file + record->shmem;

	if (!p)
		return -ENOMEM;
	*p = (struct process_sample){
		.pid = (pid_t)record->pid,
		.ppid = (pid_t)record->ppid,
		.start_ticks = survey_reader_ticks(r, record->start_ns),
		.uid = record->uid,
		.ruid = record->ruid,
		.threads = record->threads,
		.anon = (uint64_t)record->anon * r->page,
		.swap = (uint64_t)record->swap * r->page,
		.shmem = (uint64_t)record->shmem * r->page,
		.rss = rss > 0 ? (uint64_t)rss * r->page : 0,
	};
	memcpy(p->comm, record->comm, sizeof(p->comm));
	p->comm[sizeof(p->comm) - 1] = '\0';
	return 0;
}

static int survey_reader_read_iterator(struct survey_reader *r)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(r->link));
	struct survey_record records[256];
	size_t used = 0;
	int err = 0;

	if (fd < 0)
		return fd;
	while (!err) {
		ssize_t n = read(fd, (char *)records + used, sizeof(records) - used);
		size_t whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		used += (size_t)n;
		whole = used / sizeof(records[0]);
		for (size_t i = 0; !err && i < whole; i++)
			err = survey_reader_take_record(r, &records[i]);
		used -= whole * sizeof(records[0]);
		memmove(records, &records[whole], used);
	}
	return err;
}

/* ---- those that have exited --------------------------------------------------------------- */

static int survey_reader_read_exits(struct survey_reader *r)
{
	struct survey_reader_exits *e = &r->exits;
	int fd = bpf_map__fd(r->skel->maps.exits), err = 0;
	uint32_t batch, *last = NULL;

	e->count = 0;
	while (!err && e->count < SURVEY_MAX_PARENTS) {
		uint32_t n = (uint32_t)(SURVEY_MAX_PARENTS - e->count);

		err = bpf_map_lookup_batch(fd, last, &batch, e->parents + e->count,
					   e->sums + e->count, &n, NULL);
		if (!err || err == -ENOENT)
			e->count += n;
		last = &batch;
	}
	/*
	 * -ENOENT: the end; -ENOSPC: what came meanwhile has no room behind the rest, and comes the
	 * next time.
	 */
	return err == -ENOENT || err == -ENOSPC ? 0 : err;
}

static struct process_sample *survey_reader_find(struct process_list *list, pid_t pid)
{
	const struct process_sample key = {.pid = pid};

	return list->count ? bsearch(&key, list->items, list->count, sizeof(*list->items),
				     survey_reader_by_pid)
			   : NULL;
}

/*
 * The exits were read before the walk over the processes. So a parent that is not in the list is
 * gone for good, and its children's memory has been added to its own parent's.
 */
static void survey_reader_take_exits(struct survey_reader *r)
{
	int fd = bpf_map__fd(r->skel->maps.exits);

	for (size_t i = 0; i < r->exits.count; i++) {
		const struct survey_parent *parent = &r->exits.parents[i];
		struct process_sample *p = survey_reader_find(&r->list, (pid_t)parent->pid);

		if (p && p->start_ticks == survey_reader_ticks(r, parent->start_ns)) {
			p->exited = r->exits.sums[i].count;
			p->exited_peak = r->exits.sums[i].peak * r->page;
		} else {
			bpf_map_delete_elem(fd, parent);
		}
	}
	r->list.exits_known = true;
	r->list.exits_lost = r->skel->bss->exits_lost + recursion_misses_of(r->skel->obj);
}

/* The survey goes on without. */
static void survey_reader_count_exits(struct survey_reader *r)
{
	int fd = bpf_program__fd(r->skel->progs.survey_exit), err = fd < 0 ? -EPERM : 0;
	const struct missing_part *part;

	r->exits.parents = calloc(SURVEY_MAX_PARENTS, sizeof(*r->exits.parents));
	r->exits.sums = calloc(SURVEY_MAX_PARENTS, sizeof(*r->exits.sums));
	if (!r->exits.parents || !r->exits.sums)
		err = -ENOMEM;
	/* Whether they can be read: nothing is in them so far. */
	err = err ?: survey_reader_read_exits(r);
	if (!err) {
		r->exit_link = bpf_program__attach(r->skel->progs.survey_exit);
		err = r->exit_link ? 0 : -errno;
	}
	if (!err)
		return;
	part = missing_add(&r->missing, "short_lived_children",
			   "children that come and go between two looks are not counted",
			   "survey_exit: %s", strerror(-err));
	if (part)
		log_info("this kernel refuses %s: %s", part->why, part->costs);
}

/* What is refused is one of the two programs: without the second it is tried once more. */
static int survey_reader_load_without_exits(struct survey_reader *r, uint32_t cpus)
{
	survey__destroy(r->skel);
	r->skel = survey__open();
	if (!r->skel)
		return -errno;
	r->skel->rodata->possible_cpus = cpus;
	bpf_program__set_autoload(r->skel->progs.survey_exit, false);
	return survey__load(r->skel);
}

static int survey_reader_load(struct survey_reader *r)
{
	int cpus = libbpf_num_possible_cpus(), err;

	if (cpus < 0)
		return cpus;
	if (cpus > RSS_MAX_CPUS)
		return -E2BIG;
	r->skel = survey__open();
	if (!r->skel)
		return -errno;
	r->skel->rodata->possible_cpus = (uint32_t)cpus;
	err = survey__load(r->skel);
	if (err)
		err = survey_reader_load_without_exits(r, (uint32_t)cpus);
	if (err)
		return err;
	r->link = bpf_program__attach_iter(r->skel->progs.survey_task, NULL);
	if (!r->link)
		return -errno;
	err = survey_reader_read_iterator(r);
	r->list.count = 0;
	if (!err)
		survey_reader_count_exits(r);
	return err;
}

static void survey_reader_unload(struct survey_reader *r)
{
	bpf_link__destroy(r->link);
	bpf_link__destroy(r->exit_link);
	survey__destroy(r->skel);
	r->link = r->exit_link = NULL;
	r->skel = NULL;
}

/* ---- /proc -------------------------------------------------------------------------------- */

static int survey_reader_take_process(struct survey_reader *r, pid_t pid)
{
	struct process_sample p = {.pid = pid};
	struct proc_usage usage;
	struct proc_stat stat;

	/* It may end between one file and the next; a kernel thread or zombie has no memory. */
	if (proc_stat(pid, &stat) || stat.kernel_thread || proc_usage(pid, &usage))
		return 0;
	p.ppid = stat.ppid;
	p.start_ticks = stat.start_ticks;
	p.uid = usage.uid;
	p.ruid = usage.ruid;
	p.threads = stat.threads;
	memcpy(p.comm, stat.comm, sizeof(p.comm));
	p.anon = usage.anon;
	p.swap = usage.swap;
	p.shmem = usage.shmem;
	p.rss = usage.rss;
	if (!survey_reader_add(&r->list))
		return -ENOMEM;
	r->list.items[r->list.count - 1] = p;
	return 0;
}

static int survey_reader_read_proc(struct survey_reader *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = survey_reader_take_process(r, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return err;
}

/* ---- public ------------------------------------------------------------------------------- */

int survey_reader_new(enum survey_source source, struct survey_reader **out)
{
	struct survey_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return log_errno(ENOMEM, "survey");
	r->page = (uint64_t)sysconf(_SC_PAGESIZE);
	r->ns_per_tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	r->boot_offset_ns = survey_reader_boot_offset_ns();
	if (source != SURVEY_PROC) {
		libbpf_messages_to_log();
		err = survey_reader_load(r);
		if (err && source == SURVEY_BPF) {
			survey_reader_free(r);
			return log_errno(err, "cannot load the iterator over processes");
		}
		if (err) {
			survey_reader_unload(r);
			missing_add(&r->missing, "process_iterator",
				    "the survey reads /proc, which takes it longer",
				    "survey_task: %s", strerror(-err));
			log_warn("reading /proc, since the BPF iterator cannot be had: %s",
				 privilege_admin() ? strerror(-err) : "it needs CAP_SYS_ADMIN");
		}
	}
	*out = r;
	return 0;
}

void survey_reader_free(struct survey_reader *r)
{
	if (!r)
		return;
	survey_reader_unload(r);
	free(r->list.items);
	free(r->exits.parents);
	free(r->exits.sums);
	free(r);
}

enum survey_source survey_reader_source(const struct survey_reader *r)
{
	return r->link ? SURVEY_BPF : SURVEY_PROC;
}

const struct missing_parts *survey_reader_missing(const struct survey_reader *r)
{
	return &r->missing;
}

int survey_reader_read(struct survey_reader *r, const struct process_list **out)
{
	int err = 0;

	r->list.count = 0;
	if (r->exit_link)
		err = survey_reader_read_exits(r);
	if (!err)
		err = r->link ? survey_reader_read_iterator(r) : survey_reader_read_proc(r);
	if (err)
		return log_errno(err, "cannot read the processes' memory");
	survey_reader_sort_and_unite(&r->list);
	if (r->exit_link)
		survey_reader_take_exits(r);
	*out = &r->list;
	return 0;
}
