// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What C++ programs really keep: arrays with cookies, several base classes, strings, containers,
 * shared pointers.
 */
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verdict.h"

#define N 64

/* Blocks whose holder keeps a pointer that is not to their start: for memcheck's heuristics. */

/*
 * new[] keeps the number of elements, whose destructors delete[] calls, before the first: 8 bytes
 * into the block.
 */
struct element {
	long number = 1;
	~element();
};

element::~element()
{
	number = 0;
	OPAQUE(*(element **)this);
}

/* A pointer to the second base class points into the object, to its second vtable pointer. */
struct reader {
	virtual ~reader() = default;
	virtual long read()
	{
		return 1;
	}
	long position = 1;
};

struct writer {
	virtual ~writer() = default;
	virtual long write()
	{
		return 2;
	}
	long length = 2;
};

struct stream final : reader, writer {
	long buffered = 3;
};

/* Some allocators of databases write the size before what they give out. */
struct sized {
	size_t size;
	char content[56];
};

ROOT element *arrays[N];
ROOT writer *writers[N];
ROOT char *contents[N];
ROOT element *empties[N];
ROOT char *between[2 * N];

SITE static element *new_array()
{
	element *array = new element[7];

	NOT_A_TAIL_CALL();
	return array;
}

SITE static element *new_empty_array(int elements)
{
	element *array = new element[elements];

	NOT_A_TAIL_CALL();
	return array;
}

/* Where blocks of 8 bytes lie side by side, the address behind an empty array is this one's. */
SITE static char *new_between()
{
	char *block = new char[8]();

	NOT_A_TAIL_CALL();
	return block;
}

SITE static stream *new_stream()
{
	stream *both = new stream;

	NOT_A_TAIL_CALL();
	return both;
}

SITE static sized *new_sized()
{
	sized *block = static_cast<sized *>(malloc(sizeof(sized)));

	memset(block, 0, sizeof(*block));
	block->size = sizeof(block->content);
	return block;
}

SITE static void hold_insides()
{
	for (int i = 0; i < N; i++) {
		arrays[i] = new_array();
		between[2 * i] = new_between();
		empties[i] = new_empty_array(0);
		between[2 * i + 1] = new_between();
		writers[i] = new_stream();
		contents[i] = new_sized()->content;
	}
}

/* By memcheck's heuristics, which are on unless --leak-check-heuristics says otherwise. */
static void known(void)
{
	hold_insides();
	EXPECT(new_array, REACHABLE, N, 7 * sizeof(element) + sizeof(size_t));
	EXPECT(new_stream, REACHABLE, N, sizeof(stream));
	EXPECT(new_sized, REACHABLE, N, sizeof(sized));
	/*
	 * An array of no elements is a block of 8 bytes, its cookie, and what is kept is the address
	 * behind it.
	 */
	EXPECT(new_empty_array, REACHABLE, N, sizeof(size_t));
	EXPECT(new_between, REACHABLE, 2 * N, 8);
}

/* Without them. */
static void unknown(void)
{
	hold_insides();
	EXPECT(new_array, POSSIBLE, N, 7 * sizeof(element) + sizeof(size_t));
	EXPECT(new_stream, POSSIBLE, N, sizeof(stream));
	EXPECT(new_sized, POSSIBLE, N, sizeof(sized));
	EXPECT(new_empty_array, DEFINITE, N, sizeof(size_t));
	EXPECT(new_between, REACHABLE, 2 * N, 8);
}

/* ---- Held and lost by standard containers ---------------------------------------------------- */

#define TEXT "a string that is too long for the room inside the object"

/* Functions of their own for the held and for the lost, so that their blocks are told apart. */
typedef std::map<int, std::string> dictionary;

struct container {
	std::vector<int *> pointers;
	std::list<long> numbers;
	dictionary texts;
	std::string name;
};

SITE static int *new_int()
{
	int *number = new int(7);

	NOT_A_TAIL_CALL();
	return number;
}

SITE static int *new_lost_int()
{
	int *number = new int(7);

	NOT_A_TAIL_CALL();
	return number;
}

SITE static void fill_vector(container *c, int *(*number)())
{
	for (int i = 0; i < N; i++)
		c->pointers.push_back(number());
}

SITE static container *new_held()
{
	container *c = new container;

	NOT_A_TAIL_CALL();
	return c;
}

SITE static container *new_lost()
{
	container *c = new container;

	NOT_A_TAIL_CALL();
	return c;
}

/*
 * A vector keeps the address behind its memory: no allocator has blocks of just that size, or the
 * next one would begin there.
 */
#define ROOM (N + 3)

#define FILLERS(kind)                                \
	SITE static void kind##_vector(container *c) \
	{                                            \
		c->pointers.reserve(ROOM);           \
		NOT_A_TAIL_CALL();                   \
	}                                            \
	SITE static void kind##_list(container *c)   \
	{                                            \
		for (int i = 0; i < N; i++)          \
			c->numbers.push_back(i);     \
	}                                            \
	SITE static void kind##_map(container *c)    \
	{                                            \
		for (int i = 0; i < N; i++)          \
			c->texts[i];                 \
	}                                            \
	SITE static void kind##_string(container *c) \
	{                                            \
		c->name = TEXT;                      \
		NOT_A_TAIL_CALL();                   \
	}

FILLERS(held)
FILLERS(lost)

/* As libstdc++ lays out its nodes. */
#define LIST_NODE (2 * sizeof(void *) + sizeof(long))
#define MAP_NODE  (4 * sizeof(void *) + sizeof(dictionary::value_type))

ROOT container *held_container;

SITE static void fill_held()
{
	held_container = new_held();
	held_vector(held_container);
	fill_vector(held_container, new_int);
	held_list(held_container);
	held_map(held_container);
	held_string(held_container);
}

SITE static void fill_lost()
{
	container *c = new_lost();

	lost_vector(c);
	fill_vector(c, new_lost_int);
	lost_list(c);
	lost_map(c);
	lost_string(c);
}

static void containers(void)
{
	fill_held();
	fill_lost();
	EXPECT(new_held, REACHABLE, 1, sizeof(container));
	EXPECT(held_vector, REACHABLE, 1, ROOM * sizeof(int *));
	EXPECT(new_int, REACHABLE, N, sizeof(int));
	EXPECT(held_list, REACHABLE, N, LIST_NODE);
	EXPECT(held_map, REACHABLE, N, MAP_NODE);
	EXPECT(held_string, REACHABLE, 1, sizeof(TEXT));
	EXPECT(new_lost, DEFINITE, 1, sizeof(container));
	EXPECT(lost_vector, INDIRECT, 1, ROOM * sizeof(int *));
	EXPECT(new_lost_int, INDIRECT, N, sizeof(int));
	EXPECT(lost_list, INDIRECT, N, LIST_NODE);
	EXPECT(lost_map, INDIRECT, N, MAP_NODE);
	EXPECT(lost_string, INDIRECT, 1, sizeof(TEXT));
}

/*
 * Two that own each other: what shared_ptr leaks. The object lies 16 bytes into the block, behind
 * the counts.
 */
struct person {
	std::shared_ptr<person> friend_;
	long age = 1;
};

/* As std::make_shared allocates it: a vtable pointer and two counts, then the object. */
#define PERSON (2 * sizeof(void *) + sizeof(person))

SITE static std::shared_ptr<person> make_cyclic()
{
	return std::make_shared<person>();
}

SITE static std::shared_ptr<person> make_held()
{
	return std::make_shared<person>();
}

SITE static std::unique_ptr<person> make_unique_lost()
{
	return std::make_unique<person>();
}

SITE static void pair_up()
{
	auto a = make_cyclic(), b = make_cyclic();

	a->friend_ = b;
	b->friend_ = a;
}

SITE static void keep_one(std::vector<std::shared_ptr<person>> *into)
{
	into->push_back(make_held());
}

/* Not an object: that would be destroyed at the end, before the last verdict. */
ROOT std::vector<std::shared_ptr<person>> *people;

static void owners(void)
{
	people = new std::vector<std::shared_ptr<person>>;
	people->reserve(N);
	for (int i = 0; i < N; i++) {
		pair_up();
		keep_one(people);
		make_unique_lost().release();
	}
	EXPECT(make_cyclic, DEFINITE, N, PERSON);
	EXPECT(make_cyclic, INDIRECT, N, PERSON);
	EXPECT(make_held, REACHABLE, N, PERSON);
	EXPECT(make_unique_lost, DEFINITE, N, sizeof(person));
}

/* new[] of what needs no destructor has no cookie. */
SITE static long *new_plain()
{
	long *array = new long[10];

	NOT_A_TAIL_CALL();
	return array;
}

ROOT long *plain[N];

SITE static void hold_plain()
{
	for (int i = 0; i < N; i++) {
		plain[i] = new_plain();
		memset(plain[i], 0, 10 * sizeof(long));
		new_plain();
	}
}

static void arrays_without_cookie(void)
{
	hold_plain();
	EXPECT(new_plain, REACHABLE, N, 10 * sizeof(long));
	EXPECT(new_plain, DEFINITE, N, 10 * sizeof(long));
}

static const struct verdict_case cases[] = {
	{"containers", containers, 0}, {"owners", owners, 0},	{"plain", arrays_without_cookie, 0},
	{"known", known, 0},	       {"unknown", unknown, 1}, {NULL, NULL, 0},
};

int main()
{
	return verdict_serve(cases);
}
