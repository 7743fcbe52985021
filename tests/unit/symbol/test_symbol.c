// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions, lines and inlined calls of programs compiled here, and of this process. Ground truth:
 * nm, llvm-addr2line (binutils' takes the wrong file of DWARF 5 line tables, elfutils' is the one
 * under test), dladdr and the vDSO's own symbol table.
 */
#include "tests/unit/symbol/fixture.h"

#include <dlfcn.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/auxv.h>

#include "user/base/util.h"

static void function_and_line(void **state)
{
	static const char *const functions[] = {"visible_leaf", "hidden_leaf", "visible_caller",
						"main"};
	struct fixture *fixture = *state;

	run(fixture, "gcc -g -O1 -o plain $S/plain.c");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		uint64_t address = address_of(fixture, "plain", functions[i]);
		const struct frame *frame = look_up_last(fixture, "plain", address + 2);

		assert_string_equal(frame->function, functions[i]);
		assert_int_equal(frame->offset, 2);
		assert_int_equal(frame->module_offset, address + 2);
		assert_string_equal(frame->module, "plain");
		assert_ends_with(frame->module_path, "/plain");
		assert_ends_with(frame->file, "tests/unit/symbol/plain.c");
		assert_int_equal(frame->file[0], '/');
		assert_false(frame->inlined);
		assert_int_equal(frame->build_id_len, 20);
		assert_int_equal(frame->line, ask(fixture,
						  "printf '%%x' $(addr2line -e plain 0x%lx | sed "
						  "'s/.*:\\([0-9]*\\).*/\\1/')",
						  (unsigned long)address + 2));
	}
}

static void return_address_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct names names;
	uint64_t start;
	uint64_t size;

	run(fixture, "gcc -g -O2 -o plain $S/plain.c");
	start = address_of(fixture, "plain", "never_returns");
	size = size_of(fixture, "plain", "never_returns");
	names = look_up(fixture, "plain", start + size, true, getpid());
	assert_string_equal(names.frames[0]->function, "never_returns");
	assert_int_equal(names.frames[0]->offset, size);
	assert_int_equal(names.frames[0]->module_offset, start + size);
	/* The same place as an instruction is not its own: padding, or the next function. */
	names = look_up(fixture, "plain", start + size, false, getpid());
	assert_true(!names.frames[0]->function ||
		    strcmp(names.frames[0]->function, "never_returns") != 0);
}

static void aliases_take_the_public_name(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "gcc -O1 -o plain $S/plain.c");
	assert_string_equal(look_up_last(fixture, "plain",
					 address_of(fixture, "plain", "__internal_name_of_leaf"))
				    ->function,
			    "visible_leaf");
}

static void expect(struct fixture *fixture, const char *symbol, uint64_t at, const char *function,
		   uint64_t offset)
{
	uint64_t address = address_of(fixture, "gaps.so", symbol) + at;
	const struct frame *frame = look_up_last(fixture, "gaps.so", address);

	if (!function) {
		assert_null(frame->function);
		assert_int_equal(frame->offset, address);
	} else {
		assert_non_null(frame->function);
		assert_string_equal(frame->function, function);
		assert_int_equal(frame->offset, offset);
	}
	assert_string_equal(frame->module, "gaps.so");
	assert_int_equal(frame->module_offset, address);
}

static void symbols_cover_or_do_not_count(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "gcc -shared -nostdlib -o gaps.so $S/gaps.S");
	expect(fixture, "sized_one", 0, "sized_one", 0);
	expect(fixture, "sized_one", 15, "sized_one", 15);
	expect(fixture, "sized_one", 16, NULL, 0);
	expect(fixture, "sized_one", 63, NULL, 0);
	expect(fixture, "outer_symbol", 15, "outer_symbol", 15);
	expect(fixture, "outer_symbol", 16, "inner_symbol", 0);
	expect(fixture, "outer_symbol", 23, "inner_symbol", 7);
	expect(fixture, "outer_symbol", 24, "outer_symbol", 24);
	expect(fixture, "outer_symbol", 32, NULL, 0);
	expect(fixture, "unsized_symbol", 0, "unsized_symbol", 0);
	expect(fixture, "unsized_symbol", 23, "unsized_symbol", 23);
	expect(fixture, "sized_two", 0, "sized_two", 0);
	/* A label in a function that has a size is not a function. */
	expect(fixture, "sized_two", 12, "sized_two", 12);
}

static void unsized_exports_cover_nothing_when_stripped(void **state)
{
	struct fixture *fixture = *state;
	uint64_t address;

	run(fixture, "gcc -shared -nostdlib -o gaps.so $S/gaps.S");
	address = address_of(fixture, "gaps.so", "unsized_symbol");
	run(fixture, "strip -s -o stripped.so gaps.so");
	assert_null(look_up_last(fixture, "stripped.so", address + 8)->function);
	/* One with a size still counts. */
	assert_string_equal(look_up_last(fixture, "stripped.so", address + 24 + 8)->function,
			    "sized_two");
}

static void stripped_gives_module_and_offset(void **state)
{
	struct fixture *fixture = *state;
	const struct frame *frame;
	uint64_t address;

	run(fixture, "gcc -g -O1 -o plain $S/plain.c");
	address = address_of(fixture, "plain", "hidden_leaf") + 4;
	run(fixture, "strip -s -o stripped plain");
	frame = look_up_last(fixture, "stripped", address);
	assert_null(frame->function);
	assert_null(frame->file);
	assert_int_equal(frame->line, 0);
	assert_string_equal(frame->module, "stripped");
	assert_int_equal(frame->offset, address);
}

static void cached_and_interned(void **state)
{
	struct fixture *fixture = *state;
	struct names first;
	struct names second;
	uint64_t address;

	run(fixture, "gcc -g -O1 -o plain $S/plain.c");
	address = address_of(fixture, "plain", "visible_caller");
	first = look_up(fixture, "plain", address, false, getpid());
	second = look_up(fixture, "plain", address, false, getpid());
	assert_ptr_equal(first.frames, second.frames);
	second = look_up(fixture, "plain", address + 1, false, getpid());
	assert_ptr_not_equal(first.frames, second.frames);
	assert_ptr_equal(first.frames[0]->function, second.frames[0]->function);
	assert_ptr_equal(first.frames[0]->file, second.frames[0]->file);
}

/* addr2line prints for each address "0xADDRESS", then a function and a FILE:LINE for each frame. */
static bool read_line(FILE *pipe, char *line, size_t size)
{
	if (!fgets(line, (int)size, pipe))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void compare_frame(const struct frame *frame, const char *function, char *place, bool last,
			  uint64_t address)
{
	char *colon = strrchr(place, ':');
	_cleanup_free_ char *demangled = NULL;
	unsigned int line = 0;

	assert_non_null(colon);
	*colon = '\0';
	sscanf(colon + 1, "%u", &line); /* "?" when unknown */
	if (frame->line != line || (line && strcmp(last_part(frame->file), last_part(place)) != 0))
		fail_msg("0x%lx: %s:%u, addr2line has %s:%u", (unsigned long)address, frame->file,
			 frame->line, place, line);
	assert_int_equal(frame->inlined, !last);
	/* Ours may have scopes in front of a name, or "[clone .cold]" behind it. */
	demangled = symbol_demangle(function);
	if (strcmp(function, "??") != 0 && frame->function &&
	    !strstr(frame->function, demangled ? demangled : function))
		fail_msg("0x%lx: %s, addr2line has %s", (unsigned long)address, frame->function,
			 function);
}

/*
 * Compares every address of .text with addr2line -i; the number of inlined frames that were seen.
 */
static size_t compare_all(struct fixture *fixture, const char *file)
{
	uint64_t start = ask(
		fixture,
		"readelf -SW %s | sed -n 's/.* \\.text  *PROGBITS *\\([0-9a-f]*\\).*/\\1/p'", file);
	uint64_t size = ask(fixture,
			    "readelf -SW %s | sed -n 's/.* \\.text  *PROGBITS *[0-9a-f]* "
			    "*[0-9a-f]* *\\([0-9a-f]*\\).*/\\1/p'",
			    file);
	char command[PATH_MAX];
	char function[8192];
	char place[8192];
	size_t inlined = 0;
	FILE *pipe;

	run(fixture,
	    "i=%lu; while [ $i -lt %lu ]; do printf '%%x\\n' $i; i=$((i + 1)); done > list",
	    (unsigned long)start, (unsigned long)(start + size));
	snprintf(command, sizeof(command), "cd %s && llvm-addr2line -ifa -e %s < list",
		 fixture->sides.directory, file);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_true(read_line(pipe, function, sizeof(function)));
	for (uint64_t address = start; address < start + size; address++) {
		struct names names = look_up(fixture, file, address, false, getpid());
		size_t i = 0;

		assert_int_equal(strtoull(function, NULL, 16), address);
		while (read_line(pipe, function, sizeof(function)) &&
		       strncmp(function, "0x", 2) != 0) {
			assert_true(read_line(pipe, place, sizeof(place)));
			if (i >= names.count)
				fail_msg("0x%lx: addr2line has more frames",
					 (unsigned long)address);
			/* Code without line information: binutils names the file from elsewhere. */
			if (names.frames[i]->file)
				compare_frame(names.frames[i], function, place,
					      i + 1 == names.count, address);
			else
				assert_int_equal(names.count, 1);
			i++;
		}
		assert_int_equal(i, names.count);
		inlined += names.count - 1;
	}
	assert_int_equal(pclose(pipe), 0);
	return inlined;
}

static void inlines_as_addr2line_has_them(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "g++ -std=c++17 -g -O2 -o inlines $S/inlines.cc");
	assert_true(compare_all(fixture, "inlines") > 1000);
}

static void inlines_of_clang(void **state)
{
	struct fixture *fixture = *state;

	/* Without .debug_aranges, which libdwfl would want. */
	if (try_run(fixture, "clang++ -std=c++17 -g -O2 -o inlines $S/inlines.cc 2>/dev/null")) {
		print_message("needs clang++\n");
		skip();
	}
	assert_true(compare_all(fixture, "inlines") > 1000);
}

static void inlines_of_dwarf4(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "g++ -std=c++17 -gdwarf-4 -O2 -o inlines $S/inlines.cc");
	assert_true(compare_all(fixture, "inlines") > 1000);
}

/* The address of the call to malloc() in shop::outer, found by its line. */
static uint64_t call_in_outer(struct fixture *fixture, const char *file)
{
	return ask(fixture,
		   "objdump -d --no-show-raw-insn %s | awk '/^[0-9a-f]+ <_ZN4shop5outerEi>:/ { on "
		   "= 1 } "
		   "on && /(call|bl)[ \t].*malloc/ { sub(\":\", \"\", $1); print $1; exit }'",
		   file);
}

static void inlined_names_are_qualified(void **state)
{
	struct fixture *fixture = *state;
	struct names names;

	run(fixture, "g++ -std=c++17 -g -O2 -o inlines $S/inlines.cc");
	names = look_up(fixture, "inlines", call_in_outer(fixture, "inlines"), false, getpid());
	assert_int_equal(names.count, 3);
	assert_string_equal(names.frames[0]->function,
			    "shop::(anonymous namespace)::hidden_helper");
	assert_true(names.frames[0]->inlined);
	assert_string_equal(names.frames[1]->function, "shop::middle");
	assert_true(names.frames[1]->inlined);
	assert_string_equal(names.frames[2]->function, "shop::outer(int)");
	assert_false(names.frames[2]->inlined);
	for (size_t i = 0; i < names.count; i++) {
		assert_ends_with(names.frames[i]->file, "inlines.cc");
		assert_int_equal(names.frames[i]->offset, names.frames[2]->offset);
	}
	/*
	 * Lines, from the innermost: malloc(), the call of hidden_helper(), the call of middle().
	 */
	assert_int_equal(names.frames[0]->line,
			 ask(fixture,
			     "printf %%x $(grep -n 'std::malloc' %s/inlines.cc | cut -d: -f1)",
			     fixture->sides.sources));
	assert_int_equal(names.frames[1]->line,
			 ask(fixture,
			     "printf %%x $(grep -n '= hidden_helper' %s/inlines.cc | cut -d: -f1)",
			     fixture->sides.sources));
	assert_int_equal(names.frames[2]->line,
			 ask(fixture,
			     "printf %%x $(grep -n '= middle' %s/inlines.cc | cut -d: -f1)",
			     fixture->sides.sources));
}

static void without_inlines(void **state)
{
	struct fixture *fixture = *state;
	struct symbolizer_options options = {.inlines = false};
	struct names names;

	symbolizer_free(fixture->symbolizer);
	fixture->symbolizer = symbolizer_new(&options);
	assert_non_null(fixture->symbolizer);
	run(fixture, "g++ -std=c++17 -g -O2 -o inlines $S/inlines.cc");
	names = look_up(fixture, "inlines", call_in_outer(fixture, "inlines"), false, getpid());
	assert_int_equal(names.count, 1);
	assert_string_equal(names.frames[0]->function, "shop::outer(int)");
	/* The line is in that function. */
	assert_int_equal(names.frames[0]->line,
			 ask(fixture,
			     "printf %%x $(grep -n '= middle' %s/inlines.cc | cut -d: -f1)",
			     fixture->sides.sources));
}

static void cxx_names(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, "g++ -std=c++17 -O2 -o inlines $S/inlines.cc");
	assert_string_equal(
		look_up_last(fixture, "inlines",
			     address_of(fixture, "inlines", "_ZNK4shop6BasketIiE5totalEv"))
			->function,
		"shop::Basket<int>::total() const");
}

static void rust_names(void **state)
{
	struct fixture *fixture = *state;
	struct names names;
	uint64_t address;

	if (try_run(fixture,
		    "PATH=$PATH:$HOME/.cargo/bin; "
		    "rustc -O -g -C symbol-mangling-version=v0 -o v0 $S/names.rs 2>/dev/null && "
		    "rustc -O -g -o default $S/names.rs 2>/dev/null")) {
		print_message("needs rustc\n");
		skip();
	}
	address = ask(fixture, "nm v0 | awk '$3 ~ /^_R.*5names5build$/ { print $1 }'");
	names = look_up(fixture, "v0", address, false, getpid());
	assert_string_equal(names.frames[names.count - 1]->function, "names::build");
	assert_ends_with(names.frames[names.count - 1]->file, "names.rs");
	address = ask(fixture, "nm default | awk '$3 ~ /5names5build/ { print $1; exit }'");
	names = look_up(fixture, "default", address, false, getpid());
	assert_string_equal(names.frames[names.count - 1]->function, "names::build");
}

static const struct frame *resolve_here(struct fixture *fixture, const void *code)
{
	const struct frame *const *frames;
	const struct mapping *m;
	struct location location;
	struct maps *maps;
	size_t count;

	assert_int_equal(maps_read(getpid(), &maps), 0);
	m = maps_find(maps, (uintptr_t)code);
	assert_non_null(m);
	assert_int_equal(object_cache_get(fixture->cache, getpid(), m, &location.object), 0);
	location.offset = (uintptr_t)code - m->start + m->offset;
	maps_free(maps);
	assert_int_equal(symbolizer_resolve(fixture->symbolizer, &location, getpid(), false,
					    &frames, &count),
			 0);
	object_unref(location.object);
	return frames[count - 1];
}

static void own_libc(void **state)
{
	static const char *const functions[] = {"malloc", "calloc", "realloc", "free",
						"posix_memalign"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *code = dlsym(RTLD_DEFAULT, functions[i]);
		const struct frame *frame = resolve_here(fixture, code);
		Dl_info info;

		assert_true(dladdr(code, &info) != 0);
		assert_string_equal(frame->function, functions[i]);
		assert_int_equal(frame->offset, 0);
		assert_true(strncmp(frame->module, last_part(info.dli_fname),
				    strlen(last_part(info.dli_fname))) == 0);
		assert_int_equal(frame->module_offset, (uintptr_t)code - (uintptr_t)info.dli_fbase);
	}
}

static void own_vdso(void **state)
{
	struct fixture *fixture = *state;
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)base;
	size_t seen = 0;
	Elf *elf;
	Elf_Scn *section = NULL;

	if (!base) {
		print_message("needs a vDSO\n");
		skip();
	}
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)base,
			 header->e_shoff + (size_t)header->e_shnum * header->e_shentsize);
	assert_non_null(elf);
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);
		GElf_Shdr shdr;
		GElf_Sym symbol;

		assert_non_null(gelf_getshdr(section, &shdr));
		if (shdr.sh_type != SHT_DYNSYM)
			continue;
		for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, shdr.sh_link, symbol.st_name);
			const struct frame *frame;

			if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size ||
			    strncmp(name, "__vdso_", 7) != 0)
				continue;
			frame = resolve_here(fixture, (void *)(base + symbol.st_value));
			assert_string_equal(frame->module, "[vdso]");
			/* clock_gettime and __vdso_clock_gettime are one function. */
			assert_non_null(frame->function);
			assert_non_null(strstr(name, frame->function));
			assert_int_equal(frame->offset, 0);
			seen++;
		}
	}
	elf_end(elf);
	assert_true(seen > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		symbol_test(function_and_line),
		symbol_test(return_address_at_the_end),
		symbol_test(aliases_take_the_public_name),
		symbol_test(symbols_cover_or_do_not_count),
		symbol_test(unsized_exports_cover_nothing_when_stripped),
		symbol_test(stripped_gives_module_and_offset),
		symbol_test(cached_and_interned),
		symbol_test(inlines_as_addr2line_has_them),
		symbol_test(inlines_of_clang),
		symbol_test(inlines_of_dwarf4),
		symbol_test(inlined_names_are_qualified),
		symbol_test(without_inlines),
		symbol_test(cxx_names),
		symbol_test(rust_names),
		symbol_test(own_libc),
		symbol_test(own_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
