/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A target that prints its own ground truth. The program says "ready PID", then obeys one command a
 * line from standard input and answers each with one JSON line: what every allocating function (a
 * "site") has allocated and freed since the tool attached. Nothing here allocates: truth is kept in
 * static arrays and written with write(2), so that the only allocations to be seen are those the
 * target means to make.
 */
#ifndef MEMLEAKBPF_TESTS_TRUTH_H
#define MEMLEAKBPF_TESTS_TRUTH_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRUTH_SITES  64
#define TRUTH_BLOCKS 65536

#if defined(__has_attribute)
#if __has_attribute(noipa)
#define SITE __attribute__((noipa, used))
#endif
#endif
#ifndef SITE
#define SITE __attribute__((noinline, used))
#endif

/* Keeps a call before it from becoming a tail call: the caller's frame has to be on the stack. */
#define NOT_A_TAIL_CALL() __asm__ volatile("" ::: "memory")

/*
 * What one function allocated, and what became of it. The counters are atomic: threads share them.
 */
struct truth_site {
	const char *name;
	uint64_t alloc_bytes, alloc_count;
	uint64_t free_bytes, free_count;
};

struct truth_block {
	void *address;
	size_t size;
	struct truth_site *site;
};

static struct truth_site truth_sites[TRUTH_SITES];
static unsigned int truth_site_count;
static int truth_site_lock;
static struct truth_block truth_blocks[TRUTH_BLOCKS];
static unsigned int truth_block_count;
static uint64_t truth_unknown_frees;
static char truth_line[256];

static inline void truth_die(const char *why)
{
	ssize_t n = write(2, why, strlen(why));

	n += write(2, "\n", 1);
	_exit(n > 0 ? 99 : 98);
}

/* The site of that name, made at first use. */
static inline struct truth_site *truth_site(const char *name)
{
	struct truth_site *site = NULL;

	while (__atomic_exchange_n(&truth_site_lock, 1, __ATOMIC_ACQUIRE))
		;
	for (unsigned int i = 0; i < truth_site_count; i++)
		if (!strcmp(truth_sites[i].name, name))
			site = &truth_sites[i];
	if (!site) {
		if (truth_site_count == TRUTH_SITES)
			truth_die("truth.h: too many sites");
		site = &truth_sites[truth_site_count++];
		site->name = name;
	}
	__atomic_store_n(&truth_site_lock, 0, __ATOMIC_RELEASE);
	return site;
}

#define THIS_SITE() truth_site(__func__)

/* Counts a block that was just allocated; a failed allocation (NULL) is none. Thread-safe. */
static inline void *truth_count(struct truth_site *site, void *address, size_t size)
{
	if (address) {
		__atomic_add_fetch(&site->alloc_bytes, size, __ATOMIC_RELAXED);
		__atomic_add_fetch(&site->alloc_count, 1, __ATOMIC_RELAXED);
	}
	return address;
}

/* Counts a block as freed, to the site that allocated it. Thread-safe. */
static inline void truth_uncount(struct truth_site *site, size_t size)
{
	__atomic_add_fetch(&site->free_bytes, size, __ATOMIC_RELAXED);
	__atomic_add_fetch(&site->free_count, 1, __ATOMIC_RELAXED);
}

/* Counts a block and remembers it by address. One thread only. */
static inline void *truth_keep(struct truth_site *site, void *address, size_t size)
{
	if (!address)
		return NULL;
	if (truth_block_count == TRUTH_BLOCKS)
		truth_die("truth.h: too many blocks");
	truth_blocks[truth_block_count].address = address;
	truth_blocks[truth_block_count].size = size;
	truth_blocks[truth_block_count++].site = site;
	return truth_count(site, address, size);
}

/* Counts a remembered block as freed; the caller frees it. */
static inline void truth_forget(void *address)
{
	for (unsigned int i = truth_block_count; i-- > 0;) {
		if (truth_blocks[i].address != address)
			continue;
		truth_uncount(truth_blocks[i].site, truth_blocks[i].size);
		truth_blocks[i] = truth_blocks[--truth_block_count];
		return;
	}
	truth_die("truth.h: freed a block that was never kept");
}

static inline void truth_free(void *address)
{
	truth_forget(address);
	free(address);
}

/* Frees at most `max` blocks of the site, the latest first. */
static inline void truth_free_some(struct truth_site *site, size_t max)
{
	for (unsigned int i = truth_block_count; i-- > 0 && max;) {
		if (truth_blocks[i].site == site) {
			truth_free(truth_blocks[i].address);
			max--;
		}
	}
}

/* A forked child is a target of its own: nothing allocated yet. */
static inline void truth_reset(void)
{
	memset(truth_sites, 0, sizeof(truth_sites));
	truth_site_count = 0;
	truth_block_count = 0;
	truth_unknown_frees = 0;
}

static inline void truth_write(const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(1, text, length);

		if (n <= 0)
			_exit(97);
		text += n;
		length -= (size_t)n;
	}
}

struct truth_text {
	char text[TRUTH_SITES * 320];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static inline void truth_add(struct truth_text *out,
								   const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(out->text + out->length, sizeof(out->text) - out->length, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(out->text) - out->length)
		truth_die("truth.h: line too long");
	out->length += (size_t)n;
}

/* Prints the truth as one line; `extra` is further JSON members (",\"x\":1") or "". */
static inline void truth_print(const char *phase, const char *extra)
{
	static const char *const groups[] = {"live", "alloc", "free"};
	static struct truth_text out;

	out.length = 0;
	truth_add(&out, "{\"phase\":\"%s\",\"pid\":%d", phase, (int)getpid());
	for (unsigned int g = 0; g < 3; g++) {
		truth_add(&out, ",\"%s\":{", groups[g]);
		for (unsigned int i = 0; i < truth_site_count; i++) {
			const struct truth_site *s = &truth_sites[i];
			uint64_t bytes = g == 2 ? s->free_bytes : s->alloc_bytes;
			uint64_t count = g == 2 ? s->free_count : s->alloc_count;

			if (g == 0) {
				bytes -= s->free_bytes;
				count -= s->free_count;
			}
			truth_add(&out, "%s\"%s\":{\"bytes\":%llu,\"count\":%llu}", i ? "," : "",
				  s->name, (unsigned long long)bytes, (unsigned long long)count);
		}
		truth_add(&out, "}");
	}
	truth_add(&out, ",\"unknown_frees\":%llu%s}\n", (unsigned long long)truth_unknown_frees,
		  extra);
	truth_write(out.text, out.length);
}

/* The next command, or NULL at the end of input. */
static inline const char *truth_command(void)
{
	size_t length = 0;
	char c;

	while (read(0, &c, 1) == 1) {
		if (c == '\n') {
			truth_line[length] = 0;
			return truth_line;
		}
		if (length + 1 < sizeof(truth_line))
			truth_line[length++] = c;
	}
	return NULL;
}

static inline void truth_ready(void)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "ready %d\n", (int)getpid());

	truth_write(line, (size_t)n);
}

/*
 * Says "ready", then hands each command to `obey` and prints the truth after it, until "quit" or
 * the end of input. obey returns further JSON members for the answer, or "", or NULL for a command
 * it does not know.
 */
static inline int truth_serve(const char *(*obey)(const char *command))
{
	const char *command;

	truth_ready();
	while ((command = truth_command())) {
		const char *extra;

		if (!strcmp(command, "quit")) {
			truth_print("quit", "");
			return 0;
		}
		extra = obey(command);
		if (!extra)
			truth_die("unknown command");
		truth_print(command, extra);
	}
	return 0;
}

#endif
