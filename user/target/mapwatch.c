// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/mapwatch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/cpus.h"
#include "user/kernel/privilege.h"

#define RING_BYTES (128u * 1024) /* about a thousand records for each CPU; a power of two */

#define TIMER_INDEX UINT64_MAX /* epoll data of the timer; CPU rings have their index */

struct ring {
	int fd;
	struct perf_event_mmap_page *meta; /* followed by the data */
};

struct record {
	struct mapwatch_record shown;
	uint64_t sequence; /* keeps the order of reading at equal times */
	char *path;
};

struct mapwatch {
	struct mapwatch_callbacks callbacks;
	int epoll_fd, timer_fd;
	size_t page_size;
	struct ring *rings;
	size_t ring_count;
	struct record *records; /* read from the rings, not handed out yet */
	size_t count, capacity;
	uint64_t sequence;
	uint64_t lost;
	uint64_t last_read_ns; /* when records were found last */
	bool quiet;	       /* woken by the timer, not by the rings */
	bool timer_armed;
	int refused; /* -errno: the kernel gives no records, and the timer goes off regularly */
};

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* what bpf_ktime_get_ns() reads */
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int watch_events(struct mapwatch *watch, int op, int fd, uint64_t index, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = index};

	return epoll_ctl(watch->epoll_fd, op, fd, &event) ? -errno : 0;
}

/* Nothing is told: who asks looks into /proc instead, as after a loss. */
static int mapwatch_without_rings(struct mapwatch *watch, int refused)
{
	const struct itimerspec when = {.it_value.tv_sec = MAPWATCH_LOOK_S,
					.it_interval.tv_sec = MAPWATCH_LOOK_S};

	/* Those of some CPUs may be open: what they tell is not all, and in no order. */
	while (watch->ring_count) {
		struct ring *ring = &watch->rings[--watch->ring_count];

		munmap(ring->meta, watch->page_size + RING_BYTES);
		close(ring->fd);
	}
	watch->refused = refused;
	return timerfd_settime(watch->timer_fd, 0, &when, NULL)
		       ? log_errno(errno, "timer for new mappings")
		       : 0;
}

static int open_ring(struct mapwatch *watch, unsigned cpu)
{
	struct ring *ring = &watch->rings[watch->ring_count];
	void *memory;
	int err;

	ring->fd = open_event((int)cpu);
	if (ring->fd == -ENODEV) /* went offline a moment ago */
		return 0;
	if (ring->fd == -EACCES || ring->fd == -EPERM)
		return ring->fd;
	if (ring->fd < 0)
		return log_errno(ring->fd, "perf_event_open for new mappings on CPU %u", cpu);
	memory = mmap(NULL, watch->page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      ring->fd, 0);
	if (memory == MAP_FAILED) {
		err = log_errno(errno, "ring buffer for new mappings on CPU %u", cpu);
		close(ring->fd);
		return err;
	}
	ring->meta = memory;
	watch->ring_count++;
	err = watch_events(watch, EPOLL_CTL_ADD, ring->fd, watch->ring_count - 1, EPOLLIN);
	return err ? log_errno(err, "epoll for new mappings") : 0;
}

int mapwatch_new(const struct mapwatch_callbacks *callbacks, struct mapwatch **out)
{
	struct mapwatch *watch = calloc(1, sizeof(*watch));
	_cleanup_free_ unsigned *cpus = NULL;
	size_t cpu_count;
	int err;

	if (!watch)
		return log_errno(ENOMEM, "watching for new mappings");
	watch->callbacks = *callbacks;
	watch->page_size = (size_t)sysconf(_SC_PAGESIZE);
	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch->timer_fd = watch->epoll_fd < 0 ? -1 : timer_open(0);
	if (watch->timer_fd < 0) {
		err = watch->epoll_fd < 0 ? log_errno(errno, "watching for new mappings")
					  : watch->timer_fd;
		goto fail;
	}
	err = watch_events(watch, EPOLL_CTL_ADD, watch->timer_fd, TIMER_INDEX, EPOLLIN);
	if (!err)
		err = cpus_online(&cpus, &cpu_count);
	if (!err) {
		watch->rings = calloc(cpu_count, sizeof(*watch->rings));
		err = watch->rings ? 0 : -ENOMEM;
	}
	if (err) {
		log_errno(err, "watching for new mappings");
		goto fail;
	}
	for (size_t i = 0; i < cpu_count; i++) {
		err = open_ring(watch, cpus[i]);
		if (err == -EACCES || err == -EPERM) {
			err = mapwatch_without_rings(watch, err);
			cpu_count = 0;
		}
		if (err)
			goto fail;
	}
	*out = watch;
	return 0;

fail:
	mapwatch_free(watch);
	return err;
}

static void drop_records(struct mapwatch *watch, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(watch->records[i].path);
	watch->count -= count;
	memmove(watch->records, watch->records + count, watch->count * sizeof(*watch->records));
}

void mapwatch_free(struct mapwatch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->ring_count; i++) {
		munmap(watch->rings[i].meta, watch->page_size + RING_BYTES);
		close(watch->rings[i].fd);
	}
	if (watch->count)
		drop_records(watch, watch->count);
	free(watch->records);
	free(watch->rings);
	if (watch->timer_fd >= 0)
		close(watch->timer_fd);
	if (watch->epoll_fd >= 0)
		close(watch->epoll_fd);
	free(watch);
}

int mapwatch_fd(const struct mapwatch *watch)
{
	return watch->epoll_fd;
}

int mapwatch_refused(const struct mapwatch *watch)
{
	return watch->refused;
}

void mapwatch_note(struct mapwatch *watch)
{
	if (watch->refused)
		watch->lost++;
}

uint64_t mapwatch_lost(const struct mapwatch *watch)
{
	return watch->lost;
}

/* The layouts of perf_event_open(2), without the header. */
struct mmap2_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct comm_body {
	uint32_t pid, tid;
};

struct lost_body {
	uint64_t id, lost;
};

static struct record *new_record(struct mapwatch *watch, const void *body, size_t size)
{
	struct record *record;

	if (watch->count == watch->capacity) {
		size_t capacity = watch->capacity ? 2 * watch->capacity : 64;
		struct record *larger = reallocarray(watch->records, capacity, sizeof(*larger));

		if (!larger)
			return NULL;
		watch->records = larger;
		watch->capacity = capacity;
	}
	record = &watch->records[watch->count];
	memset(record, 0, sizeof(*record));
	/* sample_id_all with PERF_SAMPLE_TIME: the time is the record's last word. */
	memcpy(&record->shown.time_ns, (const char *)body + size - 8, 8);
	record->sequence = watch->sequence++;
	return record;
}

/* As maps shows it: anonymous memory has no path, and " (deleted)" is a property. */
static void set_path(struct record *record)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(record->path), suffix = sizeof(deleted) - 1;
	struct mapping *m = &record->shown.mapping;

	if (!strcmp(record->path, "//anon"))
		record->path[0] = '\0';
	/* For memory without a file the kernel's page offset means something else. */
	if (m->ino == 0)
		m->offset = 0;
	if (len > suffix && !strcmp(record->path + len - suffix, deleted)) {
		record->path[len - suffix] = '\0';
		m->deleted = true;
	}
	m->path = record->path;
}

static int take_mmap2(struct mapwatch *watch, const struct mmap2_body *body, size_t size)
{
	struct record *record;
	struct mapping *m;

	if (size < sizeof(*body) + 8 ||
	    !watch->callbacks.wanted(watch->callbacks.ctx, (pid_t)body->pid))
		return 0;
	record = new_record(watch, body, size);
	if (!record)
		return -ENOMEM;
	record->path = strndup(body->filename, size - sizeof(*body) - 8);
	if (!record->path)
		return -ENOMEM;
	record->shown.pid = (pid_t)body->pid;
	record->shown.tid = (pid_t)body->tid;
	m = &record->shown.mapping;
	m->start = body->addr;
	m->end = body->addr + body->len;
	m->offset = body->pgoff;
	m->dev = makedev(body->maj, body->min);
	m->ino = body->ino;
	m->read = body->prot & PROT_READ;
	m->write = body->prot & PROT_WRITE;
	m->exec = body->prot & PROT_EXEC;
	m->shared = body->flags & MAP_SHARED;
	set_path(record);
	watch->count++;
	return 0;
}

static int take_comm(struct mapwatch *watch, const struct comm_body *body, size_t size,
		     uint16_t misc)
{
	struct record *record;

	if (!(misc & PERF_RECORD_MISC_COMM_EXEC) || size < sizeof(*body) + 8 ||
	    !watch->callbacks.wanted(watch->callbacks.ctx, (pid_t)body->pid))
		return 0;
	record = new_record(watch, body, size);
	if (!record)
		return -ENOMEM;
	record->shown.pid = (pid_t)body->pid;
	record->shown.tid = (pid_t)body->tid;
	record->shown.exec = true;
	record->shown.mapping.path = "";
	watch->count++;
	return 0;
}

static int mapwatch_take(struct mapwatch *watch, const struct perf_event_header *header)
{
	const void *body = header + 1;
	size_t size = header->size - sizeof(*header);
	const struct lost_body *lost = body;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return take_mmap2(watch, body, size);
	case PERF_RECORD_COMM:
		return take_comm(watch, body, size, header->misc);
	case PERF_RECORD_LOST:
		if (size >= sizeof(*lost))
			watch->lost += lost->lost;
		return 0;
	default:
		return 0;
	}
}

/*
 * Reads a ring up to its head. The protocol: tools of the kernel, and "MMAP layout" in
 * perf_event_open(2).
 */
static int read_ring(struct mapwatch *watch, struct ring *ring, bool *any)
{
	const char *data = (const char *)ring->meta + watch->page_size;
	uint64_t head = atomic_load_explicit((_Atomic uint64_t *)&ring->meta->data_head,
					     memory_order_acquire);
	uint64_t tail = ring->meta->data_tail;
	/* The only copy: a record may wrap around the ring's end. */
	uint64_t copy[UINT16_MAX / sizeof(uint64_t) + 1];
	int err = 0;

	while (tail != head && !err) {
		const struct perf_event_header *header = (const void *)(data + tail % RING_BYTES);
		size_t size = header->size, at = tail % RING_BYTES;

		/* Records are multiples of 8 bytes; nothing else could be read where it lies. */
		if (size < sizeof(*header) || size > head - tail || size % sizeof(uint64_t))
			break; /* not the kernel's doing; skip what is there */
		if (at + size > RING_BYTES) {
			memcpy(copy, data + at, RING_BYTES - at);
			memcpy((char *)copy + (RING_BYTES - at), data, size - (RING_BYTES - at));
			header = (const void *)copy;
		}
		err = mapwatch_take(watch, header);
		tail += size;
		*any = true;
	}
	if (!err)
		tail = head;
	atomic_store_explicit((_Atomic uint64_t *)&ring->meta->data_tail, tail,
			      memory_order_release);
	return err;
}

static int mapwatch_by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->shown.time_ns != y->shown.time_ns)
		return x->shown.time_ns < y->shown.time_ns ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Hands out what happened before `until`; the rest waits. */
static void mapwatch_deliver(struct mapwatch *watch, uint64_t until)
{
	size_t count = 0;

	if (watch->count == 0)
		return;
	qsort(watch->records, watch->count, sizeof(*watch->records), mapwatch_by_time);
	while (count < watch->count && watch->records[count].shown.time_ns <= until)
		watch->callbacks.record(watch->callbacks.ctx, &watch->records[count++].shown);
	drop_records(watch, count);
}

/* Arming the timer also takes back an expiry that nobody has read. */
static void set_timer(struct mapwatch *watch, bool armed)
{
	struct itimerspec when = {.it_value.tv_nsec = armed ? (long)MAPWATCH_QUIET_NS : 0};

	if (armed || watch->timer_armed)
		timerfd_settime(watch->timer_fd, 0, &when, NULL);
	watch->timer_armed = armed;
}

/* Chooses between being woken by the rings and, while records come thick, by the timer. */
static void set_quiet(struct mapwatch *watch, bool quiet)
{
	set_timer(watch, quiet || watch->count);
	if (quiet == watch->quiet)
		return;
	for (size_t i = 0; i < watch->ring_count; i++)
		watch_events(watch, EPOLL_CTL_MOD, watch->rings[i].fd, i, quiet ? 0 : EPOLLIN);
	watch->quiet = quiet;
}

/* The ring of a CPU that went offline reports a hang-up for ever. */
static void forget_hung_up(struct mapwatch *watch)
{
	struct epoll_event events[16];
	int n = epoll_wait(watch->epoll_fd, events, ARRAY_SIZE(events), 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 != TIMER_INDEX && (events[i].events & (EPOLLHUP | EPOLLERR)))
			epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL,
				  watch->rings[events[i].data.u64].fd, NULL);
	}
}

int mapwatch_drain(struct mapwatch *watch)
{
	bool any = false;
	uint64_t start;
	int err = 0;

	if (watch->refused) {
		uint64_t times;

		if (read(watch->timer_fd, &times, sizeof(times)) > 0)
			watch->lost++;
		return 0;
	}
	forget_hung_up(watch);
	/*
	 * A record that a process caused after `start` may be seen before an earlier one of that
	 * process. The CPU of the earlier one has had its ring read already. Such records wait for
	 * the next round. By then all earlier ones are in the rings, since mapping takes a lock of
	 * the process.
	 */
	for (int round = 0; round < 4 && !err; round++) {
		start = monotonic_ns();
		for (size_t i = 0; i < watch->ring_count && !err; i++)
			err = read_ring(watch, &watch->rings[i], &any);
		mapwatch_deliver(watch, start);
		if (watch->count == 0)
			break;
	}
	start = monotonic_ns();
	set_quiet(watch, any && start - watch->last_read_ns < MAPWATCH_QUIET_NS);
	if (any)
		watch->last_read_ns = start;
	return err ? log_errno(err, "records of new mappings") : 0;
}
