// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Touches beyond and before blocks of the heap, in C (heap_bugs.h): a case writes no further than 100 bytes, and where nobody
 * guards the block, as it is larger than a page or moved by realloc, it only reads.
 */
#include <wchar.h>

#include "heap_bugs.h"

#define ODD 50

/* ---- beyond a block ------------------------------------------------------------------------- */

SITE static void index_write(bool wrong)
{
	volatile char *p = get(SIZE);

	for (size_t i = 0; wrong ? i <= SIZE : i < SIZE; i++)
		p[i] = 'b';
	put((void *)p);
}

SITE static void index_read(bool wrong)
{
	volatile char *p = get(SIZE);

	for (size_t i = 0; wrong ? i <= SIZE : i < SIZE; i++)
		heap_sink = p[i];
	put((void *)p);
}

SITE static void odd_size_write(bool wrong)
{
	volatile char *p = get(ODD);

	p[wrong ? ODD : ODD - 1] = 'b';
	put((void *)p);
}

SITE static void odd_size_read(bool wrong)
{
	volatile char *p = get(ODD);

	heap_sink = p[wrong ? ODD : ODD - 1];
	put((void *)p);
}

/* Of 2 bytes each, and bytes were asked for. */
SITE static void count_for_size(bool wrong)
{
	volatile short *p = (short *)get(wrong ? SIZE : SIZE * sizeof(*p));

	for (size_t i = 0; i < SIZE; i++)
		p[i] = 7;
	put((void *)p);
}

SITE static void memcpy_beyond(bool wrong)
{
	char from[2 * SIZE] = {0}, *p = get(SIZE);
	size_t n = wrong ? SIZE + 8 : SIZE;

	HIDE(n);
	memcpy(p, from, n);
	put(p);
}

SITE static void memcpy_from_beyond(bool wrong)
{
	char to[2 * SIZE], *p = get(SIZE);
	size_t n = wrong ? SIZE + 8 : SIZE;

	HIDE(n);
	memcpy(to, p, n);
	heap_sink = to[3];
	put(p);
}

SITE static void memmove_beyond(bool wrong)
{
	char *p = get(SIZE);
	size_t n = wrong ? SIZE - 8 : SIZE - 16;

	HIDE(n);
	memmove(p + 16, p, n);
	put(p);
}

SITE static void memset_beyond(bool wrong)
{
	char *p = get(SIZE);
	size_t n = wrong ? SIZE + 1 : SIZE;

	HIDE(n);
	memset(p, 0, n);
	put(p);
}

/* No room for the end of the string. */
SITE static void strcpy_beyond(bool wrong)
{
	char from[SIZE + 1], *p = get(SIZE);
	size_t n = wrong ? SIZE : SIZE - 1;

	memset(from, 'c', n);
	from[n] = 0;
	HIDE(p);
	strcpy(p, from);
	put(p);
}

SITE static void strcat_beyond(bool wrong)
{
	char *p = get(SIZE);
	const char *more = wrong ? "0123456789abcdef" : "0123456789abcde";

	p[SIZE - 16] = 0;
	HIDE(more);
	strcat(p, more);
	put(p);
}

SITE static void sprintf_beyond(bool wrong)
{
	char *p = get(32);

	sprintf(p, "%0*d", wrong ? 32 : 31, 7);
	put(p);
}

SITE static void snprintf_beyond(bool wrong)
{
	char *p = get(32);
	size_t n = wrong ? 64 : 32;

	HIDE(n);
	snprintf(p, n, "%060d", 7);
	put(p);
}

/* No end, and then read up to it. */
SITE static void unterminated(bool wrong)
{
	char *p = get(SIZE);

	if (!wrong)
		p[SIZE - 1] = 0;
	HIDE(p);
	heap_sink = (char)strlen(p);
	put(p);
}

SITE static void wide_string(bool wrong)
{
	wchar_t *p = (wchar_t *)get(wrong ? 16 : 16 * sizeof(*p));
	wchar_t from[] = L"fifteen letters";
	wchar_t *q = from;

	HIDE(q);
	wcscpy(p, q);
	put(p);
}

SITE static void system_call_write(bool wrong)
{
	char *p = get(SIZE);
	int ends[2];
	char from[SIZE + 20] = {0};

	if (pipe(ends) || write(ends[1], from, sizeof(from)) != sizeof(from))
		truth_die("no pipe");
	if (read(ends[0], p, wrong ? SIZE + 20 : SIZE) < 0)
		truth_die("read");
	close(ends[0]);
	close(ends[1]);
	put(p);
}

struct small {
	long a, b;
};

struct large {
	long a, b, c, d;
};

SITE static void wrong_struct(bool wrong)
{
	volatile struct large *p = (void *)get(wrong ? sizeof(struct small) : sizeof(struct large));

	p->d = 7;
	put((void *)p);
}

struct counted {
	long count, values[];
};

SITE static void flexible_array(bool wrong)
{
	volatile struct counted *p = (void *)get(sizeof(*p) + 7 * sizeof(long));

	p->count = wrong ? 8 : 7;
	for (long i = 0; i < p->count; i++)
		p->values[i] = i;
	put((void *)p);
}

/* The first of a row that there is not. */
SITE static void calloc_rows(bool wrong)
{
	volatile int *p = calloc(4, 8 * sizeof(*p));

	if (p)
		p[(wrong ? 4 : 3) * 8] = 7;
	put((void *)p);
}

SITE static void whole_page(bool wrong)
{
	volatile char *p = get(4096);

	p[wrong ? 4096 : 4095] = 'b';
	put((void *)p);
}

SITE static void far_beyond(bool wrong)
{
	volatile char *p = get(SIZE);

	heap_sink = p[wrong ? SIZE + 90 : SIZE - 1];
	put((void *)p);
}

SITE static void realloc_null(bool wrong)
{
	volatile char *p = realloc(NULL, SIZE);

	heap_sink = p[0] = 'a';
	heap_sink = p[wrong ? SIZE : 0];
	put((void *)p);
}

SITE static void realloc_shrunk(bool wrong)
{
	volatile char *p = realloc(get(2 * SIZE), SIZE);

	heap_sink = p[wrong ? SIZE : SIZE - 1];
	put((void *)p);
}

SITE static void aligned(bool wrong)
{
	volatile char *p = aligned_alloc(64, SIZE);

	heap_sink = p[0] = 'a';
	heap_sink = p[wrong ? SIZE : 0];
	put((void *)p);
}

SITE static void large_block(bool wrong)
{
	volatile char *p = get(5000);

	heap_sink = p[wrong ? 5000 : 4999];
	put((void *)p);
}

struct two {
	char name[16], next[16];
};

SITE static void within_a_block(bool wrong)
{
	char *p = get(sizeof(struct two));
	size_t n = wrong ? 17 : 16;

	HIDE(n);
	memset(p, 'b', n);
	put(p);
}

/* ---- before a block ------------------------------------------------------------------------- */

SITE static void underrun_write(bool wrong)
{
	volatile char *p = get(SIZE);

	p[wrong ? -1 : 0] = 'b';
	put((void *)p);
}

SITE static void underrun_read(bool wrong)
{
	volatile char *p = get(SIZE);

	heap_sink = p[wrong ? -1 : 0];
	put((void *)p);
}

/* What cuts spaces from a line's end does not stop at its beginning. */
SITE static void trimmed(bool wrong)
{
	volatile char *p = get(SIZE);
	ptrdiff_t end = SIZE;

	for (size_t i = 0; i < SIZE; i++)
		p[i] = ' ';
	while ((wrong || end > 0) && p[end - 1] == ' ')
		end--;
	put((void *)p);
}

SITE static void underrun_memcpy(bool wrong)
{
	char from[SIZE] = {0}, *p = get(SIZE);
	char *to = wrong ? p - 8 : p;

	HIDE(to);
	memcpy(to, from, SIZE);
	put(p);
}

static heap_case *const cases[] = {
	index_write,	   index_read,	       odd_size_write,	odd_size_read, count_for_size,
	memcpy_beyond,	   memcpy_from_beyond, memmove_beyond,	memset_beyond, strcpy_beyond,
	strcat_beyond,	   sprintf_beyond,     snprintf_beyond, unterminated,  wide_string,
	system_call_write, wrong_struct,       flexible_array,	calloc_rows,   whole_page,
	far_beyond,	   realloc_null,       realloc_shrunk,	aligned,       large_block,
	within_a_block,	   underrun_write,     underrun_read,	trimmed,       underrun_memcpy};

static const char *obey(const char *command)
{
	return heap_obey(command, cases, sizeof(cases) / sizeof(*cases));
}

int main(void)
{
	return truth_serve(obey);
}
