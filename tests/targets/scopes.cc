// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls that leave memory behind, or do not, with books for each function (and tag): how often it
 * was called, what was allocated in its calls, what they had kept when they ended, and what of that
 * is live. They end by returns, exceptions, longjmp, jumps to other functions and the thread's end,
 * and coroutines interleave them.
 */
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOIPA __attribute__((noipa, used))
#define BOOKS 64

struct amount {
	uint64_t bytes, count;
};

struct book {
	const char *name;
	uint64_t calls, left;
	struct amount alloc, kept, live;
};

static struct book books[BOOKS];
static unsigned book_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(struct amount *to, int64_t bytes, int64_t count)
{
	to->bytes += (uint64_t)bytes;
	to->count += (uint64_t)count;
}

/* A call of `name` has ended: what it had allocated, and kept. */
static void entered(const char *name, size_t alloc_bytes, size_t alloc_count, size_t kept_bytes,
		    size_t kept_count, bool left = false)
{
	struct book *book = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < book_count; i++)
		if (!strcmp(books[i].name, name))
			book = &books[i];
	if (!book) {
		if (book_count == BOOKS)
			truth_die("too many books");
		book = &books[book_count++];
		book->name = name;
	}
	book->calls++;
	book->left += left;
	add(&book->alloc, (int64_t)alloc_bytes, (int64_t)alloc_count);
	add(&book->kept, (int64_t)kept_bytes, (int64_t)kept_count);
	add(&book->live, (int64_t)kept_bytes, (int64_t)kept_count);
	pthread_mutex_unlock(&lock);
}

/* A block that a call of `name` had kept has been freed. */
static void freed_later(const char *name, size_t bytes)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < book_count; i++)
		if (!strcmp(books[i].name, name))
			add(&books[i].live, -(int64_t)bytes, -1);
	pthread_mutex_unlock(&lock);
}

#define KEPT_MAX 100000
static void *kept_blocks[KEPT_MAX];
static unsigned kept_count; /* with what follows */

static void *keep(void *block)
{
	unsigned at = __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED);

	if (at >= KEPT_MAX)
		truth_die("too many blocks");
	kept_blocks[at] = block;
	return block;
}

extern "C" {

NOIPA void *site(size_t size)
{
	void *block = malloc(size);

	NOT_A_TAIL_CALL();
	return block;
}

/* ---- plain ---- */

/* Most calls keep nothing, one in four 512 bytes. */
NOIPA void handle_request(unsigned n)
{
	void *scratch = site(300), *more = site(40);

	if (n % 4 == 0)
		keep(site(512));
	free(more);
	free(scratch);
	NOT_A_TAIL_CALL();
}

static void requests(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		handle_request(i);
		entered("handle_request", 340 + (i % 4 ? 0 : 512), 2 + !(i % 4), i % 4 ? 0 : 512,
			!(i % 4));
	}
}

/* Returns its block, which is freed later: kept, and not live. Frees one that it did not allocate. */
NOIPA void *handle_later(void *strangers)
{
	void *block = site(128);

	free(strangers);
	NOT_A_TAIL_CALL();
	return block;
}

static void later(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *block = handle_later(site(77));

		entered("handle_later", 128, 1, 128, 1);
		if (i % 2) {
			free(block);
			freed_later("handle_later", 128);
		} else {
			keep(block);
		}
	}
}

/* realloc moves and resizes what is kept. */
NOIPA void handle_resize(void)
{
	char *block = (char *)site(10);

	block = (char *)realloc(block, 5000);
	keep(realloc(block, 70000));
	NOT_A_TAIL_CALL();
}

/* ---- one in the other ---- */

NOIPA void inner(void)
{
	keep(site(20));
	NOT_A_TAIL_CALL();
}

/* Frees in itself what the call inside had kept, every second time. */
NOIPA void outer(unsigned n)
{
	void *own = site(1000);

	inner();
	keep(site(10));
	if (n % 2)
		free(kept_blocks[--kept_count - 1]),
			kept_blocks[kept_count - 1] = kept_blocks[kept_count];
	free(own);
	NOT_A_TAIL_CALL();
}

static void nested(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		outer(i);
		entered("inner", 20, 1, 20, 1);
		if (i % 2)
			freed_later("inner", 20);
		entered("outer", 1030, 3, i % 2 ? 10 : 30, i % 2 ? 1 : 2);
	}
}

NOIPA void recursive(int depth)
{
	keep(site(100));
	if (depth > 1)
		recursive(depth - 1);
	NOT_A_TAIL_CALL();
}

/* Its sums are those of the outermost call; all of them are calls. */
static void recurse(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		recursive(5);
		for (int level = 0; level < 5; level++)
			entered("recursive", 100, 1, 100, 1);
	}
}

/* ---- ends without a return ---- */

static jmp_buf back;

NOIPA void jumper(void)
{
	keep(site(64));
	longjmp(back, 1);
}

NOIPA void jumps(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++) {
		if (!setjmp(back))
			jumper();
		/* By nobody's call, at the place where the other one was. */
		keep(site(99));
		entered("jumper", 64, 1, 64, 1, true);
	}
	NOT_A_TAIL_CALL();
}

/* Ends by a jump to the allocator, by whose return it returns. */
NOIPA void *tail(size_t size)
{
	return malloc(size);
}

static void tails(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		keep(tail(33));
		keep(site(9));
		entered("tail", 33, 1, 33, 1);
	}
}

NOIPA void ends_thread(void)
{
	keep(site(56));
	pthread_exit(NULL);
}
}

/* The library allocates the exception, in the call, and frees it once it has been caught. */
struct Thrower {
	void run(int n);
};

NOIPA void Thrower::run(int n)
{
	keep(site(48));
	if (n % 2)
		throw n;
	NOT_A_TAIL_CALL();
}

static void throws(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		Thrower thrower;

		try {
			thrower.run((int)i);
		} catch (int) {
		}
		/* The exception itself is in the books of the tool's test. */
		entered("Thrower::run(int)", 48, 1, 48, 1, i % 2);
	}
}

/* ---- threads ---- */

extern "C" {
NOIPA void handle_thread(unsigned n)
{
	void *scratch = site(200);

	if (n % 2)
		keep(site(24));
	free(scratch);
	NOT_A_TAIL_CALL();
}
}

static void *thread(void *arg)
{
	for (unsigned i = 0; i < (unsigned)(uintptr_t)arg; i++) {
		handle_thread(i);
		entered("handle_thread", i % 2 ? 224 : 200, 1 + i % 2, i % 2 ? 24 : 0, i % 2);
	}
	return NULL;
}

static void *thread_that_ends(void *arg)
{
	(void)arg;
	ends_thread();
	return NULL;
}

static void run(unsigned count, void *(*fn)(void *), void *arg)
{
	static pthread_t threads[64];

	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, fn, arg))
			truth_die("no thread");
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* A block of a call that is open is freed by another thread. */
static void *shared_block;
static pthread_barrier_t barrier;

extern "C" {
NOIPA void gives_away(void)
{
	shared_block = site(400);
	keep(site(4));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	NOT_A_TAIL_CALL();
}
}

static void *taker(void *arg)
{
	pthread_barrier_wait(&barrier);
	free(shared_block);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void cross(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pthread_t other;

		pthread_barrier_init(&barrier, NULL, 2);
		if (pthread_create(&other, NULL, taker, NULL))
			truth_die("no thread");
		gives_away();
		pthread_join(other, NULL);
		entered("gives_away", 404, 2, 4, 1);
	}
}

/* ---- a call that is open for as long as is wanted ---- */

static pthread_t holder;

extern "C" {
NOIPA void held_open(void)
{
	keep(site(100));
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	keep(site(200));
	NOT_A_TAIL_CALL();
}
}

static void *hold_open(void *arg)
{
	held_open();
	return arg;
}

static void enter(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&holder, NULL, hold_open, NULL))
		truth_die("no thread");
	pthread_barrier_wait(&barrier);
}

static void leave(void)
{
	pthread_barrier_wait(&barrier);
	pthread_join(holder, NULL);
}

/* ---- coroutines: two calls that are open at a time, and end in another order ---- */

#define STACK (64 << 10)
static ucontext_t contexts[3];
static char *stacks[2];

extern "C" {
NOIPA void coroutine_call(int which)
{
	keep(site(1000 + (size_t)which));
	swapcontext(&contexts[which], &contexts[2]);
	keep(site(2000 + (size_t)which));
	swapcontext(&contexts[which], &contexts[2]);
	NOT_A_TAIL_CALL();
}
}

static void coroutine(int which)
{
	coroutine_call(which);
	entered("coroutine_call", 3000 + 2 * (size_t)which, 2, 3000 + 2 * (size_t)which, 2);
}

/* Each with a page that nobody may touch behind it: a mapping of its own. */
static char *stack_new(void)
{
	char *stack =
		(char *)mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack + 4096, STACK, PROT_READ | PROT_WRITE))
		truth_die("no stack");
	return stack + 4096;
}

static void coroutines(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++) {
		for (volatile int w = 0; w < 2; w++) {
			if (!stacks[w])
				stacks[w] = stack_new();
			getcontext(&contexts[w]);
			contexts[w].uc_stack.ss_sp = stacks[w];
			contexts[w].uc_stack.ss_size = STACK;
			contexts[w].uc_link = &contexts[2];
			makecontext(&contexts[w], (void (*)())coroutine, 1, w);
		}
		/* The one that began first ends first; between them nobody's. */
		for (volatile int turn = 0; turn < 6; turn++) {
			swapcontext(&contexts[2], &contexts[turn % 2]);
			keep(site(7));
		}
	}
}

/* ---- tags ---- */

struct request {
	int number;
	const char *path;
	struct request *next;
};

extern "C" {
NOIPA void tagged(int number, const char *name, struct request *request)
{
	keep(site(50 + (size_t)number));
	(void)name;
	(void)request;
	NOT_A_TAIL_CALL();
}

NOIPA static int not_inlined(int n)
{
	return n + 1;
}
}

static inline __attribute__((always_inline)) void always_inlined(void)
{
	keep(malloc(3));
}

static void tags(unsigned n)
{
	static const char *const names[] = {"GET", "PUT", "\033[31mred\n"};
	static struct request inside = {7, "/inside", NULL};
	static struct request request = {5, "/index", &inside};

	for (unsigned i = 0; i < n; i++)
		tagged((int)(i % 3) - 1, names[i % 3], &request);
	always_inlined();
}

/* More different ones than are told apart. */
static void many_tags(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		tagged((int)i, "0123456789012345678901234567890123456789x", NULL);
}

/* ---- */

static const char *obey(const char *command)
{
	static char extra[BOOKS * 256];
	char word[32];
	unsigned n = 0;
	size_t len = 0;

	if (sscanf(command, "%31s %u", word, &n) < 1)
		return NULL;
	if (!strcmp(word, "requests"))
		requests(n);
	else if (!strcmp(word, "later"))
		later(n);
	else if (!strcmp(word, "resize"))
		for (unsigned i = 0; i < n; i++) {
			handle_resize();
			entered("handle_resize", 10 + 5000 + 70000, 3, 70000, 1);
		}
	else if (!strcmp(word, "nested"))
		nested(n);
	else if (!strcmp(word, "recurse"))
		recurse(n);
	else if (!strcmp(word, "jumps"))
		jumps(n);
	else if (!strcmp(word, "tails"))
		tails(n);
	else if (!strcmp(word, "throws"))
		throws(n);
	else if (!strcmp(word, "threads"))
		run(64, thread, (void *)(uintptr_t)n);
	else if (!strcmp(word, "ends")) {
		run(n, thread_that_ends, NULL);
		for (unsigned i = 0; i < n; i++)
			entered("ends_thread", 56, 1, 56, 1, true);
	} else if (!strcmp(word, "cross"))
		cross(n);
	else if (!strcmp(word, "enter"))
		enter();
	else if (!strcmp(word, "leave"))
		leave();
	else if (!strcmp(word, "coroutines"))
		coroutines(n);
	else if (!strcmp(word, "tags"))
		tags(n);
	else if (!strcmp(word, "many_tags"))
		many_tags(n);
	else
		return NULL;
	len = (size_t)snprintf(extra, sizeof(extra), ",\"scopes\":[");
	for (unsigned i = 0; i < book_count; i++) {
		const struct book *b = &books[i];

		len += (size_t)snprintf(
			extra + len, sizeof(extra) - len,
			"%s{\"function\":\"%s\",\"calls\":%llu,\"left\":%llu,"
			"\"alloc\":{\"bytes\":%llu,\"count\":%llu},\"kept\":{\"bytes\":%llu,"
			"\"count\":%llu},"
			"\"live\":{\"bytes\":%llu,\"count\":%llu}}",
			i ? "," : "", b->name, (unsigned long long)b->calls,
			(unsigned long long)b->left, (unsigned long long)b->alloc.bytes,
			(unsigned long long)b->alloc.count, (unsigned long long)b->kept.bytes,
			(unsigned long long)b->kept.count, (unsigned long long)b->live.bytes,
			(unsigned long long)b->live.count);
	}
	snprintf(extra + len, sizeof(extra) - len, "]");
	return extra;
}

int main(void)
{
	/* The first thread that ends so has the library for it loaded. */
	run(1, thread_that_ends, NULL);
	return truth_serve(obey);
}
