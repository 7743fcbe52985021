// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program of C that says of each of its blocks what debug information can tell of it: "block ADDRESS SIZE
 * KIND NAME" a line, KIND being "type" where it is certain and "size" where it is not; then "ready". It ends when
 * its input does.
 */
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 20

static void say(const void *block, const char *kind, const char *name)
{
	printf("block %lx %zu %s %s\n", (unsigned long)block, malloc_usable_size((void *)block),
	       kind, name);
}

/* No block is text, nor begins like many others. */
static void *make(size_t size, const char *kind, const char *name)
{
	static unsigned long made;
	unsigned long *block = calloc(1, size);

	if (!block)
		exit(1);
	if (size >= 2 * sizeof(*block))
		block[size / sizeof(*block) - 1] = 0x0100000000000001ul * ++made;
	say(block, kind, name);
	return block;
}

/* ---- lists, trees, tables: certain ---------------------------------------------------------- */

struct session;

struct user {
	long id, rights[7];
	struct session *current;
	struct {
		int kind;
		struct address {
			long street, town, planet;
		} * where;
	} home;
};

struct session {
	long id;
	struct session *next;
	const struct user *user;
	long more[9];
};

/* Only ever told by a typedef. */
typedef struct {
	double x, y;
	void *nothing;
	char *name;
	long more[8];
} point_t;

struct tree {
	long key;
	struct tree *child[2];
	point_t *point;
	long more[3];
};

struct bucket {
	struct tree *tree;
	long count, more[11];
};

struct table {
	struct bucket *buckets;
	size_t count;
	struct session **by_number;
	long more[5];
};

static struct session *sessions;
static struct {
	long before;
	struct tree *root;
} state;
struct table *tables[3];

static struct tree *make_tree(int depth)
{
	struct tree *tree = make(sizeof(*tree), "type", "struct tree");

	tree->key = depth;
	tree->point = make(sizeof(point_t), "type", "point_t");
	for (int i = 0; depth && i < 2; i++)
		tree->child[i] = make_tree(depth - 1);
	return tree;
}

static void certain(void)
{
	static struct user *const *users_of_function; /* a static variable of a function */
	struct user **users = make(N * sizeof(*users), "type", "struct user *[]");

	users_of_function = users;
	for (int i = 0; i < N; i++) {
		struct session *session = make(sizeof(*session), "type", "struct session");

		users[i] = make(sizeof(**users), "type", "struct user");
		users[i]->current = session;
		users[i]->home.where = make(sizeof(struct address), "type", "struct address");
		session->user = users[i];
		session->next = sessions;
		sessions = session;
	}
	state.root = make_tree(3);
	for (size_t i = 0; i < 3; i++) {
		struct table *table = tables[i] = make(sizeof(*table), "type", "struct table");

		table->count = 4 + i;
		table->buckets =
			make(table->count * sizeof(*table->buckets), "type", "struct bucket[]");
		for (size_t k = 0; k < table->count; k++)
			table->buckets[k].tree = make_tree(0);
		table->by_number =
			make(N * sizeof(*table->by_number), "type", "struct session *[]");
		for (size_t k = 0; k < N; k++)
			table->by_number[k] = sessions;
	}
	if (!users_of_function)
		abort();
}

/* ---- what has a length of its own ----------------------------------------------------------- */

struct vector {
	size_t count;
	long more[3];
	struct item {
		long value[5];
	} * items[];
};

static struct vector *vector;

static void open_ended(void)
{
	vector = make(sizeof(*vector) + N * sizeof(vector->items[0]), "type", "struct vector");
	vector->count = N;
	for (size_t i = 0; i < N; i++)
		vector->items[i] = make(sizeof(struct item), "type", "struct item");
}

/* ---- opaque: defined elsewhere in the program, once ----------------------------------------- */

struct holder {
	long value[3];
	struct opaque *opaque; /* not known yet */
	struct never *never;   /* nor later */
	long more[7];
};

struct opaque {
	long value[13];
};

static struct holder *holder;

static void incomplete(void)
{
	holder = make(sizeof(*holder), "type", "struct holder");
	holder->opaque = make(sizeof(struct opaque), "type", "struct opaque");
	holder->never = make(200, "size", "struct never");
}

/* ---- nothing is certain --------------------------------------------------------------------- */

struct base {
	long kind, length;
	struct base *other;
};

struct derived {
	struct base base;
	struct user *user;
	long more[13];
};

/* A header, with something behind it. */
struct header {
	long size, more[4];
};

struct one {
	long value[17];
};

struct other {
	double value[17];
};

struct link {
	struct link *next, *before;
};

struct linked {
	struct link link;
	long value
		[3]; /* 40 bytes: no number of links that glibc would round up to it is excluded */
};

union either {
	struct one *one;
	struct other *other;
};

/* glibc gives 72 bytes for 8 pointers and for 9, so that the last may be left over from an earlier block. */
static struct one **nine;

static void *no_type, *cast_away;
static char *bytes;
static struct base *bases[3];
static struct header *headers[4];
static struct one *as_one, *too_small, *too_large, *into_middle;
static struct other *as_other;
static struct link links = {&links, &links};
static union either either;
static unsigned long hidden;
static void (*function)(void);

static void add_link(void)
{
	struct linked *linked = make(sizeof(*linked), "size", "a struct linked, by its link");

	linked->link.next = links.next;
	linked->link.before = &links;
	links.next->before = &linked->link;
	links.next = &linked->link;
}

static void uncertain(void)
{
	static const size_t lengths[] = {100, 200, 300, 420};
	struct derived *derived;

	no_type = make(sizeof(struct one), "size", "by void *");
	bytes = make(sizeof(struct one), "size", "by char *");
	cast_away = make(sizeof(struct session), "size", "a session by void *");
	/* Two of three are larger than what the pointers to them say: nothing is known of these. */
	bases[0] = make(sizeof(**bases), "type", "struct base");
	for (int i = 1; i < 3; i++) {
		derived = make(sizeof(*derived), "size", "a struct derived by struct base");
		bases[i] = &derived->base;
	}
	/* Of which one is a whole number of headers by chance. */
	for (int i = 0; i < 4; i++)
		headers[i] = make(sizeof(**headers) + lengths[i], "size", "header and bytes");
	nine = make(9 * sizeof(*nine), "type", "struct one *[]");
	for (int i = 0; i < 9; i++)
		nine[i] = make(sizeof(**nine), i < 8 ? "type" : "size", "struct one");
	as_one = make(sizeof(*as_one), "size", "one and other");
	as_other = (struct other *)as_one;
	too_small = make(sizeof(*too_small) / 2, "size", "too small");
	too_large = make(sizeof(*too_large) * 3 / 2, "size", "too large");
	into_middle = (struct one *)((char *)make(sizeof(*into_middle) * 2, "size", "middle") +
				     sizeof(*into_middle));
	either.one = make(sizeof(struct one), "size", "by a union");
	hidden = (unsigned long)make(sizeof(struct one), "size", "by a number");
	for (int i = 0; i < N; i++)
		add_link();
}

/* What disagrees tells nothing, and nothing that hangs on it. */
struct doubtful {
	struct one *one;
	long more[14];
};

struct doubted {
	long more[14];
	struct one *one;
};

/* The same, found out when what hangs on it has long been found. */
struct later {
	long more[18];
	struct doubted *doubted;
	struct later *later;
};

static struct doubtful *doubtful, *doubtful_later;
static struct doubted *doubted;
static struct later *later;

/* What may be a larger one: glibc gives 104 bytes for either. */
struct small {
	long value[12];
};

struct larger {
	struct small small;
	long more;
};

/* Of which the block would be two, if nothing began with it. */
struct first {
	long value[30];
};

struct all_of_it {
	struct first first;
	long more[55];
};

static struct small *small;
static struct larger *no_larger; /* compilers leave out types that nothing is of */
static struct first *two;
static struct all_of_it *none_of_it;

static void disagreement(void)
{
	doubtful = make(sizeof(*doubtful), "size", "doubtful and doubted");
	doubtful->one = make(sizeof(struct one), "size", "by what is doubtful");
	doubted = (struct doubted *)doubtful;
	doubtful_later = make(sizeof(*doubtful), "size", "doubtful and doubted later");
	doubtful_later->one = make(sizeof(struct one), "size", "by what is doubtful later");
	later = make(sizeof(*later), "type", "struct later");
	later->later = make(sizeof(*later), "type", "struct later");
	later->later->doubted = (struct doubted *)doubtful_later;
	small = make(sizeof(*small), "size", "small, or larger");
	two = make(2 * sizeof(*two), "size", "two, or what else begins so");
}

/* The same with a pointer to its first member: no disagreement. */
struct inner {
	long value[3];
};

struct outer {
	struct inner inner;
	long more[15];
};

static struct outer *outer;
static struct inner *first_of_outer;

/* Numbers: arrays of them, where no structure that begins so is as large. */
static double *numbers;
static int *one_number;

static void members_and_numbers(void)
{
	outer = make(sizeof(*outer), "type", "struct outer");
	first_of_outer = &outer->inner;
	numbers = make(1000 * sizeof(*numbers), "type", "double[]");
	one_number = make(5000 * sizeof(*one_number), "type", "int[]");
}

int main(void)
{
	certain();
	open_ended();
	incomplete();
	uncertain();
	disagreement();
	members_and_numbers();
	function = uncertain;
	puts("ready");
	fflush(stdout);
	return getchar() != EOF || !function || !hidden || !no_type || !cast_away || !bytes ||
	       !as_other || !too_small || !too_large || !into_middle || !either.one || !doubted ||
	       !small || !two || no_larger || none_of_it || !first_of_outer;
}
