// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks of known lifetimes, and temporary ones. Beside the sums each answer has, by site, "temporary":
 * what was freed before its thread allocated another block; and "lived": [i] how many freed blocks had
 * lived 2^i microseconds certainly ("least") and perhaps ("most"), by clocks that are read outside and
 * inside of the two calls. "peak": the most live bytes, with what each site had then and at most. "usable": what malloc_usable_size() says of live blocks.
 */
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#include "truth.h"

#define CLASSES 24
#define BLOCKS	4096
#define SITES	16

struct lived {
	const char *name;
	uint64_t least[CLASSES], most[CLASSES];
	uint64_t temporary_bytes, temporary_count;
	uint64_t live, highest, at_peak, usable, blocks;
};

struct block {
	void *address;
	size_t size;
	uint64_t before_ns, after_ns; /* the call that allocated it */
};

static struct lived books[SITES];
static uint64_t all_live, all_most;
static unsigned int book_count, block_count; /* blocks: of rise() */
static struct block blocks[BLOCKS], holds[BLOCKS];
static struct truth_text extra;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct lived *book_of(const char *name)
{
	for (unsigned int i = 0; i < book_count; i++)
		if (!strcmp(books[i].name, name))
			return &books[i];
	if (book_count == SITES)
		truth_die("figures: too many sites");
	books[book_count].name = name;
	return &books[book_count++];
}

static void count_lived(uint64_t classes[CLASSES], double us)
{
	for (unsigned int i = 0; i < CLASSES && (i == 0 || us >= (double)(1u << i)); i++)
		classes[i]++;
}

static void count_live(const char *name, uint64_t more, uint64_t less)
{
	struct lived *book = book_of(name);

	book->live += more - less;
	all_live += more - less;
	if (book->live > book->highest)
		book->highest = book->live;
	if (all_live <= all_most)
		return;
	all_most = all_live;
	for (unsigned int i = 0; i < book_count; i++)
		books[i].at_peak = books[i].live;
}

static void count_usable(const char *name, void *address, int sign)
{
	struct lived *book = book_of(name);

	book->usable += (uint64_t)sign * malloc_usable_size(address);
	book->blocks += (uint64_t)sign;
}

/* Frees a block of the site. The tool's clock has steps of a microsecond, and is 0.1 % off. */
static void release(const char *name, const struct block *b, int temporary)
{
	struct lived *book = book_of(name);
	uint64_t before, after;

	count_usable(name, b->address, -1);
	before = now_ns();
	free(b->address);
	after = now_ns();
	truth_uncount(truth_site(name), b->size);
	count_live(name, 0, b->size);
	count_lived(book->least, (double)(before - b->after_ns) / 1000 * 0.997 - 3);
	count_lived(book->most, (double)(after - b->before_ns) / 1000 * 1.003 + 3);
	if (temporary) {
		book->temporary_bytes += b->size;
		book->temporary_count++;
	}
}

#define ALLOCATE(b, call)                                               \
	do {                                                            \
		(b)->before_ns = now_ns();                              \
		(b)->address = (call);                                  \
		(b)->after_ns = now_ns();                               \
		__asm__ volatile("" : "+r"((b)->address) : : "memory"); \
		truth_count(THIS_SITE(), (b)->address, (b)->size);      \
		count_live(__func__, (b)->size, 0);                     \
		count_usable(__func__, (b)->address, 1);                \
	} while (0)

SITE static void passing(struct block *b)
{
	b->size = 64;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

SITE static void outer(struct block *b)
{
	b->size = 100;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

SITE static void inner(struct block *b)
{
	b->size = 200;
	ALLOCATE(b, calloc(2, 100));
	NOT_A_TAIL_CALL();
}

SITE static void first_half(struct block *b)
{
	b->size = 50;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

/* Takes the other's block, which ends by it. */
SITE static void grown(struct block *b, struct block *old)
{
	struct lived *book = book_of("first_half");

	b->size = 5000;
	count_live("first_half", 0, old->size);
	count_usable("first_half", old->address, -1);
	ALLOCATE(b, realloc(old->address, b->size));
	truth_uncount(truth_site("first_half"), old->size);
	count_lived(book->least, (double)(b->before_ns - old->after_ns) / 1000 * 0.997 - 3);
	count_lived(book->most, (double)(b->after_ns - old->before_ns) / 1000 * 1.003 + 3);
	book->temporary_bytes += old->size;
	book->temporary_count++;
	NOT_A_TAIL_CALL();
}

SITE static void held(struct block *b)
{
	b->size = 300;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

SITE static void handed(struct block *b)
{
	b->size = 400;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

SITE static void mostly_freed(struct block *b)
{
	b->size = 48;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

/* What was allocated last is not temporary then. */
static void another(void)
{
	struct block b;

	passing(&b);
	release("passing", &b, 1);
}

/* "all N": what there is of temporary blocks, N times. */
static void allocate_all(unsigned int n)
{
	while (n--) {
		struct block a, b;

		another();
		outer(&a);
		inner(&b);
		release("inner", &b, 1);
		release("outer", &a, 0);
		first_half(&a);
		grown(&b, &a);
		release("grown", &b, 1);
	}
}

/* "hold N MS": N blocks that live for so long. */
static void hold(unsigned int n, unsigned int ms)
{
	const struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	for (unsigned int i = 0; i < n; i++)
		held(&holds[i]);
	another();
	nanosleep(&pause, NULL);
	for (unsigned int i = 0; i < n; i++)
		release("held", &holds[i], 0);
}

static void *free_handed(void *block)
{
	release("handed", block, 0);
	return NULL;
}

/* "hand": another thread frees what this one has allocated last. */
static void hand(void)
{
	static struct block b;
	pthread_t thread;

	/* What pthread_create() allocates is reused by the next. */
	handed(&b);
	if (pthread_create(&thread, NULL, free_handed, &b) || pthread_join(thread, NULL))
		truth_die("figures: no thread");
}

SITE static void risen(struct block *b)
{
	b->size = 1000;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

/* "rise N": N blocks more; "fall N": so many less. */
static void rise(unsigned int n)
{
	while (n--)
		risen(&blocks[block_count++]);
	another();
}

static void fall(unsigned int n)
{
	while (n--)
		release("risen", &blocks[--block_count], 0);
}

SITE static void sized(struct block *b, size_t size)
{
	b->size = size;
	ALLOCATE(b, malloc(size));
	NOT_A_TAIL_CALL();
}

/* "sizes K N": N blocks of each of K sizes, 24 bytes and so on, each 16 more; of every size one is freed. */
static void allocate_sizes(unsigned int k, unsigned int n)
{
	struct block b;

	for (unsigned int i = 0; i < k * n; i++) {
		sized(&b, 24 + 16 * (i % k));
		if (i < k)
			release("sized", &b, 1);
	}
}

SITE static void large(struct block *b, unsigned int i)
{
	b->size = 100000 + 20001 * (size_t)i;
	ALLOCATE(b, malloc(b->size));
	NOT_A_TAIL_CALL();
}

/* "large N": N blocks, of which the larger ones have mappings of their own. */
static void allocate_large(unsigned int n)
{
	struct block b;

	for (unsigned int i = 0; i < n; i++)
		large(&b, i);
}

/* "leak N K": N blocks that are freed at once, and K that stay, all by one stack. */
static void leak(unsigned int n, unsigned int k)
{
	struct block b;

	for (unsigned int i = 0; i < n + k; i++) {
		mostly_freed(&b);
		if (i >= k)
			release("mostly_freed", &b, 1);
	}
}

static void add_classes(const char *name, const uint64_t classes[CLASSES])
{
	truth_add(&extra, "\"%s\":[", name);
	for (unsigned int i = 0; i < CLASSES; i++)
		truth_add(&extra, "%s%llu", i ? "," : "", (unsigned long long)classes[i]);
	truth_add(&extra, "]");
}

static const char *answer(void)
{
	extra.length = 0;
	truth_add(&extra, ",\"temporary\":{");
	for (unsigned int i = 0; i < book_count; i++)
		truth_add(&extra, "%s\"%s\":{\"bytes\":%llu,\"count\":%llu}", i ? "," : "",
			  books[i].name, (unsigned long long)books[i].temporary_bytes,
			  (unsigned long long)books[i].temporary_count);
	truth_add(&extra, "},\"peak\":{\"bytes\":%llu,\"sites\":{", (unsigned long long)all_most);
	for (unsigned int i = 0; i < book_count; i++)
		truth_add(&extra, "%s\"%s\":{\"most\":%llu,\"at\":%llu}", i ? "," : "",
			  books[i].name, (unsigned long long)books[i].highest,
			  (unsigned long long)books[i].at_peak);
	truth_add(&extra, "}},\"usable\":{");
	for (unsigned int i = 0; i < book_count; i++)
		truth_add(&extra, "%s\"%s\":{\"bytes\":%llu,\"count\":%llu}", i ? "," : "",
			  books[i].name, (unsigned long long)books[i].usable,
			  (unsigned long long)books[i].blocks);
	truth_add(&extra, "},\"lived\":{");
	for (unsigned int i = 0; i < book_count; i++) {
		truth_add(&extra, "%s\"%s\":{", i ? "," : "", books[i].name);
		add_classes("least", books[i].least);
		truth_add(&extra, ",");
		add_classes("most", books[i].most);
		truth_add(&extra, "}");
	}
	truth_add(&extra, "}");
	return extra.text;
}

static const char *obey(const char *command)
{
	unsigned int n = 0, m = 0;

	if (sscanf(command, "all %u", &n) == 1)
		allocate_all(n);
	else if (sscanf(command, "hold %u %u", &n, &m) == 2 && n <= BLOCKS)
		hold(n, m);
	else if (sscanf(command, "large %u", &n) == 1)
		allocate_large(n);
	else if (sscanf(command, "leak %u %u", &n, &m) == 2)
		leak(n, m);
	else if (sscanf(command, "sizes %u %u", &n, &m) == 2)
		allocate_sizes(n, m);
	else if (sscanf(command, "rise %u", &n) == 1 && n <= BLOCKS - block_count)
		rise(n);
	else if (sscanf(command, "fall %u", &n) == 1 && n <= block_count)
		fall(n);
	else if (!strcmp(command, "hand"))
		hand();
	else
		return NULL;
	return answer();
}

/* With arguments: each is a command, without anybody to talk to. */
int main(int argc, char **argv)
{
	if (argc == 1)
		return truth_serve(obey);
	for (int i = 1; i < argc; i++) {
		const char *more = obey(argv[i]);

		if (!more)
			truth_die("unknown command");
		truth_print(argv[i], more);
	}
	return 0;
}
