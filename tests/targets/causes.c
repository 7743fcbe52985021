// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs with one cause each, by the name that is given. The line that a report has to name ends with
 * "cause: NAME". Those of which none is to be accused have no such line.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A call that ends its function would leave no frame of it. */
#pragma GCC optimize("no-optimize-sibling-calls")

#define COUNT	 400
#define NOINLINE __attribute__((noinline))

/* What is not a cause: every program works a little, and has some blocks for good. */
static void *settings[16];

static NOINLINE void configure(void)
{
	for (size_t i = 0; i < 16; i++)
		settings[i] = malloc(64);
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 1000; i++) {
		char *volatile scratch = malloc(200 + (size_t)i);

		scratch[0] = 1;
		free(scratch);
	}
}

/* ---- what nothing points to any more ------------------------------------------------------ */

struct handle {
	char *buffers[8];
	struct handle *next;
};

static NOINLINE struct handle *make_handle(void)
{
	struct handle *volatile h = calloc(1, sizeof(*h)); /* cause: handle */

	return h;
}

static NOINLINE void fill_handle(struct handle *h)
{
	for (size_t i = 0; i < 8; i++)
		h->buffers[i] = calloc(1, 300);
}

static void handle(void)
{
	for (int i = 0; i < COUNT; i++)
		fill_handle(make_handle());
}

static NOINLINE int parse(int fails)
{
	char *volatile text = malloc(700); /* cause: error_path */

	text[0] = 1;
	if (fails)
		return -1;
	free(text);
	return 0;
}

static void error_path(void)
{
	for (int i = 0; i < 3 * COUNT; i++)
		parse(i % 3 == 0);
}

static NOINLINE struct handle *make_link(struct handle *before)
{
	struct handle *link = calloc(1, sizeof(*link)); /* cause: ring */

	link->next = before;
	return link;
}

static NOINLINE void make_ring(int length)
{
	struct handle *first = make_link(NULL), *last = first;

	for (int i = 1; i < length; i++)
		last = make_link(last);
	first->next = last;
}

static void ring(void)
{
	for (int i = 0; i < COUNT / 10; i++)
		make_ring(10);
}

static NOINLINE size_t read_name(int i)
{
	char text[128];

	snprintf(text, sizeof(text), "%0100d", i);
	char *volatile name = strdup(text); /* cause: copy */

	return strlen(name);
}

static void copy(void)
{
	for (int i = 0; i < COUNT; i++)
		read_name(i);
}

static NOINLINE int list_folder(void)
{
	DIR *folder = opendir("/proc/self"); /* cause: library */

	return folder && readdir(folder) ? 1 : 0;
}

static void library(void)
{
	for (int i = 0; i < 40; i++)
		list_folder();
}

/* ---- what is kept, and ever more of it ---------------------------------------------------- */

struct entry {
	struct entry *next;
	char value[400];
};

static struct entry *table[64], *events;

static NOINLINE void put(unsigned key)
{
	struct entry *entry = malloc(sizeof(*entry)); /* cause: map */

	entry->next = table[key % 64];
	table[key % 64] = entry;
}

static void map(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		put(i * 7919);
}

static NOINLINE void log_event(int i)
{
	struct entry *entry = malloc(sizeof(*entry)); /* cause: list */

	snprintf(entry->value, sizeof(entry->value), "event %d", i);
	entry->next = events;
	events = entry;
}

static void list(void)
{
	for (int i = 0; i < COUNT; i++)
		log_event(i);
}

struct listener {
	void (*call)(void);
	char context[200];
};

static struct listener **listeners;
static size_t listener_count;

static NOINLINE void subscribe(void)
{
	listeners = realloc(listeners, (listener_count + 1) * sizeof(*listeners));
	listeners[listener_count++] = calloc(1, sizeof(**listeners)); /* cause: listeners */
}

static void many_listeners(void)
{
	for (int i = 0; i < COUNT; i++)
		subscribe();
}

static char *page;
static size_t page_len;

static NOINLINE void append(size_t more)
{
	page = realloc(page, page_len + more); /* cause: buffer */
	memset(page + page_len, 'x', more);
	page_len += more;
}

static void buffer(void)
{
	for (int i = 0; i < COUNT; i++)
		append(500);
}

/* A few that stay keep the pages of all that went. */
static void *kept[COUNT * 16];

static NOINLINE void keep_some(void)
{
	for (size_t i = 0; i < COUNT * 16; i++)
		kept[i] = malloc(900); /* cause: fragments */
	for (size_t i = 0; i < COUNT * 16; i++) {
		if (i % 16)
			free(kept[i]);
	}
}

static void *idle(void *nothing)
{
	return nothing;
}

static NOINLINE void start_worker(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, idle, NULL); /* cause: threads */
}

static void threads(void)
{
	for (int i = 0; i < 40; i++)
		start_worker();
}

/* ---- what no line of the program is to be blamed for -------------------------------------- */

/* Memory that no allocator has given out. */
static void mappings(void)
{
	size_t size = 64 << 20;
	char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all != MAP_FAILED)
		memset(all, 1, size);
}

static void nothing(void)
{
	for (int i = 0; i < 16; i++) {
		free(settings[i]);
		settings[i] = NULL;
	}
}

static char *volatile pool;

/* One block for good, taken at the start. */
static NOINLINE void make_pool(void)
{
	pool = calloc(1, 1 << 20);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} causes[] = {
		{"handle", handle},	  {"error_path", error_path},	 {"ring", ring},
		{"copy", copy},		  {"library", library},		 {"map", map},
		{"list", list},		  {"listeners", many_listeners}, {"buffer", buffer},
		{"fragments", keep_some}, {"threads", threads},		 {"mappings", mappings},
		{"nothing", nothing},	  {"pool", make_pool},
	};

	configure();
	for (size_t i = 0; argc > 1 && i < sizeof(causes) / sizeof(*causes); i++) {
		if (strcmp(causes[i].name, argv[1]) != 0)
			continue;
		work();
		causes[i].run();
		return 0;
	}
	return 2;
}
