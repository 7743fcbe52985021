// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Targets: how they begin, get their probes, and end. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/traceable.h"
#include "user/process/proc.h"
#include "user/trace/internal.h"

/* Ended targets are cleared from the kernel in batches: each clearing walks the whole live map. */
#define RECLAIM_BATCH 64

/*
 * A process that maps memory all the time: after that many times in a row, the next turn gives
 * another chance.
 */
#define PUBLISH_TRIES 4

/* A process that becomes another program each time that we attach is not worth more. */
#define ATTACH_TRIES 5

uint32_t target_number(const struct target *target)
{
	return target->id;
}

pid_t target_pid(const struct target *target)
{
	return target->pid;
}

const char *target_comm(const struct target *target)
{
	return target->comm;
}

bool target_is_traced(const struct target *target)
{
	return target->announced;
}

void **target_user_data(struct target *target)
{
	return &target->user_data;
}

struct target *target_new(struct trace *trace, uint32_t id, pid_t pid)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->id = id;
	target->pid = pid;
	target->pidfd = -1;
	target->start_ns = monotonic_ns();
	HASH_ADD(hh, trace->targets, id, sizeof(target->id), target);
	HASH_ADD(hh_pid, trace->by_pid, pid, sizeof(target->pid), target);
	return target;
}

/* Threads remember whose they are until they see that the table has changed. */
void targets_changed(struct trace *trace)
{
	__atomic_add_fetch(&trace->skel->bss->shared.target_epoch, 1, __ATOMIC_ACQ_REL);
}

static void remove_from_table(struct trace *trace, struct target *target)
{
	uint32_t tgid = (uint32_t)target->pid;

	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.targets), &tgid);
	targets_changed(trace);
}

/* Its probes come off. What is ended and waits to be cleared holds no descriptors. */
static void release_descriptors(struct trace *trace, struct target *target)
{
	target_detach(trace, target, NULL);
	cleanup_close(&target->pidfd);
	target->pidfd = -1;
	if (target->image)
		image_forget_root(target->image);
}

void target_free(struct trace *trace, struct target *target)
{
	if (!target->ended)
		remove_from_table(trace, target);
	if (target->noted)
		symbolizer_forget_process(trace->symbolizer, target->pid);
	release_descriptors(trace, target);
	for (size_t i = 0; i < target->preloaded_count; i++) {
		object_unmap(target->preloaded[i]);
		object_unref(target->preloaded[i]);
	}
	free(target->preloaded);
	image_free(target->image);
	image_free(target->next_image);
	free(target->cmdline);
	free(target);
}

struct target *target_by_id(struct trace *trace, uint32_t id)
{
	struct target *target;

	HASH_FIND(hh, trace->targets, &id, sizeof(id), target);
	return target;
}

struct target *target_by_pid(struct trace *trace, pid_t pid)
{
	struct target *target;

	HASH_FIND(hh_pid, trace->by_pid, &pid, sizeof(pid), target);
	return target;
}

void target_unlink(struct trace *trace, struct target *target)
{
	HASH_DEL(trace->targets, target);
	HASH_DELETE(hh_pid, trace->by_pid, target);
}

void target_identify(struct trace *trace, struct target *target)
{
	char **cmdline;

	/* A process that is gone keeps the names that are known. */
	proc_comm(target->pid, target->comm);
	if (proc_cmdline(target->pid, &cmdline) == 0) {
		free(target->cmdline);
		target->cmdline = cmdline;
	}
	if (!target->noted)
		target->noted = !symbolizer_note_process(trace->symbolizer, target->pid);
}

/* Attaches in the target alone, once. */
static int attach_set(struct trace *trace, struct target *target, const struct probe_set *set)
{
	struct target_attachment *a;
	int err;

	for (a = target->attachments; a; a = a->next) {
		if (a->set == set)
			return 0;
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->set = set;
	err = attach_probes(trace->options.attach, &trace->programs, set, target->pid,
			    &a->attachment);
	if (err) {
		free(a);
		return err;
	}
	a->ready_ns = monotonic_ns();
	a->next = target->attachments;
	target->attachments = a;
	return 0;
}

int target_attach_object(struct trace *trace, struct target *target, struct known_object *known)
{
	int err = 0;

	if (!known->probes)
		return 0;
	if (trace->options.children != CHILDREN_EXACT)
		err = attach_set(trace, target, known->probes);
	else if (!known->in_all)
		err = -EIO;
	if (err)
		return err;
	if (known->probes->site_count)
		target->bare = true;
	return 1;
}

static const struct probe_set *probes_of(const struct trace *trace, const struct object *object)
{
	const struct known_object *known = known_object_find(trace, object);

	return known ? known->probes : NULL;
}

bool target_has_probes(const struct trace *trace, const struct target *target)
{
	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct probe_set *set =
			probes_of(trace, image_range_at(target->image, i)->object);
		const struct target_attachment *a;

		for (a = target->attachments; set && a; a = a->next) {
			if (a->set == set)
				return true;
		}
	}
	return false;
}

void target_tell_untraced(struct trace *trace, struct target *target)
{
	size_t count = target->image ? image_range_count(target->image) : 0;

	if (target->launching || target->announced || target->untraced || !count ||
	    !trace->callbacks.untraced)
		return;
	/* One whose probes came too late, or could not be placed, is another matter. */
	for (size_t i = 0; i < count; i++) {
		if (probes_of(trace, image_range_at(target->image, i)->object))
			return;
	}
	target->untraced = true;
	trace->callbacks.untraced(trace->callbacks.ctx, target);
}

void trace_tell_untraced(struct trace *trace, uint64_t min_ns)
{
	uint64_t now = monotonic_ns();
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		if (now - target->start_ns >= min_ns)
			target_tell_untraced(trace, target);
	}
}

/* Beside the allocator's probes: in this target, or in all processes at once. */
static int attach_beside(struct trace *trace, struct target *target, const struct probe_set *set,
			 struct attachment **in_all)
{
	if (!set)
		return 0;
	if (trace->options.children != CHILDREN_EXACT)
		return attach_set(trace, target, set);
	return *in_all ? 0 : attach_probes(trace->options.attach, &trace->programs, set, 0, in_all);
}

/* Not in children that are attached to as they run: others of theirs were missed anyway. */
static int attach_loader(struct trace *trace, struct target *target, struct known_object *known)
{
	int err;

	if (target->late)
		return 0;
	err = attach_beside(trace, target, known->loader, &known->loader_in_all);

	if (known->loader_in_all && !known->loader_ns)
		known->loader_ns = monotonic_ns();
	return err;
}

int target_attach_watched(struct trace *trace, struct target *target)
{
	struct known_object *known;
	int err = 0;

	for (known = trace->known; known && !err; known = known->hh.next)
		err = attach_beside(trace, target, known->leaver, &known->leaver_in_all)
			      ?: attach_beside(trace, target, known->operators,
					       &known->operators_in_all)
			      ?: attach_loader(trace, target, known);
	return err;
}

int target_attach_unwinders(struct trace *trace, struct target *target)
{
	struct known_object *known;
	int err = 0;

	if (!target->bare)
		return 0;
	/*
	 * Those too that only other targets map: a probe in a file that a process does not map
	 * costs it nothing.
	 */
	for (known = trace->known; known && !err; known = known->hh.next)
		err = attach_beside(trace, target, known->unwinder, &known->unwinder_in_all);
	return err;
}

int target_attach_image(struct trace *trace, struct target *target)
{
	const struct object *first = NULL;
	int attached = 0, err;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		struct known_object *known;

		if (!range->object)
			continue;
		known = known_object_get(trace, range->object);
		if (!known)
			return -ENOMEM;
		err = target_attach_object(trace, target, known);
		if (err < 0)
			return err;
		attached += err;
		if (err && first && first != range->object)
			target->layered = true;
		first = err ? range->object : first;
	}
	err = target_attach_unwinders(trace, target);
	err = err ?: target_attach_watched(trace, target);
	return err ? err : attached;
}

void target_publish(struct trace *trace, struct target *target)
{
	uint64_t generation = image_generation(target->image);
	struct image *now;
	int err = -EAGAIN;

	if (target->launching || target->published == generation)
		return;
	/*
	 * Not the image itself: that is as old as the last record, which the stacks still to come
	 * are looked up in.
	 */
	now = image_clone(target->image, target->pid);
	if (!now)
		return;
	target->published = generation;
	for (int tries = 1; err == -EAGAIN && tries <= PUBLISH_TRIES; tries++)
		err = unwind_publisher_sync(trace->unwind, target->id, now);
	/*
	 * It maps memory all the time: until this works the kernel is asked, which is right but
	 * slower.
	 */
	if (err == -EAGAIN)
		target->published = 0;
	image_free(now);
}

void target_announce(struct trace *trace, struct target *target)
{
	if (target->announced)
		return;
	target->announced = true;
	trace->callbacks.attached(trace->callbacks.ctx, target);
}

void target_end(struct trace *trace, struct target *target, bool exited)
{
	target->ended = true;
	target->exited = exited;
	target_unlink(trace, target);
	if (!target->launching && target->announced)
		trace->callbacks.ended(trace->callbacks.ctx, target);
	release_descriptors(trace, target);
	target->next_ended = trace->ended;
	trace->ended = target;
	if (++trace->ended_count >= RECLAIM_BATCH)
		reader_reclaim(trace);
}

static int add_process(struct trace *trace, pid_t pid, bool child);

static int no_allocator(const struct trace *trace, const struct target *target)
{
	const struct provider_options *o = &trace->options.providers;

	if (o->object)
		log_error("process %d (%s) maps no object that matches -O %s and has allocator "
			  "functions",
			  target->pid, target->comm, o->object);
	else
		log_error(
			"process %d (%s): no allocator found: nothing that it maps defines malloc "
			"and free (a static, stripped "
			"program?); name one with -O, --symbols-prefix or --alloc-fn and --free-fn",
			target->pid, target->comm);
	return -ENOENT;
}

static uint32_t next_id(struct trace *trace)
{
	/* bpf/number.h */
	if (trace->options.old)
		return 2 * ++trace->last_even_id;
	return __atomic_add_fetch(&trace->skel->bss->shared.last_target_id, 1, __ATOMIC_ACQ_REL);
}

/* From here on its allocations count: all functions at once, since all probes are there already. */
static int register_target(struct trace *trace, struct target *target)
{
	struct target_info info = {.id = target->id};
	uint32_t tgid = (uint32_t)target->pid;
	int err;

	if (trace->options.children != CHILDREN_NONE)
		info.flags |= TARGET_FOLLOW;
	if (target->layered)
		info.flags |= TARGET_LAYERED;
	err = bpf_map_update_elem(bpf_map__fd(trace->skel->maps.targets), &tgid, &info, BPF_ANY);
	if (err)
		return log_errno(err, "cannot enter process %d in the table of targets",
				 target->pid);
	targets_changed(trace);
	return 0;
}

static int open_pidfd(struct trace *trace, struct target *target)
{
	struct epoll_event event = {.events = EPOLLIN};

	target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pidfd < 0)
		return -errno;
	return epoll_ctl(trace->epoll_fd, EPOLL_CTL_ADD, target->pidfd, &event) ? -errno : 0;
}

/* Has it ended meanwhile? A pidfd cannot mean another process that got the same pid. */
static bool has_ended(const struct target *target)
{
	struct pollfd fd = {.fd = target->pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

static void target_discard(struct trace *trace, struct target *target)
{
	unwind_publisher_drop(trace->unwind, target->id);
	target_unlink(trace, target);
	target_free(trace, target);
}

/*
 * Children that were forked before the target was entered in the table: from then on the kernel
 * follows forks by itself. One that cannot be traced (it may be a shell that has just been
 * replaced, or have ended) is left out.
 */
static void add_children(struct trace *trace, pid_t pid)
{
	_cleanup_free_ pid_t *children = NULL;
	size_t count = 0;

	if (proc_children(pid, &children, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!target_by_pid(trace, children[i]))
			add_process(trace, children[i], true);
	}
}

/*
 * Everything between knowing the pid and its allocations counting. -ESRCH, not logged, when it ends
 * meanwhile.
 */
static int prepare_process(struct trace *trace, struct target *target, bool child)
{
	int err = open_pidfd(trace, target);

	if (err)
		return err;
	target_identify(trace, target);
	log_progress("attaching to %d (%s) ...", target->pid, target->comm);
	err = image_new(target->pid, trace->objects, &target->image);
	if (err)
		return err;
	err = target_attach_image(trace, target);
	if (err < 0)
		return err;
	if (err == 0)
		return child ? -ENOENT : no_allocator(trace, target);
	target_publish(trace, target);
	err = register_target(trace, target);
	if (err)
		return err;
	/* Only from now on does the kernel side notice what is mapped. */
	target->published = 0;
	target_publish(trace, target);
	if (has_ended(target))
		return -ESRCH;
	err = events_settle(trace, target);
	return err > 0 ? -EAGAIN : err;
}

/* Of a target that is not traced after all. */
static void say_why_not(const struct target *target, int err, bool child)
{
	if (child)
		log_debug("child %d (%s) is not traced: %s", target->pid, target->comm,
			  strerror(-err));
	else if (err == -ESRCH)
		log_error("process %d (%s) has ended before it could be traced", target->pid,
			  target->comm);
	else if (err == -EAGAIN)
		log_error(
			"process %d (%s) becomes other programs faster than it can be attached to",
			target->pid, target->comm);
}

static int add_process(struct trace *trace, pid_t pid, bool child)
{
	struct target *target;
	int err = child ? 0 : traceable_check(pid);

	if (err)
		return err;
	for (int tries = 1;; tries++) {
		target = target_new(trace, next_id(trace), pid);
		if (!target)
			return -ENOMEM;
		err = prepare_process(trace, target, child);
		log_progress_end();
		if (!err)
			break;
		if (err != -EAGAIN || tries == ATTACH_TRIES) {
			say_why_not(target, err, child);
			target_discard(trace, target);
			return err;
		}
		log_debug("process %d has become another program meanwhile", pid);
		target_discard(trace, target);
	}
	/* What was mapped while we attached has its record in the queue. */
	target->start_ns = monotonic_ns();
	target_announce(trace, target);
	if (trace->options.children != CHILDREN_NONE)
		add_children(trace, pid);
	return 0;
}

int trace_add_process(struct trace *trace, pid_t pid)
{
	/* Several pids may be given, some of them children of others. */
	return target_by_pid(trace, pid) ? 0 : add_process(trace, pid, false);
}

int trace_add_launched(struct trace *trace, pid_t pid, char *const *paths, size_t path_count)
{
	struct target *target = target_new(trace, next_id(trace), pid);
	int err, attached = 0;

	if (!target)
		return -ENOMEM;
	target->launching = true;
	target->image = image_new_empty(pid, trace->objects);
	target->preloaded = calloc(path_count + 1, sizeof(*target->preloaded));
	err = target->image && target->preloaded ? open_pidfd(trace, target) : -ENOMEM;
	for (size_t i = 0; !err && i < path_count; i++) {
		struct object *object;
		struct known_object *known;

		if (object_cache_open(trace->objects, paths[i], &object))
			continue;
		object_map(object);
		target->preloaded[target->preloaded_count++] = object;
		known = known_object_get(trace, object);
		err = known ? target_attach_object(trace, target, known) : -ENOMEM;
		unwind_publisher_hold(trace->unwind, target->id, object);
		if (err > 0) {
			attached++;
			err = 0;
		}
	}
	if (!err)
		err = target_attach_unwinders(trace, target);
	if (!err)
		err = target_attach_watched(trace, target);
	target->layered = attached > 1;
	if (!err && !attached)
		log_debug("no allocator known before exec; it will be looked for afterwards");
	if (!err)
		err = register_target(trace, target);
	if (err)
		target_discard(trace, target);
	return err;
}

void trace_remove_target(struct trace *trace, struct target *target)
{
	remove_from_table(trace, target);
	target->announced = false; /* nobody is to be told of an end that they have asked for */
	target_end(trace, target, false);
	reader_reclaim(trace);
}
