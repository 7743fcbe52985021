// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Touches of blocks of the heap that have been freed, and frees of what is no block, in C (heap_bugs.h).
 */
#include <pthread.h>

#include "heap_bugs.h"

static void *on_thread(void *(*run)(void *), void *p)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, run, p) || pthread_join(thread, &result))
		truth_die("no thread");
	return result;
}

/* ---- after its free ------------------------------------------------------------------------- */

SITE static void freed_read(bool wrong)
{
	volatile char *p = get(SIZE);

	if (wrong)
		put((void *)p);
	heap_sink = p[3];
	if (!wrong)
		put((void *)p);
}

SITE static void freed_write(bool wrong)
{
	volatile char *p = get(SIZE);

	if (wrong)
		put((void *)p);
	p[40] = 'b';
	if (!wrong)
		put((void *)p);
}

SITE static void freed_memcpy(bool wrong)
{
	char to[SIZE], *p = get(SIZE);

	if (wrong)
		put(p);
	HIDE(p);
	memcpy(to, p, SIZE);
	heap_sink = to[3];
	if (!wrong)
		put(p);
}

SITE static void freed_string(bool wrong)
{
	char *p = get(SIZE), text[2 * SIZE];

	p[SIZE - 1] = 0;
	if (wrong)
		put(p);
	HIDE(p);
	snprintf(text, sizeof(text), "<%s>", p);
	heap_sink = text[3];
	if (!wrong)
		put(p);
}

struct node {
	struct node *next;
	long value;
};

/* The next one is asked of one that is freed. */
SITE static void freed_list(bool wrong)
{
	volatile struct node *first = NULL, *next;

	for (int i = 0; i < 3; i++) {
		volatile struct node *node = (void *)get(sizeof(*node));

		node->next = (struct node *)first;
		first = node;
	}
	for (; first; first = next) {
		if (!wrong)
			next = first->next;
		put((void *)first);
		if (wrong)
			next = first->next;
	}
}

struct object {
	void (*act)(void);
	char *name;
};

static void act(void)
{
	heap_sink = 'a';
}

SITE static void freed_function(bool wrong)
{
	volatile struct object *p = (void *)get(sizeof(*p));

	p->act = act;
	if (wrong)
		put((void *)p);
	p->act();
	if (!wrong)
		put((void *)p);
}

SITE static void freed_member(bool wrong)
{
	volatile struct object *p = (void *)get(sizeof(*p));

	p->name = get(SIZE);
	if (wrong)
		put(p->name);
	heap_sink = *(volatile char *)p->name;
	if (!wrong)
		put(p->name);
	put((void *)p);
}

SITE static void freed_owner(bool wrong)
{
	volatile struct object *p = (void *)get(sizeof(*p));
	char *name = p->name = get(SIZE);

	if (wrong)
		put((void *)p);
	heap_sink = *(volatile char *)p->name;
	put(name);
	if (!wrong)
		put((void *)p);
}

static char *made(bool wrong)
{
	char *p = get(SIZE);

	if (wrong)
		put(p);
	return p;
}

SITE static void freed_returned(bool wrong)
{
	volatile char *p = made(wrong);

	heap_sink = p[SIZE - 1];
	if (!wrong)
		put((void *)p);
}

/* It has moved. */
SITE static void moved_by_realloc(bool wrong)
{
	char *p = get(SIZE);
	volatile char *q = p;

	HIDE(q);
	p = realloc(p, (size_t)1 << 16);
	heap_sink = wrong ? q[3] : p[3];
	put(p);
}

SITE static void freed_system_call(bool wrong)
{
	char *p = get(SIZE);
	int ends[2];

	if (pipe(ends))
		truth_die("no pipe");
	if (wrong)
		put(p);
	HIDE(p);
	if (write(ends[1], p, SIZE) < 0)
		truth_die("write");
	close(ends[0]);
	close(ends[1]);
	if (!wrong)
		put(p);
}

static void *freed_by_thread_thread(void *p)
{
	put(p);
	return NULL;
}

SITE static void freed_by_thread(bool wrong)
{
	volatile char *p = get(SIZE);

	if (wrong)
		on_thread(freed_by_thread_thread, (void *)p);
	heap_sink = p[3];
	if (!wrong)
		on_thread(freed_by_thread_thread, (void *)p);
}

static void *used_by_thread_thread(void *p)
{
	heap_sink = ((volatile char *)p)[3];
	return NULL;
}

SITE static void used_by_thread(bool wrong)
{
	char *p = get(SIZE);

	if (wrong)
		put(p);
	HIDE(p);
	on_thread(used_by_thread_thread, p);
	if (!wrong)
		put(p);
}

/* Many blocks later: its place has had others since. */
SITE static void freed_long_ago(bool wrong)
{
	volatile char *p = get(SIZE);

	if (wrong)
		put((void *)p);
	for (int i = 0; wrong && i < 600; i++)
		put(get(SIZE));
	heap_sink = p[3];
	if (!wrong)
		put((void *)p);
}

SITE static void large_freed(bool wrong)
{
	volatile char *p = get(5000);

	if (wrong)
		put((void *)p);
	heap_sink = p[4000];
	if (!wrong)
		put((void *)p);
}

/* ---- wrong frees ---------------------------------------------------------------------------- */

SITE static void double_free(bool wrong)
{
	char *p = get(SIZE);

	put(p);
	HIDE(p);
	if (wrong)
		put(p);
	NOT_A_TAIL_CALL();
}

static void *double_free_by_thread_thread(void *p)
{
	put(p);
	return NULL;
}

SITE static void double_free_by_thread(bool wrong)
{
	char *p = get(SIZE);

	on_thread(double_free_by_thread_thread, wrong ? p : NULL);
	HIDE(p);
	put(p);
	NOT_A_TAIL_CALL();
}

SITE static void interior_free(bool wrong)
{
	char *p = get(SIZE), *q = wrong ? p + 16 : NULL;

	HIDE(q);
	put(q);
	put(p);
}

SITE static void interior_realloc(bool wrong)
{
	char *p = get(SIZE), *q = wrong ? p + 16 : NULL;

	HIDE(q);
	put(realloc(q, SIZE));
	put(p);
}

SITE static void realloc_freed(bool wrong)
{
	char *p = get(SIZE), *q = wrong ? p : NULL;

	put(p);
	HIDE(q);
	put(realloc(q, 2 * SIZE));
}

static heap_case *const cases[] = {freed_read,
				   freed_write,
				   freed_memcpy,
				   freed_string,
				   freed_list,
				   freed_function,
				   freed_member,
				   freed_owner,
				   freed_returned,
				   moved_by_realloc,
				   freed_system_call,
				   freed_by_thread,
				   used_by_thread,
				   freed_long_ago,
				   large_freed,
				   double_free,
				   double_free_by_thread,
				   interior_free,
				   interior_realloc,
				   realloc_freed};

static const char *obey(const char *command)
{
	return heap_obey(command, cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return truth_serve(obey);
}
