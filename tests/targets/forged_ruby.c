// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No Ruby, but what looks like 3.1 from outside. Says "ready PID", and for each line on its standard input allocates as many bytes as
 * no other, from what it says are Ruby's methods, and says "done": "right": forged, at line 3 of /srv/forged.rb, called by <main> in
 * line 4 of it; "many": called by itself on a stack of 2^31 words; "circle": its path is an array that begins with itself; "long":
 * a name of 2^40 characters; "edge": one that goes on where no memory is; "label", "path": no string; "lines": a table of lines in
 * no memory; "runs": of more lines than there are; "minus": of line -1; "odd": an iseq at an odd address; "each", "+", "object":
 * forged calls a method in C of the name "each", "+", and "each" again, whose symbol is an object; "symbol": the symbol is another's;
 * "number": of an ID of 2^36; "ids": what they are called is in no memory; "away": so is forged's name for now; "back": it is there, and
 * forged called by <main> in line 2. These have no frames: "context": is in no memory; "stack": of 2^61 words; "wrap": from the last page of all on; "between": its frame begins in the
 * middle of another; "behind": lies behind the stack's end; "env": has its flags in no memory; "code": its iseq is in none; "kind":
 * is something else; "body": its body is in none; "pc": its instruction is another method's; "name": its label is in none; "method":
 * a method in C is something else; "defined": what defines it is in none.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((used, visibility("default")))
#define FAR	 0x123456780000ull

enum {
	FRAME_WORDS = 8,
	STACK_FRAMES = 200,
	STACK_WORDS = FRAME_WORDS * STACK_FRAMES,
	/* Of a frame, */
	PC = 0,
	ISEQ = 2,
	EP = 4,
	/* an iseq's body, */
	SIZE = 0,
	ENCODED = 1,
	PATH = 8,
	LABEL = 10,
	INFOS = 15,
	INFO_COUNT = 17,
	INFO_TABLE = 18,
	/* and a string. */
	LENGTH = 2,
	POINTER = 3,
	/* IDs: of which the second is an operator's. */
	EACH = 1000 << 4 | 3,
	PLUS = '+',
	UNIT = 512,
};

EXPORTED const char ruby_version[] = "3.1.2";
EXPORTED const int ruby_api_version[] = {3, 1, 0};
EXPORTED __thread uint64_t *ruby_current_ec;

EXPORTED struct {
	uint64_t last, texts, ids, symbols;
} ruby_global_symbols = {.last = 250};

EXPORTED __attribute__((noinline)) void *rb_vm_exec(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

struct forged {
	uint64_t *context, *frame, *iseq, *body, *label; /* the innermost frame's */
	uint64_t *other;				 /* what calls it */
};

static uint64_t *words(size_t count)
{
	return calloc(count, sizeof(uint64_t));
}

static uint64_t *string(const char *characters, uint64_t length)
{
	uint64_t *made = words(5);

	made[0] = 1ull << 13 | 5;
	made[LENGTH] = length;
	made[POINTER] = (uint64_t)characters;
	return made;
}

/* Four words of code, in lines 1 to 4. */
static uint64_t *method(const char *name)
{
	uint64_t *iseq = words(5), *body = words(19), *table = words(6);
	uint32_t *infos = calloc(4, 12);

	for (uint32_t i = 0; i < 4; i++) {
		infos[3 * i] = i + 1;
		table[0] |= (uint64_t)(i + 1) << 7 * i;
	}
	iseq[0] = 7 << 12 | 0x1a;
	iseq[2] = (uint64_t)body;
	body[SIZE] = 4ull << 32;
	body[ENCODED] = (uint64_t)words(4);
	body[PATH] = (uint64_t)string("/srv/forged.rb", strlen("/srv/forged.rb"));
	body[LABEL] = (uint64_t)string(name, strlen(name));
	body[INFOS] = (uint64_t)infos;
	body[INFO_COUNT] = 4;
	body[INFO_TABLE] = (uint64_t)table;
	return iseq;
}

/* Its pc is behind the instruction of that line. */
static void enter(uint64_t *frame, uint64_t *iseq, uint64_t line, uint64_t flags)
{
	uint64_t *body = (uint64_t *)iseq[2], *env = words(3);

	env[2] = flags;
	frame[PC] = body[ENCODED] + 8 * line;
	frame[ISEQ] = (uint64_t)iseq;
	frame[EP] = (uint64_t)(env + 2);
}

static uint64_t *array(uint64_t *elements)
{
	uint64_t *made = words(5);

	made[0] = 7;
	made[2] = 2 * UNIT;
	made[4] = (uint64_t)elements;
	return made;
}

/* What the two IDs are called. */
static void name_ids(const char *how)
{
	uint64_t *units = words(2 * UNIT), *low = words(2 * UNIT), *high = words(2 * UNIT);
	uint64_t *each = high + 2 * ((EACH >> 4) % UNIT), *object = words(5);

	each[0] = (uint64_t)string("each", 4);
	each[1] = EACH << 8 | 12;
	low[2 * PLUS] = (uint64_t)string("+", 1);
	low[2 * PLUS + 1] = PLUS << 8 | 12;
	units[0] = (uint64_t)array(low);
	units[1] = (uint64_t)array(high);
	ruby_global_symbols.ids = strcmp(how, "ids") ? (uint64_t)array(units) : FAR;
	if (!strcmp(how, "symbol")) {
		each[1] = (EACH + 1) << 8 | 12;
	} else if (!strcmp(how, "object")) {
		object[0] = 0x14;
		object[3] = each[0];
		object[4] = EACH;
		each[1] = (uint64_t)object;
	}
}

/* In front of the innermost frame. */
static void enter_c(struct forged *f, const char *how)
{
	uint64_t *env = words(3), *method = words(5), *definition = words(6);

	f->frame -= FRAME_WORDS;
	f->context[2] = (uint64_t)f->frame;
	f->frame[EP] = (uint64_t)(env + 2);
	env[2] = 0x55550001 | 0x80;
	env[0] = (uint64_t)method;
	method[0] = (!strcmp(how, "method") ? 7 : 6) << 12 | 0x1a;
	method[2] = strcmp(how, "defined") ? (uint64_t)definition : FAR;
	definition[0] = 1;
	definition[1] = (uint64_t)rb_vm_exec;
	definition[4] = !strcmp(how, "+") ? PLUS : !strcmp(how, "number") ? 1ull << 36 : EACH;
	name_ids(how);
}

/* Behind the last frame is one of nobody's, and the stack's end. */
static void prepare(struct forged *f)
{
	uint64_t *stack = words(STACK_WORDS);

	f->frame = stack + STACK_WORDS - 3 * FRAME_WORDS;
	f->iseq = method("forged");
	f->body = (uint64_t *)f->iseq[2];
	f->label = (uint64_t *)f->body[LABEL];
	f->other = method("<main>");
	enter(f->frame, f->iseq, 3, 0x11110001);
	enter(f->frame + FRAME_WORDS, f->other, 4, 0x44440001 | 0x20);
	f->context = words(3);
	f->context[0] = (uint64_t)stack;
	f->context[1] = STACK_WORDS;
	f->context[2] = (uint64_t)f->frame;
}

/* Shown, but for what is not there. */
static void forge_names(struct forged *f, const char *how)
{
	static char long_name[400];
	uint64_t *stack = (uint64_t *)f->context[0];

	if (!strcmp(how, "many")) {
		for (size_t i = 0; i < STACK_FRAMES; i++)
			enter(stack + i * FRAME_WORDS, f->iseq, 3, 0x11110001);
		f->context[1] = 1ull << 31;
		f->context[2] = (uint64_t)stack;
	} else if (!strcmp(how, "circle")) {
		uint64_t *path = words(5);

		path[0] = 1 << 13 | 2 << 15 | 7;
		path[2] = path[3] = (uint64_t)path;
		f->body[PATH] = (uint64_t)path;
	} else if (!strcmp(how, "long")) {
		memset(long_name, 'x', sizeof(long_name));
		f->label[LENGTH] = 1ull << 40;
		f->label[POINTER] = (uint64_t)long_name;
	} else if (!strcmp(how, "edge")) {
		char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		memset(page, 'y', 4096);
		munmap(page + 4096, 4096);
		f->label[LENGTH] = 64;
		f->label[POINTER] = (uint64_t)page + 4096 - 32;
	} else if (!strcmp(how, "away")) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		memcpy(page, "forged", 6);
		mprotect(page, 4096, PROT_NONE);
		f->label[POINTER] = (uint64_t)page;
	} else if (!strcmp(how, "label")) {
		f->label[0] = 1 << 13 | 8;
	} else if (!strcmp(how, "path")) {
		f->body[PATH] = (uint64_t)f->iseq;
	} else if (!strcmp(how, "lines")) {
		f->body[INFO_TABLE] = FAR;
	} else if (!strcmp(how, "runs")) {
		f->body[INFO_COUNT] = 2;
	} else if (!strcmp(how, "minus")) {
		((int32_t *)f->body[INFOS])[3 * 2] = -1;
	} else if (!strcmp(how, "odd")) {
		char *moved = calloc(1, 64);

		memcpy(moved + 3, f->iseq, 40);
		f->frame[ISEQ] = (uint64_t)moved + 3;
	}
}

/* Which is all that tells that stack from the one before. */
static void come_back(struct forged *f)
{
	mprotect((void *)f->label[POINTER], 4096, PROT_READ);
	enter(f->frame + FRAME_WORDS, f->other, 2, 0x44440001 | 0x20);
}

/* Nothing that could be shown. */
static void forge_frames(struct forged *f, const char *how)
{
	if (!strcmp(how, "context")) {
		f->context = (uint64_t *)FAR;
	} else if (!strcmp(how, "stack")) {
		f->context[1] = 1ull << 61;
	} else if (!strcmp(how, "wrap")) {
		f->context[0] = -4096ull;
	} else if (!strcmp(how, "between")) {
		f->context[2] += 8;
	} else if (!strcmp(how, "behind")) {
		f->context[2] += 3 * 8 * FRAME_WORDS;
	} else if (!strcmp(how, "env")) {
		f->frame[EP] = FAR;
	} else if (!strcmp(how, "code")) {
		f->frame[ISEQ] = FAR;
	} else if (!strcmp(how, "kind")) {
		f->iseq[0] = 6 << 12 | 0x1a;
	} else if (!strcmp(how, "body")) {
		f->iseq[2] = FAR;
	} else if (!strcmp(how, "pc")) {
		f->frame[PC] = ((uint64_t *)f->other[2])[ENCODED];
	} else if (!strcmp(how, "name")) {
		f->body[LABEL] = FAR;
	}
}

int main(void)
{
	size_t size = 5000;
	struct forged f;
	char how[64];

	prepare(&f);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(how, sizeof(how), stdin)) {
		how[strcspn(how, "\n")] = '\0';
		if (!strcmp(how, "back")) {
			come_back(&f);
		} else {
			prepare(&f);
			forge_names(&f, how);
			forge_frames(&f, how);
		}
		if (strstr("each + object symbol number ids method defined", how))
			enter_c(&f, how);
		ruby_current_ec = f.context;
		/* Nobody but who looks from outside reads that. */
		__asm__ volatile("" ::: "memory");
		rb_vm_exec(++size);
		__asm__ volatile("" ::: "memory");
		ruby_current_ec = NULL;
		puts("done");
		fflush(stdout);
	}
	return 0;
}
