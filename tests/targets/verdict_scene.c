// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a process may be in the middle of when a verdict stops it: waits of every kind, threads that
 * come and go, a vfork, an exec. "settled" tells what became of the waits.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "verdict_thread.h"
#include "waits.h"

#define N    64
#define SIZE 136

VERDICT_SITE(scene_lost)
VERDICT_SITE(scene_held)
VERDICT_SITE(scene_storm)
VERDICT_SITE(scene_moved)

ROOT void *scene_table[N];

static void allocate(void)
{
	for (int i = 0; i < N; i++) {
		scene_lost(SIZE);
		scene_table[i] = scene_held(SIZE);
	}
	EXPECT(scene_lost, DEFINITE, N, SIZE);
	EXPECT(scene_held, REACHABLE, N, SIZE);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

/* Without a timeout but where the case needs one; more are in waits.h. */

static int never[2], never_socket[2];
static int ipc_queue;

static long wait_read(void)
{
	char c;

	return read(never[0], &c, 1);
}

static long wait_nanosleep(void)
{
	struct timespec time = {.tv_sec = 3600};

	return nanosleep(&time, NULL);
}

static long wait_futex(void)
{
	int word = 0;

	return syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, NULL, NULL, 0);
}

static long wait_poll(void)
{
	struct pollfd fd = {.fd = never[0], .events = POLLIN};

	return poll(&fd, 1, -1);
}

static long wait_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(never[0], &set);
	return select(never[0] + 1, &set, NULL, NULL, NULL);
}

static long wait_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	return msgrcv(ipc_queue, &message, sizeof(message.text), 0, 0);
}

static long wait_recv(void)
{
	char c;

	return recv(never_socket[0], &c, 1, 0);
}

static struct wait {
	const char *name;
	long (*run)(void);
	int tid, error, done;
} waits[] = {
	{"read", wait_read, 0, 0, 0},
	{"nanosleep", wait_nanosleep, 0, 0, 0},
	{"futex", wait_futex, 0, 0, 0},
	{"poll", wait_poll, 0, 0, 0},
	{"select", wait_select, 0, 0, 0},
	{"msgrcv", wait_msgrcv, 0, 0, 0},
	{"recv", wait_recv, 0, 0, 0},
	{"epoll_wait", wait_epoll, 0, 0, 0},
	{"semop", wait_semop, 0, 0, 0},
	{"sigtimedwait", wait_sigtimedwait, 0, 0, 0},
	{"recv_timeout", wait_recv_timeout, 0, 0, 0},
};

#define WAITS (sizeof(waits) / sizeof(*waits))

static void *waiter(void *data)
{
	struct wait *w = data;

	__atomic_store_n(&w->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	w->error = w->run() < 0 ? errno : 0;
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int settled(const struct wait *w)
{
	int tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE) ||
	       (tid && thread_state(getpid(), tid) == 'S');
}

/* Looks until every wait sleeps or is over; then says which. */
static void settle(void)
{
	size_t length = 0;

	for (size_t i = 0; i < WAITS; i++)
		while (!settled(&waits[i]))
			usleep(1000);
	for (size_t i = 0; i < WAITS; i++) {
		const char *state = "waits";

		if (__atomic_load_n(&waits[i].done, __ATOMIC_ACQUIRE))
			state = waits[i].error == EINTR ? "EINTR" : "returned";
		length += (size_t)snprintf(verdict_extra + length, sizeof(verdict_extra) - length,
					   "%s\"%s\":\"%s\"", i ? "," : ",\"waits\":{",
					   waits[i].name, state);
	}
	strcat(verdict_extra, "}");
}

static void wait_for_all(void)
{
	pthread_t thread;

	/* System V objects outlive their process, but not their namespace. */
	if (unshare(CLONE_NEWIPC))
		truth_die("unshare");
	ipc_queue = msgget(IPC_PRIVATE, 0600);
	if (pipe(never) || socketpair(AF_UNIX, SOCK_STREAM, 0, never_socket) || ipc_queue < 0)
		truth_die("pipe, socketpair, msgget");
	for (size_t i = 0; i < WAITS; i++)
		/* Some end before the others, and one that nobody joins is a leak. */
		if (pthread_create(&thread, NULL, waiter, &waits[i]) || pthread_detach(thread))
			truth_die("pthread_create");
	settle();
}

/* ---- Threads that come and go ---------------------------------------------------------------- */

#define STORMS 4

static int storm_over;
static pthread_t storms[STORMS];

static void *one_of_many(void *data)
{
	return data;
}

static void *storm(void *data)
{
	pthread_t thread;

	while (!__atomic_load_n(&storm_over, __ATOMIC_ACQUIRE))
		if (!pthread_create(&thread, NULL, one_of_many, NULL))
			pthread_join(thread, NULL);
	return data;
}

static void storm_begins(void)
{
	storm_over = 0;
	for (int i = 0; i < N; i++)
		scene_storm(SIZE);
	EXPECT(scene_storm, DEFINITE, N, SIZE);
	for (int i = 0; i < STORMS; i++)
		if (pthread_create(&storms[i], NULL, storm, NULL))
			truth_die("pthread_create");
}

static void storm_ends(void)
{
	__atomic_store_n(&storm_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < STORMS; i++)
		pthread_join(storms[i], NULL);
}

/* ---- A thread that wakes up again and again -------------------------------------------------- */

#define FAR_AREA (64 << 20)

ROOT void *near_table[N];
static void **far_table;

/*
 * Whoever reads one table before it is awake and the other one afterwards may find the blocks in
 * neither.
 */
static void *restless(void *data)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	for (;;) {
		void **from = near_table[0] ? near_table : far_table;
		void **to = near_table[0] ? far_table : near_table;

		epoll_wait(fd, &event, 1, 10);
		for (int i = 0; i < N; i++) {
			*(void *volatile *)&to[i] = from[i];
			*(void *volatile *)&from[i] = NULL;
		}
	}
	return data;
}

/* The far table lies at the end of memory that takes a while to be read. */
static void restless_begins(void)
{
	pthread_t thread;
	char *area =
		mmap(NULL, FAR_AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		truth_die("mmap");
	for (size_t at = 0; at < FAR_AREA; at += 4096)
		area[at] = 1;
	far_table = (void **)(area + FAR_AREA - 4096);
	*far_table = NULL;
	for (int i = 0; i < N; i++)
		near_table[i] = scene_moved(SIZE);
	EXPECT(scene_moved, REACHABLE, N, SIZE);
	if (pthread_create(&thread, NULL, restless, NULL))
		truth_die("pthread_create");
}

/* ---- vfork, exec, memory --------------------------------------------------------------------- */

static int release_vfork[2];
static pthread_t vforker;
static int vforking;

/* Between its vfork and its child's end a thread answers to nothing: state D. */
static void *forks_and_waits(void *data)
{
	char c;
	int status;
	pid_t child;

	__atomic_store_n(&vforking, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	child = vfork();
	if (child == 0) {
		while (read(release_vfork[0], &c, 1) < 0)
			;
		_exit(0);
	}
	waitpid(child, &status, 0);
	return data;
}

static void vfork_begins(void)
{
	int tid;

	if (pipe(release_vfork) || pthread_create(&vforker, NULL, forks_and_waits, NULL))
		truth_die("vfork");
	do {
		usleep(1000);
		tid = __atomic_load_n(&vforking, __ATOMIC_ACQUIRE);
	} while (!tid || thread_state(getpid(), tid) != 'D');
}

static void vfork_ends(void)
{
	if (write(release_vfork[1], "", 1) != 1)
		truth_die("write");
	pthread_join(vforker, NULL);
}

/* Says "ready" again, as another program. */
static void exec_again(void)
{
	char *const arguments[] = {(char *)"verdict_scene", NULL};

	execv("/proc/self/exe", arguments);
	truth_die("execv");
}

/* Orphans of its children are its own from now on, and it waits for none. */
static void adopts(void)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		truth_die("prctl");
}

#define AREA (64 << 20)

/* Memory that has no pages yet: reading it from outside would give it some. */
static void untouched(void)
{
	int fd = memfd_create("untouched", MFD_CLOEXEC);
	int flags[] = {MAP_SHARED | MAP_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED,
		       MAP_PRIVATE};

	if (fd < 0 || ftruncate(fd, AREA))
		truth_die("memfd_create");
	for (int i = 0; i < 4; i++) {
		char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, flags[i], i < 2 ? -1 : fd, 0);

		if (area == MAP_FAILED)
			truth_die("mmap");
		area[AREA / 2] = 1;
	}
}

static const struct verdict_case cases[] = {
	{"allocate", allocate, 0},     {"wait", wait_for_all, 1},
	{"settled", settle, 1},	       {"storm", storm_begins, 1},
	{"storm-ends", storm_ends, 1}, {"vfork", vfork_begins, 1},
	{"vfork-ends", vfork_ends, 1}, {"exec", exec_again, 1},
	{"untouched", untouched, 1},   {"restless", restless_begins, 1},
	{"adopt", adopts, 1},	       {NULL, NULL, 0},
};

int main(void)
{
	return verdict_serve(cases);
}
