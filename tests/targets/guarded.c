// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does with blocks what it should not, each kind in a function of its own, and looks right afterwards whether all is
 * as it would be without anybody looking on. For --guard=1: a block that is to be guarded lies at one end of a
 * page, and is asked for until it does. "bugs" does all of them, "right" nothing wrong, with forks amid threads; "share" keeps
 * blocks; "move" writes over the end of one; "late" frees one, and reads it when it comes again; "lock" locks its memory; "become NAME" executes that, which lies beside it; after "allow" it has a seccomp filter that lets the guards' madvise pass, after "forbid" one that kills for it.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "guard_pool.h"
#include "truth.h"

#define SIZE  96 /* a multiple of 16: it ends at the end of its page */
#define SLACK 90
#define PAGE  4096
#define TRIES 4096

static bool failed;

static void must(bool right, const char *what)
{
	if (right)
		return;
	failed = true;
	truth_write(what, strlen(what));
	truth_write("\n", 1);
}

SITE static char *get(size_t size)
{
	char *p = truth_count(THIS_SITE(), malloc(size), size);

	NOT_A_TAIL_CALL();
	return p;
}

SITE static void put(char *p, size_t size)
{
	truth_uncount(truth_site("get"), size);
	free(p);
	NOT_A_TAIL_CALL();
}

static bool is_left(const char *p)
{
	return !((uintptr_t)p % PAGE);
}

static bool is_right(const char *p, size_t size)
{
	return !(((uintptr_t)p + (size + 15) / 16 * 16) % PAGE);
}

/* One that lies at that end of its page, filled with letters. */
static char *get_at(size_t size, bool left)
{
	for (int i = 0; i < TRIES; i++) {
		char *p = get(size);

		if (left ? is_left(p) : is_right(p, size)) {
			for (size_t at = 0; at < size; at++)
				p[at] = (char)('A' + at % 26);
			return p;
		}
		put(p, size);
	}
	truth_die("no block was guarded");
	return NULL;
}

static bool is_whole(const volatile char *p, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		if (p[at] != (char)('A' + at % 26))
			return false;
	}
	return true;
}

SITE static char load(const volatile char *p)
{
	char c = *p;

	NOT_A_TAIL_CALL();
	return c;
}

SITE static void store(volatile char *p)
{
	*p = 'z';
	NOT_A_TAIL_CALL();
}

SITE static void put_again(char *p)
{
	free(p);
	NOT_A_TAIL_CALL();
}

SITE static char *grow_freed(char *p)
{
	char *q = realloc(p, 50);

	NOT_A_TAIL_CALL();
	return q;
}

SITE static ssize_t fill(int fd, char *p, size_t size)
{
	ssize_t n = read(fd, p, size);

	NOT_A_TAIL_CALL();
	return n;
}

SITE static ssize_t drain(int fd, const char *p, size_t size)
{
	ssize_t n = write(fd, p, size);

	NOT_A_TAIL_CALL();
	return n;
}

/* ---- each bug ----------------------------------------------------------------------------- */

SITE static void overflow_read(void)
{
	char *p = get_at(SIZE, false);

	load(p + SIZE);
	must(is_whole(p, SIZE), "overflow_read");
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void overflow_write(void)
{
	char *p = get_at(SIZE, false);

	store(p + SIZE);
	must(is_whole(p, SIZE) && load(p + SIZE) == 'z', "overflow_write");
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void overflow_far(void)
{
	char *p = get_at(SIZE, false);

	store(p + SIZE + PAGE);
	must(is_whole(p, SIZE), "overflow_far");
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void underflow(void)
{
	char *p = get_at(SIZE, true);

	store(p - 5);
	must(is_whole(p, SIZE), "underflow");
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void slack(void)
{
	char *p = get_at(SLACK, false);

	store(p + SLACK + 2);
	must(is_whole(p, SLACK), "slack");
	put(p, SLACK);
	NOT_A_TAIL_CALL();
}

/* One write that changes the bytes next to the block, and touches the page behind these. */
SITE static void move_over(void)
{
	static const char text[SLACK] = "moved";
	volatile size_t size = SLACK;
	char *p = get_at(SLACK, false);

	memmove(p + 10, text, size);
	must(is_whole(p, 10) && !strcmp(p + 10, text), "move_over");
	put(p, SLACK);
	NOT_A_TAIL_CALL();
}

SITE static void freed_read(void)
{
	char *p = get_at(SIZE, false);

	put(p, SIZE);
	NOT_A_TAIL_CALL();
	must(load(p + 4) == 'E' && is_whole(p, SIZE), "freed_read");
}

/* The first call frees one, the next one reads it. */
SITE static void late(void)
{
	static char *p;

	if (p) {
		must(load(p + 5) == 'F' && is_whole(p, SIZE), "late");
		p = NULL;
		return;
	}
	p = get_at(SIZE, false);
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void freed_write(void)
{
	char *p = get_at(SIZE, false);

	put(p, SIZE);
	NOT_A_TAIL_CALL();
	store(p + 7);
	must(load(p + 7) == 'z' && load(p + 8) == 'I', "freed_write");
}

/* The page is read first, and then written to: it has been read. */
SITE static void freed_both(void)
{
	char *p = get_at(SIZE, false);

	put(p, SIZE);
	NOT_A_TAIL_CALL();
	must(load(p + 9) == 'J', "freed_both");
	store(p + 9);
	NOT_A_TAIL_CALL();
}

static void *in_thread(void *p)
{
	pthread_setname_np(pthread_self(), "other");
	load((char *)p + 11);
	return NULL;
}

SITE static void freed_elsewhere(void)
{
	char *p = get_at(SIZE, false);
	pthread_t thread;

	put(p, SIZE);
	NOT_A_TAIL_CALL();
	must(!pthread_create(&thread, NULL, in_thread, p), "pthread_create");
	pthread_join(thread, NULL);
}

SITE static void double_free(void)
{
	char *p = get_at(SIZE, false);

	put(p, SIZE);
	put_again(p);
	put_again(p);
	NOT_A_TAIL_CALL();
}

SITE static void interior_free(void)
{
	char *p = get_at(SIZE, false);

	put_again(p + 16);
	must(is_whole(p, SIZE), "interior_free");
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void realloc_freed(void)
{
	char *p = get_at(SIZE, false), *q;

	put(p, SIZE);
	NOT_A_TAIL_CALL();
	q = grow_freed(p);
	must(q && is_whole(q, 50), "realloc_freed");
	free(q);
	NOT_A_TAIL_CALL();
}

SITE static void read_over(void)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *p = get_at(SIZE, false);

	must(fill(fd, p, 300) == 300, "read_over");
	close(fd);
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

SITE static void write_over(void)
{
	int ends[2];
	char *p = get_at(SIZE, false);

	must(!pipe2(ends, O_CLOEXEC) && drain(ends[1], p, 300) == 300, "write_over");
	close(ends[0]);
	close(ends[1]);
	put(p, SIZE);
	NOT_A_TAIL_CALL();
}

static void bugs(void)
{
	overflow_read();
	overflow_write();
	overflow_far();
	underflow();
	slack();
	freed_read();
	freed_write();
	freed_both();
	freed_elsewhere();
	double_free();
	interior_free();
	realloc_freed();
	read_over();
	write_over();
}

/* ---- nothing wrong ------------------------------------------------------------------------ */

#define THREADS 2
#define FORKS	150
#define ROUNDS	20000

static bool stop;

static void use(size_t size)
{
	char *p = get(size), *q;

	memset(p, 'a', size);
	q = truth_count(truth_site("get"), realloc(p, size + 10), size + 10);
	truth_uncount(truth_site("get"), size);
	must(q[0] == 'a' && q[size - 1] == 'a', "use");
	q[size + 9] = 'b';
	put(q, size + 10);
}

static void *busy(void *unused)
{
	(void)unused;
	for (size_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		use(16 + i % 300);
	return NULL;
}

/* Children use and free what they inherit. */
static void right(void)
{
	pthread_t threads[THREADS];
	char *kept[16];

	stop = false;
	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, busy, NULL), "pthread_create");
	for (int i = 0; i < 16; i++)
		kept[i] = get(100);
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			for (int j = 0; j < 16; j++) {
				memset(kept[j], j, 100);
				free(kept[j]);
			}
			_exit(0);
		}
		memset(kept[i % 16], i, 100);
		must(waitpid(child, &status, 0) == child && !status, "a child");
	}
	for (int i = 0; i < ROUNDS; i++)
		use(16 + (size_t)i % 500);
	for (int i = 0; i < 16; i++)
		put(kept[i], 100);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- blocks that live for ever ------------------------------------------------------------ */

#define HOARD	   300
#define HOARD_SIZE 112

static char *hoard[HOARD];

static bool is_guarded(const char *p, size_t size)
{
	return is_left(p) || is_right(p, size);
}

SITE static void fill_hoard(void)
{
	for (int i = 0; i < HOARD; i++)
		hoard[i] = get(HOARD_SIZE);
	NOT_A_TAIL_CALL();
}

SITE static char *get_spare(void)
{
	char *p = get(HOARD_SIZE);

	NOT_A_TAIL_CALL();
	return p;
}

/* Blocks that stay, until their place gets no more guards; of the same size at another place there are some. */
static void share(void)
{
	int guarded = 0;
	char *spare;

	fill_hoard();
	for (int i = 0; i < HOARD; i++)
		guarded += is_guarded(hoard[i], HOARD_SIZE);
	must(guarded > 20 && guarded < HOARD / 2, "share");
	must(!is_guarded(hoard[HOARD - 1], HOARD_SIZE), "the last");
	spare = get_spare();
	must(is_guarded(spare, HOARD_SIZE), "the spare one");
	put(spare, HOARD_SIZE);
	for (int i = 0; i < HOARD; i++)
		put(hoard[i], HOARD_SIZE);
}

/* ---- while a block is being freed --------------------------------------------------------- */

static char *amid_block;

/* The state of the block's place, as if a thread were at it. */
static void set_state(const char *block, uint8_t state)
{
	uintptr_t end, code = mapping_of(CODE_MAPPING, &end), pool = mapping_of(POOL_MAPPING, &end);
	struct guard_meta *metas = (struct guard_meta *)(code + GUARD_META);

	must(code && pool, "no guards");
	__atomic_store_n(&metas[((uintptr_t)block - pool) >> GUARD_PLACE_BITS].state, state,
			 __ATOMIC_SEQ_CST);
}

static void amid(void)
{
	amid_block = get_at(SIZE, false);
	set_state(amid_block, GUARD_BUSY);
	load(amid_block + SIZE);
	set_state(amid_block, GUARD_LIVE);
	put(amid_block, SIZE);
}

/* The next block there. */
static void amid_again(void)
{
	for (int i = 0; i < TRIES; i++) {
		char *p = get(SIZE);

		if (p == amid_block)
			load(p + SIZE);
		put(p, SIZE);
		if (p == amid_block)
			return;
	}
	must(false, "no block at that place");
}

/* A madvise of so many bytes or less is the process's end. (Threads that end make one of nearly all their stack.) */
static void filter(uint32_t size)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, size, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		     !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
	     "seccomp");
}

/* One that allocates and frees until it is ended. */
static const char *child(void)
{
	static char text[32];
	pid_t pid = fork();

	while (!pid) {
		char *volatile p = malloc(SIZE);

		free(p);
		usleep(1000);
	}
	snprintf(text, sizeof(text), ",\"child\":%d", (int)pid);
	return text;
}

static const char *program;

static void become(const char *name)
{
	const char *end = strrchr(program, '/');
	char path[512];

	snprintf(path, sizeof(path), "%.*s/%s", end ? (int)(end - program) : 0, program, name);
	execl(path, path, (char *)NULL);
	truth_die("guarded: exec");
}

static const char *obey(const char *command)
{
	char name[16];

	failed = false;
	if (sscanf(command, "become %15s", name) == 1)
		become(name);
	else if (!strcmp(command, "bugs"))
		bugs();
	else if (!strcmp(command, "again"))
		overflow_read();
	else if (!strcmp(command, "move"))
		move_over();
	else if (!strcmp(command, "late"))
		late();
	else if (!strcmp(command, "right"))
		right();
	else if (!strcmp(command, "share"))
		share();
	else if (!strcmp(command, "amid"))
		amid();
	else if (!strcmp(command, "amid_again"))
		amid_again();
	else if (!strcmp(command, "lock"))
		must(!mlockall(MCL_CURRENT), "mlockall");
	else if (!strcmp(command, "allow"))
		filter(100);
	else if (!strcmp(command, "forbid"))
		filter(GUARD_PLACE);
	else if (strcmp(command, "child") != 0)
		return NULL;
	if (!strcmp(command, "child"))
		return child();
	return failed ? ",\"failed\":true" : ",\"failed\":false";
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc < 2 || strcmp(argv[1], "bugs") != 0)
		return truth_serve(obey);
	bugs();
	return failed;
}
