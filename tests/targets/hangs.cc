// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Structures of many kinds, each behind a variable of its own, and how many bytes of blocks each has: a line of JSON,
 * {"VARIABLE": BYTES, …}. Bytes are those that can be used. Memory that is used again was full of pointers before.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

static long long *counted;

static void *count(void *p)
{
	if (!p)
		abort();
	if (counted)
		*counted += (long long)malloc_usable_size(p);
	return p;
}

static void uncount(void *p)
{
	if (counted)
		*counted -= (long long)malloc_usable_size(p);
	free(p);
}

void *operator new(size_t size)
{
	return count(malloc(size));
}

void operator delete(void *p) noexcept
{
	uncount(p);
}

void operator delete(void *p, size_t) noexcept
{
	uncount(p);
}

/* A value of some bytes, and behind it nothing that is a pointer. */
template <size_t Size> struct value {
	char bytes[Size];

	value()
	{
		memset(bytes, 'v', Size);
	}
};

template <size_t Size> static std::unique_ptr<value<Size>> make()
{
	return std::make_unique<value<Size>>();
}

#define N 5000

static std::vector<std::unique_ptr<value<200>>> vector_of;
static std::list<std::unique_ptr<value<120>>> list_of;
static std::forward_list<std::unique_ptr<value<104>>> forward_list_of;
static std::map<int, std::unique_ptr<value<312>>> map_of;
static std::set<std::unique_ptr<value<184>>> set_of;
static std::unordered_map<std::string, std::unique_ptr<value<72>>> unordered_map_of;
static std::deque<std::unique_ptr<value<88>>> deque_of;
static std::priority_queue<std::unique_ptr<value<136>>> queue_of;
static std::multimap<int, std::string> multimap_of;

/* Of C. */
struct ring_node {
	ring_node *next, *prev;
	void *payload;
};

struct chained {
	chained *next;
	unsigned long key;
	char *text;
};

struct skip_node {
	void *payload;
	int height;
	skip_node *next[1]; /* height of them */
};

struct rope {
	rope *left, *right, *parent;
	char *text;
};

static ring_node intrusive_ring = {&intrusive_ring, &intrusive_ring, nullptr};
static chained *hash_table[1024];
static chained **stale_table;
static skip_node *skip_list;
static rope *rope_root;
static void *ring_buffer[2048];
static unsigned ring_at;
static thread_local std::vector<std::unique_ptr<value<152>>> own_vector;

struct lru_item {
	lru_item *newer, *older;
	unsigned long key;
	void *payload;
};

static struct lru_cache {
	lru_item *first, *last;
	lru_item *table[4096];
} lru;

static void *take(size_t size)
{
	return count(malloc(size));
}

static char *take_text(const char *from, unsigned long number)
{
	char *text = (char *)take(64 + number % 40);

	sprintf(text, "%s number %lu", from, number);
	return text;
}

/* Places of many sizes, full of pointers to what is live, and free again. */
static void leave_behind(void *to)
{
	long long *before = counted;
	std::vector<void **> tables;

	counted = nullptr;
	for (size_t size = 16; size < 600; size += 8) {
		for (int i = 0; i < 40; i++) {
			void **table = (void **)malloc(size);

			for (size_t at = 0; at < size / 8; at++)
				table[at] = to;
			tables.push_back(table);
		}
	}
	for (void **table : tables)
		free(table);
	tables = {};
	counted = before;
}

static void fill_containers(int from, int to)
{
	for (int i = from; i < to; i++)
		map_of[i * 7919 % (2 * N)] = make<312>();
}

static void fill_ring()
{
	for (int i = 0; i < N; i++) {
		ring_node *node = (ring_node *)take(sizeof(*node));

		node->payload = take(56);
		memset(node->payload, 'r', 56);
		node->next = &intrusive_ring;
		node->prev = intrusive_ring.prev;
		node->prev->next = node;
		intrusive_ring.prev = node;
	}
}

static void fill_table(chained **table, unsigned long buckets, const char *name)
{
	for (unsigned long i = 0; i < N; i++) {
		chained *c = (chained *)take(sizeof(*c));

		c->key = i;
		c->text = take_text(name, i);
		c->next = table[i * 2654435761ul % buckets];
		table[i * 2654435761ul % buckets] = c;
	}
}

static void fill_skip_list()
{
	skip_node *last[8];

	skip_list = (skip_node *)take(sizeof(*skip_list) + 7 * sizeof(skip_node *));
	memset(skip_list, 0, sizeof(*skip_list) + 7 * sizeof(skip_node *));
	for (auto &l : last)
		l = skip_list;
	for (int i = 1; i < N; i++) {
		int height = 1 + __builtin_ctz((unsigned)i | 128);
		size_t size = sizeof(skip_node) + (size_t)(height - 1) * sizeof(skip_node *);
		skip_node *node = (skip_node *)take(size);

		node->height = height;
		node->payload = take(72);
		memset(node->payload, 's', 72);
		for (int level = 0; level < height; level++) {
			node->next[level] = nullptr;
			last[level]->next[level] = node;
			last[level] = node;
		}
	}
}

static rope *make_rope(rope *parent, int leaves)
{
	rope *r = (rope *)take(sizeof(*r));

	*r = {nullptr, nullptr, parent, nullptr};
	if (leaves == 1) {
		r->text = take_text("rope", (unsigned long)leaves);
		return r;
	}
	r->left = make_rope(r, leaves / 2);
	r->right = make_rope(r, leaves - leaves / 2);
	return r;
}

static void fill_lru()
{
	for (unsigned long i = 0; i < N; i++) {
		lru_item *item = (lru_item *)take(sizeof(*item));

		item->key = i;
		item->payload = take(240);
		memset(item->payload, 'l', 240);
		item->newer = nullptr;
		item->older = lru.first;
		if (lru.first)
			lru.first->newer = item;
		else
			lru.last = item;
		lru.first = item;
		lru.table[i % 4096] = item;
	}
}

/* A deque that has turned round often: its map is reallocated, and places are used again. */
static void fill_deque()
{
	for (int i = 0; i < 3 * N; i++) {
		deque_of.push_back(make<88>());
		if (i >= N)
			deque_of.pop_front();
	}
}

static std::map<std::string, long long> truth;

template <typename Fill> static void fill(const char *variable, void *leftover, Fill f)
{
	long long sum = 0;

	leave_behind(leftover);
	counted = &sum;
	f();
	counted = nullptr;
	truth[variable] += sum;
}

int main()
{
	fill("vector_of", &truth, [] {
		for (int i = 0; i < N; i++)
			vector_of.push_back(make<200>());
	});
	fill("list_of", vector_of[N / 2].get(), [] {
		for (int i = 0; i < N; i++)
			list_of.push_back(make<120>());
	});
	fill("forward_list_of", list_of.back().get(), [] {
		for (int i = 0; i < N; i++)
			forward_list_of.push_front(make<104>());
	});
	fill("map_of", &*std::next(list_of.begin(), N / 2), [] { fill_containers(0, N); });
	fill("set_of", &*std::next(forward_list_of.begin(), N / 2), [] {
		for (int i = 0; i < N; i++)
			set_of.insert(make<184>());
	});
	fill("unordered_map_of", &*map_of.find(7919), [] {
		for (int i = 0; i < N; i++)
			unordered_map_of["a key that is long enough to be elsewhere " +
					 std::to_string(i)] = make<72>();
	});
	fill("deque_of", (void *)set_of.begin()->get(), fill_deque);
	fill("queue_of", deque_of.back().get(), [] {
		for (int i = 0; i < N; i++)
			queue_of.push(make<136>());
	});
	fill("multimap_of", deque_of.front().get(), [] {
		for (int i = 0; i < N; i++)
			multimap_of.emplace(i % 50, "text that does not lie in the string itself " +
							    std::to_string(i));
	});
	fill("intrusive_ring", deque_of.front().get(), fill_ring);
	fill("hash_table", intrusive_ring.prev, [] { fill_table(hash_table, 1024, "chained"); });
	fill("stale_table", hash_table[1], [] {
		stale_table = (chained **)take(8192 * sizeof(*stale_table));
		memset((void *)stale_table, 0, 8192 * sizeof(*stale_table));
		fill_table(stale_table, 4096, "stale");
		memcpy((void *)(stale_table + 4096), (void *)stale_table,
		       4096 * sizeof(*stale_table));
	});
	fill("skip_list", stale_table[5], fill_skip_list);
	fill("rope_root", skip_list->next[0], [] { rope_root = make_rope(nullptr, N); });
	fill("ring_buffer", rope_root->left, [] {
		for (int i = 0; i < 3 * N; i++) {
			void *&slot = ring_buffer[ring_at++ % 2048];

			if (slot)
				uncount(slot);
			slot = take(400);
			memset(slot, 'b', 400);
		}
	});
	fill("own_vector", ring_buffer[7], [] {
		for (int i = 0; i < N; i++)
			own_vector.push_back(make<152>());
	});
	fill("lru", ring_buffer[9], fill_lru);
	const char *separator = "{";
	for (const auto &[variable, bytes] : truth) {
		printf("%s\"%s\":%lld", separator, variable.c_str(), bytes);
		separator = ",";
	}
	printf("}\n");
	fflush(stdout);
	return getchar() == EOF;
}
