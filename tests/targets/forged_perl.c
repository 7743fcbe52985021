// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No Perl, but what looks like 5.36 from outside. Says "ready PID", and for each line on its standard input allocates as many bytes as
 * no other, from what it says are Perl's subroutines, and says "done": "right": main::forged, at line 3 of /srv/forged.pl, called in
 * line 4 of it; "circle": its stack of contexts is in front of itself; "empty": so is one without contexts; "long": names without an
 * end; "gone": one whose package has none, and that is named by nothing; "left": one that is being freed; "far": contexts in no
 * memory; "index": more of them than there is memory; "kind": no subroutine; "glob": named by no glob; "name": by what is in no
 * memory; "file": so is its file's; "away": its name's characters are in no memory for now; "back": they are, and it is called in line 2.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((used, visibility("default")))
#define FAR	 0x123456780000ull

EXPORTED const uint8_t PL_version = 36, PL_subversion = 0;
EXPORTED const uint16_t PL_interp_size = 3768;
EXPORTED pthread_key_t PL_thr_key;

EXPORTED void perl_construct(void)
{
}

EXPORTED __attribute__((noinline)) void *Perl_runops_standard(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static uint64_t interpreter[471];

static uint64_t *words(size_t count)
{
	return calloc(count, sizeof(uint64_t));
}

/* A value of a type, with a body of so many words. */
static uint64_t *value(uint64_t type, size_t count)
{
	uint64_t *made = words(3);

	made[0] = (uint64_t)words(count);
	made[1] = type << 32 | 1;
	return made;
}

static uint64_t *body(uint64_t *of)
{
	return (uint64_t *)of[0];
}

static uint64_t name(const char *text, uint32_t length)
{
	uint32_t *hek = calloc(1, 1024);

	hek[1] = length;
	memset(hek + 2, 'x', 900);
	memcpy(hek + 2, text, strlen(text));
	return (uint64_t)hek;
}

static uint64_t statement(uint64_t line, const char *file)
{
	uint64_t *cop = words(16);

	cop[4] = line << 32;
	cop[6] = (uint64_t)strdup(file);
	return (uint64_t)cop;
}

/* Its head is at the end of a page, the characters behind that in one that is not there. */
static uint64_t name_away(const char *text)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *hek = (uint32_t *)(pages + 4096 - 8);

	/* Its hash, by which it is another one than all of name(). */
	hek[0] = 1;
	hek[1] = (uint32_t)strlen(text);
	memcpy(hek + 2, text, strlen(text));
	mprotect(pages + 4096, 4096, PROT_NONE);
	return (uint64_t)hek;
}

/* Which is all that tells that stack from the one before. */
static void come_back(void)
{
	uint64_t *contexts = (uint64_t *)((uint64_t *)interpreter[28])[1];
	uint64_t *glob = (uint64_t *)body((uint64_t *)contexts[13 + 9])[7];

	mprotect((char *)body(glob)[4] + 8, 4096, PROT_READ);
	contexts[13 + 2] = statement(2, "/srv/forged.pl");
}

static void forge(const char *how)
{
	static char long_file[500];
	uint64_t *info = words(8), *contexts = words(13 * 3), *cv = value(13, 16);
	uint64_t *glob = value(9, 8), *stash = value(12, 16);

	interpreter[26] = statement(3, "/srv/forged.pl");
	interpreter[28] = (uint64_t)info;
	info[1] = (uint64_t)contexts;
	info[4] = 2;
	info[5] = 1ull << 32;
	body(cv)[7] = (uint64_t)glob;
	body(glob)[4] = name("forged", 6);
	body(glob)[5] = (uint64_t)stash;
	body(stash)[4] = name("main", 4);
	/* A block, the subroutine, a loop. */
	contexts[0] = 2;
	contexts[13] = 9;
	contexts[13 + 2] = statement(4, "/srv/forged.pl");
	contexts[13 + 6] = 1;
	contexts[13 + 9] = (uint64_t)cv;
	contexts[26] = 8;
	if (!strcmp(how, "circle") || !strcmp(how, "empty")) {
		info[2] = (uint64_t)info;
		info[5] = 2ull << 32;
		info[4] = !strcmp(how, "circle") ? 2 : UINT32_MAX;
	} else if (!strcmp(how, "long")) {
		memset(long_file, 'y', sizeof(long_file) - 1);
		body(glob)[4] = name("", 1u << 30);
		((uint64_t *)interpreter[26])[6] = (uint64_t)long_file;
	} else if (!strcmp(how, "gone")) {
		body(cv)[7] = 0;
	} else if (!strcmp(how, "left")) {
		contexts[13 + 9] = 0;
	} else if (!strcmp(how, "far")) {
		info[1] = FAR;
	} else if (!strcmp(how, "index")) {
		info[4] = INT32_MAX;
	} else if (!strcmp(how, "kind")) {
		cv[1] = 12ull << 32;
	} else if (!strcmp(how, "glob")) {
		glob[1] = 8ull << 32;
	} else if (!strcmp(how, "name")) {
		body(glob)[4] = FAR;
	} else if (!strcmp(how, "away")) {
		body(glob)[4] = name_away("forged");
	} else if (!strcmp(how, "file")) {
		((uint64_t *)interpreter[26])[6] = FAR;
	}
}

int main(void)
{
	size_t size = 5000;
	char how[64];

	if (pthread_key_create(&PL_thr_key, NULL))
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (fgets(how, sizeof(how), stdin)) {
		how[strcspn(how, "\n")] = '\0';
		if (strcmp(how, "back"))
			forge(how);
		else
			come_back();
		pthread_setspecific(PL_thr_key, interpreter);
		/* Nobody but who looks from outside reads that. */
		__asm__ volatile("" ::: "memory");
		Perl_runops_standard(++size);
		__asm__ volatile("" ::: "memory");
		pthread_setspecific(PL_thr_key, NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
