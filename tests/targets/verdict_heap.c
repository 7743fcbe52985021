// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks that are lost, that hang on each other, and that only look held. Roots of all kinds:
 * verdict_roots.c.
 */
#include "verdict.h"

#define N    64
#define SIZE 48

struct node {
	struct node *next, *other;
	char payload[SIZE - 2 * sizeof(void *)];
};

/* ---- Lost ------------------------------------------------------------------------------------ */

VERDICT_SITE(lost_malloc)
VERDICT_SITE(lost_huge)
VERDICT_SITE(lost_zero)

SITE static void lost_calloc(void)
{
	if (!calloc(3, 17))
		truth_die("calloc");
	NOT_A_TAIL_CALL();
}

SITE static void lost_realloc(void)
{
	void *block = malloc(16);

	OPAQUE(block);
	block = realloc(block, 2000);
	OPAQUE(block);
	memset(block, 0, 2000);
}

SITE static void lost_memalign(void)
{
	void *block;

	if (posix_memalign(&block, 256, SIZE))
		truth_die("posix_memalign");
	OPAQUE(block);
	memset(block, 0, SIZE);
}

static void lost(void)
{
	for (int i = 0; i < N; i++) {
		lost_malloc(SIZE);
		lost_calloc();
		lost_realloc();
		lost_memalign();
	}
	for (int i = 0; i < 4; i++) {
		lost_huge(1 << 20);
		lost_zero(0);
	}
	EXPECT(lost_malloc, DEFINITE, N, SIZE);
	EXPECT(lost_calloc, DEFINITE, N, 51);
	EXPECT(lost_realloc, DEFINITE, N, 2000);
	EXPECT(lost_memalign, DEFINITE, N, SIZE);
	EXPECT(lost_huge, DEFINITE, 4, 1 << 20);
	EXPECT(lost_zero, DEFINITE, 4, 0);
}

/* ---- Lost blocks that point to each other ---------------------------------------------------- */

/* A list of `length` nodes; its head. */
SITE static struct node *list(verdict_alloc alloc, int length)
{
	struct node *head = NULL;

	while (length--) {
		struct node *node = alloc(SIZE);

		node->next = head;
		head = node;
	}
	return head;
}

SITE static struct node *ring(verdict_alloc alloc, int length)
{
	struct node *last = alloc(SIZE), *first = last;

	while (--length) {
		struct node *node = alloc(SIZE);

		node->next = first;
		first = node;
	}
	last->next = first;
	return first;
}

VERDICT_SITE(chain)
VERDICT_SITE(cycle)
VERDICT_SITE(self_cycle)
VERDICT_SITE(shared_heads)
VERDICT_SITE(shared_tail)
VERDICT_SITE(ring_head)
VERDICT_SITE(ring_behind)
VERDICT_SITE(inner_head)
VERDICT_SITE(inner_tail)

SITE static void two_heads(void)
{
	struct node *tail = shared_tail(SIZE);

	((struct node *)shared_heads(SIZE))->next = tail;
	((struct node *)shared_heads(SIZE))->next = tail;
}

SITE static void head_of_ring(int early)
{
	struct node *head = early ? ring_head(SIZE) : NULL;
	struct node *behind = ring(ring_behind, 3);

	if (!head)
		head = ring_head(SIZE);
	head->next = behind;
}

SITE static void points_inside(void)
{
	struct node *head = inner_head(SIZE);

	head->next = (struct node *)((struct node *)inner_tail(SIZE))->payload;
}

static void lost_structures(void)
{
	for (int i = 0; i < 8; i++) {
		list(chain, 8);
		ring(cycle, 4);
		ring(self_cycle, 1);
		two_heads();
		head_of_ring(i % 2);
		points_inside();
	}
	EXPECT(chain, DEFINITE, 8, SIZE);
	EXPECT(chain, INDIRECT, 8 * 7, SIZE);
	EXPECT(cycle, DEFINITE, 8, SIZE);
	EXPECT(cycle, INDIRECT, 8 * 3, SIZE);
	EXPECT(self_cycle, DEFINITE, 8, SIZE);
	EXPECT(shared_heads, DEFINITE, 16, SIZE);
	EXPECT(shared_tail, INDIRECT, 8, SIZE);
	/* Whatever is met first: the head answers for the whole ring. */
	EXPECT(ring_head, DEFINITE, 8, SIZE);
	EXPECT(ring_behind, INDIRECT, 24, SIZE);
	/* Within what is lost anyway a pointer to the inside is as good as one to the start. */
	EXPECT(inner_head, DEFINITE, 8, SIZE);
	EXPECT(inner_tail, INDIRECT, 8, SIZE);
}

VERDICT_SITE(big_list)
VERDICT_SITE(big_held)
ROOT struct node *big_root;

static void big(void)
{
	list(big_list, 10000);
	big_root = list(big_held, 10000);
	EXPECT(big_list, DEFINITE, 1, SIZE);
	EXPECT(big_list, INDIRECT, 9999, SIZE);
	EXPECT(big_held, REACHABLE, 10000, SIZE);
}

/* ---- Pointers that are not to the start ------------------------------------------------------ */

VERDICT_SITE(interior)
VERDICT_SITE(behind_interior)
VERDICT_SITE(interior_and_start)
VERDICT_SITE(past_end)
VERDICT_SITE(tag_low)
VERDICT_SITE(tag_high)
VERDICT_SITE(hidden)
VERDICT_SITE(unaligned)

ROOT char *inside[N], *both_inside[N], *both_start[N], *ends[N], *low[N], *high[N], *masked[N];
ROOT char odd[(N + 1) * sizeof(void *)] __attribute__((aligned(8)));

SITE static void not_to_the_start(int i)
{
	char *block = interior(SIZE), *start = interior_and_start(SIZE);

	*(void **)block = behind_interior(SIZE);
	inside[i] = block + SIZE / 2;
	both_inside[i] = start + SIZE / 2;
	both_start[i] = start;
	/* 44: no allocator has blocks of just that size, so the next one begins later. */
	ends[i] = (char *)past_end(44) + 44;
	low[i] = (char *)tag_low(SIZE) + 1;
	masked[i] = (char *)((uintptr_t)hidden(SIZE) ^ 0x5a5a5a5a5a5a5a5a);
	block = unaligned(SIZE);
	memcpy(odd + i * sizeof(block) + 3, &block, sizeof(block));
}

static void interiors(void)
{
	for (int i = 0; i < N; i++)
		not_to_the_start(i);
	EXPECT(interior, POSSIBLE, N, SIZE);
	EXPECT(behind_interior, POSSIBLE, N, SIZE);
	EXPECT(interior_and_start, REACHABLE, N, SIZE);
	EXPECT(past_end, DEFINITE, N, 44);
	EXPECT(tag_low, POSSIBLE, N, SIZE);
	/*
	 * What conservative reachability cannot see, by its definition: it reads aligned words that
	 * are addresses.
	 */
	EXPECT(hidden, DEFINITE, N, SIZE);
	EXPECT(unaligned, DEFINITE, N, SIZE);
}

/* Bits that x86's LAM (48 and 57) and aarch64's TBI both ignore. */
SITE static void hold_tagged(int i)
{
	high[i] = (char *)((uintptr_t)tag_high(SIZE) | (uintptr_t)0x15 << 57);
}

static void tags(void)
{
	for (int i = 0; i < N; i++)
		hold_tagged(i);
	EXPECT(tag_high, DEFINITE, N, SIZE);
}

static void tags_used(void)
{
	for (int i = 0; i < N; i++)
		hold_tagged(i);
	EXPECT(tag_high, REACHABLE, N, SIZE);
}

/* ---- Pointers that only freed memory still holds --------------------------------------------- */

VERDICT_SITE(stale_holder)
VERDICT_SITE(stale_cached)
VERDICT_SITE(stale_fast)
VERDICT_SITE(stale_binned)
VERDICT_SITE(stale_moved)
VERDICT_SITE(spacer)

ROOT void *spacers[256];
static int spacer_count;

/* A block in between that stays, so that free neighbours are not merged. */
SITE static void keep_apart(void)
{
	spacers[spacer_count++] = spacer(SIZE);
}

/*
 * `count` holders of `size` bytes, full of pointers to blocks of the site but for the words where
 * allocators chain free blocks; then all holders are freed.
 */
SITE static void stale(verdict_alloc alloc, int count, size_t size)
{
	void **holders[64];

	for (int i = 0; i < count; i++) {
		holders[i] = stale_holder(size);
		keep_apart();
		for (size_t word = 4; word < size / sizeof(void *); word++)
			holders[i][word] = alloc(SIZE);
	}
	for (int i = 0; i < count; i++)
		free(holders[i]);
}

SITE static void stale_by_realloc(void)
{
	void **table = stale_holder(SIZE * 10);

	keep_apart();
	for (int i = 4; i < 60; i++)
		table[i] = stale_moved(SIZE);
	table = realloc(table, 1 << 20); /* cannot grow in place */
	memset(table, 0, 1 << 20);
	OPAQUE(table);
	free(table);
}

static void stale_blocks(void)
{
	stale(stale_cached, 7, 200); /* glibc: the thread's cache */
	stale(stale_fast, 20, 64);   /* seven of them cached, then a fast bin */
	stale(stale_binned, 5, 1500);
	stale_by_realloc();
	EXPECT(stale_cached, DEFINITE, 7 * 21, SIZE);
	EXPECT(stale_fast, DEFINITE, 20 * 4, SIZE);
	EXPECT(stale_binned, DEFINITE, 5 * (1500 / 8 - 4), SIZE);
	EXPECT(stale_moved, DEFINITE, 56, SIZE);
	EXPECT(spacer, REACHABLE, 7 + 20 + 5 + 1, SIZE);
}

/* ---- Blocks from before the tool was there --------------------------------------------------- */

VERDICT_SITE(held_by_old)
VERDICT_SITE(stale_in_old)

ROOT void **old_holder, **old_freed;

SITE static void into_old(void)
{
	for (int i = 4; i < N; i++) {
		old_holder[i] = held_by_old(SIZE);
		old_freed[i] = stale_in_old(SIZE);
	}
	free(old_freed);
	old_freed = NULL;
}

static void old(void)
{
	into_old();
	EXPECT(held_by_old, REACHABLE, N - 4, SIZE);
	EXPECT(stale_in_old, DEFINITE, N - 4, SIZE);
}

/* ---- Held by blocks that are held ------------------------------------------------------------ */

VERDICT_SITE(held_chain)
VERDICT_SITE(held_aligned)
VERDICT_SITE(held_huge)
VERDICT_SITE(held_by_huge)
VERDICT_SITE(held_zero)
VERDICT_SITE(held_by_moved)

ROOT struct node *chains[8];
ROOT void *huge, *aligned_blocks[8], *zeros[8], **moved;

SITE static void held_memalign(int i)
{
	if (posix_memalign(&aligned_blocks[i], 4096, SIZE))
		truth_die("posix_memalign");
	memset(aligned_blocks[i], 0, SIZE);
}

SITE static void held_table(size_t bytes)
{
	moved = realloc(moved, bytes);
	NOT_A_TAIL_CALL();
}

SITE static void hold(void)
{
	for (int i = 0; i < 8; i++) {
		chains[i] = list(held_chain, 8);
		held_memalign(i);
		zeros[i] = held_zero(0);
	}
	huge = held_huge(3 << 20);
	for (int i = 0; i < N; i++)
		((void **)huge)[i * 4096] = held_by_huge(SIZE);
	for (int i = 0; i < N; i++) {
		held_table((i + 1) * 1000 * sizeof(*moved));
		memset(moved + i * 1000, 0, 1000 * sizeof(*moved));
		moved[i * 1000] = held_by_moved(SIZE);
	}
}

static void held(void)
{
	hold();
	EXPECT(held_chain, REACHABLE, 64, SIZE);
	EXPECT(held_memalign, REACHABLE, 8, SIZE);
	EXPECT(held_zero, REACHABLE, 8, 0);
	EXPECT(held_huge, REACHABLE, 1, 3 << 20);
	EXPECT(held_by_huge, REACHABLE, N, SIZE);
	EXPECT(held_table, REACHABLE, 1, N * 1000 * sizeof(*moved));
	EXPECT(held_by_moved, REACHABLE, N, SIZE);
}

/* ---- glibc's own pointers -------------------------------------------------------------------- */

/*
 * A glibc chunk begins 16 bytes before its block and its first word belongs to the block before it;
 * so the pointers of the allocator's bins and to its top chunk point into the last 8 bytes of
 * blocks of 24, 40, 56… bytes. Nobody holds those blocks.
 */
VERDICT_SITE(before_free)
VERDICT_SITE(before_top)
VERDICT_SITE(neighbour)

SITE static void neighbours(void)
{
	void *free_later[N];

	for (int i = 0; i < N; i++) {
		before_free(1032);
		free_later[i] = neighbour(1500);
		keep_apart();
	}
	for (int i = 0; i < N; i++)
		free(free_later[i]);
	before_top(100008);
}

static void allocator_pointers(void)
{
	neighbours();
	EXPECT(before_free, DEFINITE, N, 1032);
	EXPECT(spacer, REACHABLE, N, SIZE);
	EXPECT(before_top, DEFINITE, 1, 100008);
}

static const struct verdict_case cases[] = {
	{"lost", lost, 0},
	{"structures", lost_structures, 0},
	{"big", big, 0},
	{"interiors", interiors, 0},
	{"tags", tags, 0},
	{"tagged", tags_used, 1},
	{"stale", stale_blocks, 0},
	{"old", old, 0},
	{"held", held, 0},
	{"allocator", allocator_pointers, 0},
	{NULL, NULL, 0},
};

int main(void)
{
	old_holder = malloc(N * sizeof(*old_holder));
	old_freed = malloc(N * sizeof(*old_freed));
	if (!old_holder || !old_freed)
		truth_die("malloc");
	memset(old_holder, 0, N * sizeof(*old_holder));
	memset(old_freed, 0, N * sizeof(*old_freed));
	return verdict_serve(cases);
}
