// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program that allocates and frees in several threads, hands blocks from one to another, and
 * looks at every byte of each before it goes (ledger.h). What is done to it meanwhile must not
 * change a byte; the program ends with status 99 when something has. By night (NIGHTLY) its threads
 * know no pause. By day they rest, so that the others of a test have the processors.
 *
 * Commands: go, calm (all is freed but the leaks), leak N, stat; and what makes life hard:
 * fork N, vfork N, clone N, spawn N, crowd N, mob N, mob-ends, handlers, forks-in-handlers,
 * profile, still (no more signals), strict-thread, strict (steps N only from then on), filter,
 * steps N, small, mdwe, limit, fill, dispatch,
 * exec PATH, open PATH, use N, close. Usage: ledger [THREADS]
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "ledger_signals.h"

#define THREADS_MAX 64
#define SHARED	    64
#define LEAKS_MAX   (1u << 20)
#define MOB_MAX	    4096

/* So many steps take half a millisecond, some milliseconds with probes. */
#define STEPS_BEFORE_REST 256
#define REST_US		  1000

/* linux/prctl.h: PR_SET_MDWE from 6.3, PR_SET_SYSCALL_USER_DISPATCH from 5.11 on. */
#define SET_MDWE     65
#define REFUSE_GAINS 1
#define SET_DISPATCH 59

static struct ledger workers[THREADS_MAX];
static int worker_count;
static void *shared[SHARED];
static bool calm = true;
static bool rests;
static int parked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct truth_site *leak_site;
static long leaks_due, leaks_left;
static void *leaks[LEAKS_MAX];
static size_t leak_count;
static sem_t leaked;

/* ---- at work ------------------------------------------------------------------------------ */

SITE static void *ledger_leak(uint32_t how, size_t size)
{
	const struct ledger_functions *f = &ledger_libc;
	void *block;

	switch (how % 4) {
	case 0:
		block = f->calloc(2, size / 2);
		break;
	case 1:
		block = f->realloc(f->malloc(LEDGER_MIN), size);
		break;
	case 2:
		block = f->memalign(64, size);
		break;
	default:
		block = f->malloc(size);
		break;
	}
	NOT_A_TAIL_CALL();
	return block;
}

static void leak_one(struct ledger *l)
{
	size_t size = (LEDGER_MIN + ledger_random(l) % 1500) & ~(size_t)1, at;

	if (__atomic_sub_fetch(&leaks_due, 1, __ATOMIC_RELAXED) < 0)
		return;
	at = __atomic_fetch_add(&leak_count, 1, __ATOMIC_RELAXED);
	if (at >= LEAKS_MAX)
		truth_die("ledger: too many leaks");
	leaks[at] = ledger_fill(ledger_leak(ledger_random(l), size), size, (uint32_t)at);
	truth_count(leak_site, leaks[at], size);
	if (!__atomic_sub_fetch(&leaks_left, 1, __ATOMIC_ACQ_REL))
		sem_post(&leaked);
}

static void hand_over(struct ledger *l)
{
	uint32_t r = ledger_random(l);
	void **slot = &l->slots[r % LEDGER_SLOTS];

	*slot = __atomic_exchange_n(&shared[(r >> 8) % SHARED], *slot, __ATOMIC_ACQ_REL);
}

static void park(struct ledger *l)
{
	ledger_empty(l);
	pthread_mutex_lock(&lock);
	parked++;
	pthread_cond_broadcast(&changed);
	while (calm)
		pthread_cond_wait(&changed, &lock);
	parked--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	struct ledger *l = arg;

	for (;;) {
		if (__atomic_load_n(&calm, __ATOMIC_RELAXED))
			park(l);
		ledger_step(l);
		if (l->steps % 4 == 0)
			hand_over(l);
		if (rests && l->steps % STEPS_BEFORE_REST == 0)
			usleep(REST_US);
		if (__atomic_load_n(&leaks_due, __ATOMIC_RELAXED) > 0)
			leak_one(l);
		if (child_ends) {
			for (int i = 0; i < 300; i++)
				ledger_step(l);
			_exit(0);
		}
	}
	return NULL;
}

static void set_calm(bool wanted)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&calm, wanted, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&changed);
	while (parked != (wanted ? worker_count : 0))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* The workers have emptied their tables, but some of what they had is with others. */
static void all_calm(void)
{
	set_calm(true);
	for (size_t i = 0; i < SHARED; i++) {
		ledger_give(&ledger_libc, shared[i]);
		shared[i] = NULL;
	}
	for (size_t i = 0; i < leak_count; i++)
		ledger_check(leaks[i]);
}

static void leak(long count)
{
	if (calm)
		truth_die("ledger: nobody is at work who could leak");
	if (count <= 0)
		return;
	leaks_left = count;
	__atomic_store_n(&leaks_due, count, __ATOMIC_RELEASE);
	while (sem_wait(&leaked) && errno == EINTR)
		;
}

/* ---- threads ------------------------------------------------------------------------------ */

static sem_t mob_leaves;
static pthread_t mob[MOB_MAX];
static long mob_count;

static void *come_and_go(void *arg)
{
	steps_by(&ledger_libc, 30, 0);
	return arg;
}

static void make_crowd(long count)
{
	pthread_t threads[8];

	for (long i = 0; i < count; i += 8) {
		for (int j = 0; j < 8; j++)
			if (pthread_create(&threads[j], NULL, come_and_go, NULL))
				truth_die("ledger: pthread_create");
		for (int j = 0; j < 8; j++)
			pthread_join(threads[j], NULL);
	}
}

static void *crowd(void *arg)
{
	make_crowd((long)(intptr_t)arg);
	return NULL;
}

static void start_crowd(long count)
{
	if (pthread_create(&mob[0], NULL, crowd, (void *)(intptr_t)count))
		truth_die("ledger: pthread_create");
	mob_count = 1;
}

static void *stand(void *arg)
{
	steps_by(&ledger_libc, 30, 0);
	while (sem_wait(&mob_leaves) && errno == EINTR)
		;
	steps_by(&ledger_libc, 30, 0);
	return arg;
}

static void start_mob(long count)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (mob_count = 0; mob_count < count && mob_count < MOB_MAX; mob_count++)
		if (pthread_create(&mob[mob_count], &small, stand, NULL))
			truth_die("ledger: pthread_create");
}

static void end_mob(void)
{
	for (long i = 0; i < mob_count; i++)
		sem_post(&mob_leaves);
	for (long i = 0; i < mob_count; i++)
		pthread_join(mob[i], NULL);
	while (!sem_trywait(&mob_leaves))
		;
	mob_count = 0;
}

/* ---- seccomp, and what else forbids ------------------------------------------------------- */

/* Every size that it takes later is in the thread's cache then: nothing more is asked of the kernel. */
static void warm_up(void)
{
	void *blocks[64][7];

	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 7; j++)
			blocks[i][j] = malloc(16 + 16 * (size_t)i);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 7; j++)
			free(blocks[i][j]);
}

static void small_steps(uint32_t *seed, long count)
{
	for (long i = 0; i < count; i++) {
		size_t size = LEDGER_MIN + *seed * 37 % 1000;

		ledger_give(&ledger_libc,
			    ledger_fill(ledger_take(&ledger_libc, 7, size), size, (*seed)++));
	}
}

static void *work_strictly(void *arg)
{
	struct ledger *l = arg;
	uint32_t seed = 1;

	warm_up();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		truth_die("ledger: seccomp");
	for (;;) {
		small_steps(&seed, 100);
		__atomic_add_fetch(&l->steps, 100, __ATOMIC_RELAXED);
	}
	return NULL;
}

static struct ledger strict;

static void start_strict_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work_strictly, &strict))
		truth_die("ledger: pthread_create");
}

/* Of the whole process, and it is meant to be killed for it: who maps memory in it is found out. */
static void forbid_memory_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		truth_die("ledger: seccomp");
}

/* As much as it has now, and half of what a gate needs. */
static void limit_memory(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;

	if (!file || fscanf(file, "%lu", &pages) != 1)
		truth_die("ledger: statm");
	fclose(file);
	if (getrlimit(RLIMIT_AS, &limit))
		truth_die("ledger: getrlimit");
	limit.rlim_cur = pages * 4096 + (64 << 10);
	if (setrlimit(RLIMIT_AS, &limit))
		truth_die("ledger: setrlimit");
}

/* What a jump can reach, and more; what the stack may grow into stays free. */
#define REACH	   ((uintptr_t)5 << 29)
#define STACK_ROOM ((uintptr_t)1 << 20)
#define TOP	   0x7ffffffff000ul
#define GAPS_MAX   256

static uintptr_t clamp(uintptr_t address, uintptr_t low, uintptr_t high)
{
	return address < low ? low : address > high ? high : address;
}

struct gap {
	uintptr_t low, high;
};

/* Between the mappings from `from` to `to`. */
static size_t find_gaps(uintptr_t from, uintptr_t to, struct gap gaps[GAPS_MAX])
{
	FILE *file = fopen("/proc/self/maps", "re");
	uintptr_t start, end;
	char line[4400];
	size_t count = 0;

	if (!file)
		truth_die("ledger: maps");
	while (from < to && count < GAPS_MAX) {
		bool more = fgets(line, sizeof(line), file) != NULL;

		if (!more)
			start = end = to;
		else if (sscanf(line, "%lx-%lx", &start, &end) != 2)
			truth_die("ledger: maps");
		if (more && strstr(line, "[stack]"))
			start -= STACK_ROOM;
		gaps[count] = (struct gap){from, clamp(start, from, to)};
		count += gaps[count].high > from;
		from = clamp(end, from, to);
	}
	fclose(file);
	return count;
}

/* Nothing is free any more in the allocator's neighbourhood. */
static void fill_space(void)
{
	uintptr_t here = (uintptr_t)malloc_usable_size & ~(uintptr_t)4095,
		  to = clamp(here + REACH, 0, TOP);
	struct gap gaps[GAPS_MAX];
	size_t count = find_gaps(here - REACH, to, gaps);

	for (size_t i = 0; i < count; i++)
		if (mmap((void *)gaps[i].low, gaps[i].high - gaps[i].low, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) != (void *)gaps[i].low)
			truth_die("ledger: the space between mappings cannot be filled");
}

/* This thread's system calls would be signals if the byte said so: what Wine does. */
static void dispatch_calls(void)
{
	static char let_through;

	if (prctl(SET_DISPATCH, 1, 0, 0, &let_through))
		truth_die("ledger: no syscall user dispatch here");
}

/* ---- a library with an allocator ---------------------------------------------------------- */

static void *plugin;
static void *taken_place;
static struct ledger_functions plugin_functions;

static void open_plugin(const char *path)
{
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		truth_die(dlerror());
	plugin_functions = (struct ledger_functions){
		.malloc = (void *(*)(size_t))dlsym(plugin, "malloc"),
		.calloc = (void *(*)(size_t, size_t))dlsym(plugin, "calloc"),
		.realloc = (void *(*)(void *, size_t))dlsym(plugin, "realloc"),
		.free = (void (*)(void *))dlsym(plugin, "free"),
	};
}

/* What is opened next comes to lie elsewhere: something stands where it was. */
static void close_plugin(void)
{
	uintptr_t at = (uintptr_t)plugin_functions.malloc & ~(uintptr_t)4095;

	dlclose(plugin);
	taken_place = mmap((void *)at, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (taken_place != (void *)at)
		truth_die("ledger: the library is there still");
}

/* ---- commands ----------------------------------------------------------------------------- */

static bool obey_number(const char *command)
{
	static const struct {
		const char *name;
		void (*fn)(long count);
	} table[] = {
		{"leak", leak},		{"vfork", make_vforks}, {"clone", make_clones},
		{"spawn", make_spawns}, {"crowd", start_crowd}, {"mob", start_mob},
	};
	const char *number = strchr(command, ' ');

	for (size_t i = 0; number && i < sizeof(table) / sizeof(table[0]); i++) {
		size_t length = strlen(table[i].name);

		if ((size_t)(number - command) == length &&
		    !strncmp(command, table[i].name, length)) {
			table[i].fn(strtol(number, NULL, 10));
			return true;
		}
	}
	if (!strncmp(command, "fork ", 5))
		make_forks(atol(command + 5), 3);
	else if (!strncmp(command, "steps ", 6))
		small_steps(&(uint32_t){1}, atol(command + 6));
	else if (!strncmp(command, "use ", 4))
		steps_by(&plugin_functions, atol(command + 4), 0);
	else if (!strncmp(command, "open ", 5))
		open_plugin(command + 5);
	else if (!strncmp(command, "exec ", 5))
		truth_die(execl(command + 5, command + 5, NULL) ? "ledger: exec" : "");
	else
		return false;
	return true;
}

static void start_handlers(void)
{
	set_timer(ITIMER_REAL, SIGALRM, on_allocate, 300);
}

static void start_forks_in_handlers(void)
{
	set_timer(ITIMER_REAL, SIGALRM, on_fork, 2000);
}

static void be_still(void)
{
	set_timer(ITIMER_REAL, SIGALRM, NULL, 0);
	set_timer(ITIMER_PROF, SIGPROF, NULL, 0);
}

/* Serves by itself from then on: its process id is nothing that it could ask for. */
static void be_strict(void)
{
	static const char known[] = "{\"phase\":\"strict\",\"ok\":1}\n";
	static char answer[64];
	const char *command;
	uint32_t seed = 1;

	warm_up();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		truth_die("ledger: seccomp");
	truth_write(known, sizeof(known) - 1);
	while ((command = truth_command())) {
		int length =
			snprintf(answer, sizeof(answer), "{\"phase\":\"%s\",\"ok\":1}\n", command);

		small_steps(&seed, atol(command + strlen("steps ")));
		truth_write(answer, (size_t)length);
	}
}

/* No block that the kernel is asked for. */
static void be_small(void)
{
	for (int i = 0; i < worker_count; i++)
		workers[i].largest = 0;
}

static void refuse_gains(void)
{
	if (prctl(SET_MDWE, REFUSE_GAINS, 0, 0, 0))
		truth_die("ledger: no PR_SET_MDWE here");
}

static void at_work(void)
{
	set_calm(false);
}

static void stat_only(void)
{
}

static const char *obey(const char *command)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} table[] = {
		{"go", at_work},
		{"calm", all_calm},
		{"stat", stat_only},
		{"mob-ends", end_mob},
		{"handlers", start_handlers},
		{"forks-in-handlers", start_forks_in_handlers},
		{"profile", start_profile},
		{"still", be_still},
		{"strict-thread", start_strict_thread},
		{"strict", be_strict},
		{"filter", forbid_memory_files},
		{"mdwe", refuse_gains},
		{"limit", limit_memory},
		{"fill", fill_space},
		{"dispatch", dispatch_calls},
		{"close", close_plugin},
		{"small", be_small},
	};
	static char extra[THREADS_MAX * 24 + 100];
	bool known = obey_number(command);
	int length;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]) && !known; i++) {
		known = !strcmp(command, table[i].name);
		if (known)
			table[i].fn();
	}
	length = snprintf(extra, sizeof(extra), ",\"handled\":%llu,\"strict\":%llu,\"steps\":[",
			  (unsigned long long)__atomic_load_n(&handled, __ATOMIC_RELAXED),
			  (unsigned long long)__atomic_load_n(&strict.steps, __ATOMIC_RELAXED));
	for (int i = 0; i < worker_count; i++)
		length += snprintf(
			extra + length, sizeof(extra) - (size_t)length, "%s%llu", i ? "," : "",
			(unsigned long long)__atomic_load_n(&workers[i].steps, __ATOMIC_RELAXED));
	snprintf(extra + length, sizeof(extra) - (size_t)length, "]");
	return known ? extra : NULL;
}

int main(int argc, char **argv)
{
	worker_count = argc > 1 ? atoi(argv[1]) : 1;
	leak_site = truth_site("ledger_leak");
	rests = !getenv("NIGHTLY");
	sem_init(&leaked, 0, 0);
	sem_init(&mob_leaves, 0, 0);
	for (int i = 0; i < worker_count && i < THREADS_MAX; i++) {
		pthread_t thread;

		workers[i] = (struct ledger){.functions = &ledger_libc,
					     .random = 0x2545f4914f6cdd1du * (unsigned)(i + 1),
					     .largest = 1 << 20};
		if (pthread_create(&thread, NULL, work, &workers[i]))
			truth_die("ledger: pthread_create");
	}
	set_calm(true);
	return truth_serve(obey);
}
