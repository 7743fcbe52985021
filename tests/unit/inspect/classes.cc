// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program whose heap is put into groups. It keeps books: for each block a line "block ADDRESS SIZE
 * KIND NAME", with KIND as group_kind_name() has it and the size that it asked for; then "ready", and it
 * waits for its end of input. Compiled with and without RTTI, symbols and debug information.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include <malloc.h>
#include <unistd.h>

namespace shop
{

struct Session {
	virtual ~Session()
	{
	}
	long data[4] = {1, 2, 3, 4};
};

struct Logger {
	virtual void log()
	{
	}
	long written = 7;
};

/* Two tables: what points to the Logger in it points into its middle. */
struct Both : Session, Logger {
	long more = 1;
};

/* The table comes first, although the first base has none. */
struct Plain {
	long value = 3;
};
struct Mixed : Plain, Logger {
	void log() override
	{
	}
};

struct Base {
	virtual ~Base()
	{
	}
	int a = 1;
};
struct Left : virtual Base {
	int l = 2;
};
struct Right : virtual Base {
	int r = 3;
};
struct Diamond : Left, Right {
	int d = 4;
};

struct Abstract {
	virtual ~Abstract()
	{
	}
	virtual int what() = 0;
};
struct Concrete : Abstract {
	int what() override
	{
		return 1;
	}
};

struct alignas(16) Wide {
	virtual ~Wide()
	{
	}
	long data[3] = {5, 6, 7};
};

} // namespace shop

template <typename T> struct Box {
	virtual ~Box()
	{
	}
	T value{};
};

namespace
{

struct Hidden {
	virtual ~Hidden()
	{
	}
	int x = 1;
};

} // namespace

/* A table of functions as C has them, and what begins with a pointer to it. */
struct operations {
	long zero[2];
	int (*close)(int);
};
static const operations file_operations = {{0, 0}, close};
struct file {
	const void *operations;
	long number;
};

static void book(const void *block, size_t size, const char *kind, const char *name)
{
	printf("block %jx %zu %s %s\n", (uintmax_t)block, size, kind, name);
}

template <typename T> static void make(int count, const char *name)
{
	while (count--)
		book(new T, sizeof(T), "class", name);
}

template <typename T> static void make_array(int count, size_t n, size_t cookie, const char *name)
{
	while (count--)
		book(reinterpret_cast<char *>(new T[n]) - cookie, cookie + n * sizeof(T), "class",
		     name);
}

static void make_local(int count)
{
	struct Local {
		virtual ~Local()
		{
		}
		int x = 1;
	};

	make<Local>(count, "make_local(int)::Local");
}

static void make_text(int count)
{
	static const char *const texts[] = {"abcd", "a line\n\tand another\n",
					    "\xc3\xa4\xe2\x82\xac and more",
					    "/usr/share/doc/and/so/on/which/is/longer/than/a/word"};

	for (int i = 0; i < count; i++) {
		const char *text = texts[i % 4];

		book(strdup(text), strlen(text) + 1, "text", "text");
	}
	/* To the end, without a NUL. */
	char *full = static_cast<char *>(malloc(4096 + 8));

	memset(full, 'x', malloc_usable_size(full));
	book(full, malloc_usable_size(full), "text", "text");
}

static void make_sizes(int count)
{
	for (int i = 0; i < count; i++) {
		file *f = static_cast<file *>(calloc(1, 80));

		/* Not behind two zeros in a file's memory: it is no table of C++. */
		f->operations = &file_operations.close + 1;
		f->number = 5;
		book(f, 80, "size", "files");
	}
	/* Too few to begin alike. */
	for (int i = 0; i < 10; i++) {
		auto *bytes = static_cast<unsigned char *>(malloc(200));

		for (int k = 0; k < 200; k++)
			bytes[k] = static_cast<unsigned char>(i * 31 + k * 7 + 128);
		book(bytes, 200, "size", "bytes");
	}
	/* No text: too short, a control character, no UTF-8. */
	book(strcpy(static_cast<char *>(malloc(120)), "abc"), 120, "size", "short");
	book(strcpy(static_cast<char *>(malloc(136)), "abcdef\x01"), 136, "size", "control");
	book(strcpy(static_cast<char *>(malloc(152)), "abcdef\xff"), 152, "size", "latin");
	/* One has been a Session: its table is there no more. */
	book(calloc(1, 168), 168, "size", "zeros");
	/* A count, and one object: what follows a number may be anything. */
	auto **pair = static_cast<shop::Session **>(calloc(1, 184));
	pair[0] = reinterpret_cast<shop::Session *>(1);
	memcpy(&pair[1], static_cast<void *>(new (pair + 8) shop::Session), 8);
	book(pair, 184, "size", "pair");
	/* The second table of a class: what it is of begins elsewhere. */
	auto *both = new shop::Both;
	auto *words = static_cast<long *>(calloc(1, 216));

	book(both, sizeof(*both), "class", "shop::Both");
	memcpy(words, static_cast<void *>(static_cast<shop::Logger *>(both)), 8);
	book(words, 216, "size", "second");
}

int main()
{
	setvbuf(stdout, nullptr, _IOFBF, 1 << 16);
	make<shop::Session>(41, "shop::Session");
	make<shop::Logger>(5, "shop::Logger");
	make<shop::Both>(16, "shop::Both");
	make<shop::Mixed>(9, "shop::Mixed");
	make<shop::Diamond>(13, "shop::Diamond");
	make<shop::Left>(2, "shop::Left");
	make<shop::Concrete>(3, "shop::Concrete");
	make<shop::Wide>(8, "shop::Wide");
	make<Box<int>>(11, "Box<int>");
	make<Box<Box<char[3]>>>(12, "Box<Box<char [3]> >");
	make<Box<shop::Session *(*)(int, long)>>(1, "Box<shop::Session* (*)(int, long)>");
	make<Hidden>(6, "(anonymous namespace)::Hidden");
	make_local(7);
	make_array<shop::Session>(4, 5, 8, "shop::Session[]");
	make_array<shop::Wide>(3, 2, 16, "shop::Wide[]");
	make_array<Box<int>>(2, 1000, 8, "Box<int>[]");
	make_text(22);
	make_sizes(33);
	puts("ready");
	fflush(stdout);
	char c;

	return read(STDIN_FILENO, &c, 1) < 0;
}
