// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plays what tests/golden/java/record.py has taken from a JVM: exports HotSpot's tables for debuggers, has what these lead to, the code's
 * books and a thread's stack where they were, and allocates 5001 bytes on that stack, as a native method would. Says "ready PID",
 * and for a line on its standard input what stack of Java's that is in.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct field {
	const char *type, *field;
	uint64_t is_static, offset, address;
};

struct type {
	const char *name;
	uint64_t size;
};

struct segment {
	uint64_t address, size;
	const char *bytes;
};

#include IMAGE_FILE

#define PAGE	     4096ull
#define STACK_BELOW  (256ull << 10) /* for what is called there */
#define TRIES	     20
#define PAGES_MAX    4096
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What the tool looks for by name. */
struct field *gHotSpotVMStructs = image_fields;
uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct field);
uint64_t gHotSpotVMStructEntryTypeNameOffset = __builtin_offsetof(struct field, type);
uint64_t gHotSpotVMStructEntryFieldNameOffset = __builtin_offsetof(struct field, field);
uint64_t gHotSpotVMStructEntryOffsetOffset = __builtin_offsetof(struct field, offset);
uint64_t gHotSpotVMStructEntryAddressOffset = __builtin_offsetof(struct field, address);
struct type *gHotSpotVMTypes = image_types;
uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(struct type);
uint64_t gHotSpotVMTypeEntryTypeNameOffset = __builtin_offsetof(struct type, name);
uint64_t gHotSpotVMTypeEntrySizeOffset = __builtin_offsetof(struct type, size);

void *enter_java(void *sp, void *fp, void *stub);
void *native_method(void);
void *return_from_java(void *result) __attribute__((noreturn));

/*
 * Goes on at sp, where the address is that the innermost method returns to, with fp, and links `stub`, the frame that a JVM enters Java by, to
 * its own. Nothing of Java runs: return_from_java() comes back here.
 */
__asm__(".text\n"
	".globl enter_java\n"
	".type enter_java, @function\n"
	"enter_java:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	push %rdx\n"
	"	lea 1f(%rip), %rax\n"
	"	mov %rbp, (%rdx)\n"
	"	mov %rax, 8(%rdx)\n"
	"	mov %rsp, entered_at(%rip)\n"
	"	mov %rdi, %rsp\n"
	"	mov %rsi, %rbp\n"
	"	jmp native_method\n"
	/* What comes before the address that is returned to is a call. */
	"	call native_method\n"
	"1:	mov %rdi, %rax\n"
	"	mov entered_at(%rip), %rsp\n"
	"	pop %rdx\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size enter_java, . - enter_java\n"
	".globl return_from_java\n"
	".type return_from_java, @function\n"
	"return_from_java:\n"
	"	jmp 1b\n"
	".size return_from_java, . - return_from_java\n"
	".local entered_at\n"
	".comm entered_at, 8, 8\n");

__attribute__((noinline)) void *native_method(void)
{
	void *block = malloc(5001);

	return_from_java(block);
}

/* 0; EEXIST: something of this process is there. */
static int map_page(uint64_t page)
{
	static uint64_t mapped[PAGES_MAX];
	static size_t count;

	for (size_t i = 0; i < count; i++) {
		if (mapped[i] == page)
			return 0;
	}
	if (count == PAGES_MAX)
		return E2BIG;
	if (mmap((void *)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)page)
		return errno ?: EEXIST;
	mapped[count++] = page;
	return 0;
}

static int map_all(uint64_t start, uint64_t end)
{
	int err = 0;

	for (uint64_t page = start & ~(PAGE - 1); !err && page < end; page += PAGE)
		err = map_page(page);
	return err;
}

static int load(void)
{
	int err = map_all(IMAGE_SP - STACK_BELOW, IMAGE_SP);

	for (size_t i = 0; !err && i < COUNT(image_segments); i++) {
		const struct segment *s = &image_segments[i];

		err = map_all(s->address, s->address + s->size);
		if (!err)
			memcpy((void *)s->address, s->bytes, s->size);
	}
	return err;
}

int main(int argc, char **argv)
{
	char line[32], tries[2] = {argc > 1 ? argv[1][0] : 'a'};
	int err = load();

	if (err == EEXIST && *tries < 'a' + TRIES) {
		/* Where the kernel has put this process by chance; it does so anew. */
		++*tries;
		execl("/proc/self/exe", argv[0], tries, (char *)NULL);
	}
	if (err)
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!enter_java((void *)(IMAGE_SP - 8), (void *)IMAGE_FP, (void *)IMAGE_STUB))
			return 1;
		printf("%s\n", IMAGE_STACK);
		fflush(stdout);
	}
	return 0;
}
