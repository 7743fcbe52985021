// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No PHP, but what looks like 8.2 from outside. Says "ready PID", and for each line on its standard input allocates as many bytes as
 * no other, from what it says are PHP's functions, and says "done": "right": forged, at line 3 of /srv/forged.php, which forged calls;
 * "nowhere": stands in none of its instructions; "circle": is called by itself; "long": a name of 2^40 characters; "far": its caller's
 * frame is in no memory; "kind": is no function; "text": its name is no string; "name": is in no memory; "file": so is its file's;
 * "away": its name's characters are in no memory for now; "back": they are, and forged calls it in line 4.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((used, visibility("default")))
#define FAR	 0x123456780000ull

EXPORTED uint64_t executor_globals[225];

EXPORTED struct {
	uint16_t size;
	uint32_t api;
	uint8_t debug, zts;
	uint64_t rest[19];
} modules[] = {{168, 20220829, 0, 0, {1}}, {168, 20220829, 0, 0, {2}}, {168, 20220829, 0, 0, {3}}};
_Static_assert(sizeof(modules[0]) == 168, "struct _zend_module_entry");

EXPORTED void zend_mm_gc(void)
{
}

EXPORTED __attribute__((noinline)) void *execute_ex(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

struct frame {
	uint64_t opline, call, value, func, this, info, prev;
};

static uint64_t *text(const char *characters)
{
	uint64_t *words = calloc(64, sizeof(*words));

	words[0] = 6ull << 32 | 1;
	words[2] = strlen(characters);
	strcpy((char *)(words + 3), characters);
	return words;
}

static uint64_t *long_text(void)
{
	uint64_t *words = text("");

	words[2] = 1ull << 40;
	memset(words + 3, 'x', 400);
	return words;
}

/* Its head is at the end of a page, the characters behind that in one that is not there. */
static uint64_t *text_away(const char *characters)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *words = (uint64_t *)(pages + 4096 - 3 * 8);

	words[0] = 6ull << 32 | 1;
	words[2] = strlen(characters);
	strcpy((char *)(words + 3), characters);
	mprotect(pages + 4096, 4096, PROT_NONE);
	return words;
}

/* Which is all that tells that stack from the one before. */
static void come_back(struct frame *outer)
{
	uint64_t *func = (uint64_t *)outer->func;

	mprotect((uint64_t *)func[1] + 3, 4096, PROT_READ);
	outer->opline = func[11] + 3 * 32;
}

/* Of four instructions, in lines 1 to 4. */
static uint64_t *function(void)
{
	uint64_t *func = calloc(32, sizeof(*func)), *ops = calloc(16, sizeof(*ops));

	for (size_t i = 0; i < 4; i++)
		ops[4 * i + 3] = i + 1;
	func[0] = 2;
	func[1] = (uint64_t)text("forged");
	func[10] = 4;
	func[11] = (uint64_t)ops;
	func[19] = (uint64_t)text("/srv/forged.php");
	func[20] = 1;
	return func;
}

static void forge(struct frame *inner, struct frame *outer, const char *how)
{
	uint64_t *func = function();

	*inner = *outer = (struct frame){.opline = func[11] + 2 * 32, .func = (uint64_t)func};
	inner->prev = (uint64_t)outer;
	outer->info = 0x20000;
	if (!strcmp(how, "nowhere"))
		outer->opline = func[11] + 4 * 32;
	else if (!strcmp(how, "circle"))
		outer->prev = (uint64_t)outer;
	else if (!strcmp(how, "long"))
		func[1] = (uint64_t)long_text();
	else if (!strcmp(how, "far"))
		outer->prev = FAR;
	else if (!strcmp(how, "kind"))
		func[0] = 3;
	else if (!strcmp(how, "text"))
		((uint64_t *)func[1])[0] = 7ull << 32;
	else if (!strcmp(how, "name"))
		func[1] = FAR;
	else if (!strcmp(how, "away"))
		func[1] = (uint64_t)text_away("forged");
	else if (!strcmp(how, "file"))
		func[19] = FAR;
}

int main(void)
{
	struct frame inner = {0}, outer = {0};
	size_t size = 5000;
	char how[64];

	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(how, sizeof(how), stdin)) {
		how[strcspn(how, "\n")] = '\0';
		if (strcmp(how, "back"))
			forge(&inner, &outer, how);
		else
			come_back(&outer);
		executor_globals[61] = (uint64_t)&inner;
		/* Nobody but who looks from outside reads that. */
		__asm__ volatile("" ::: "memory");
		execute_ex(++size);
		__asm__ volatile("" ::: "memory");
		executor_globals[61] = 0;
		puts("done");
		fflush(stdout);
	}
	return 0;
}
