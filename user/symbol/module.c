// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the object's own file through libelf with pread(2), section by section as needed. It is
 * never mapped: a target may truncate its own library while we look at it, and a mapping would end
 * in SIGBUS. The price is a copy in memory of the sections used. For debug files see debugfile.c.
 *
 * Does not use dwfl_module_addrinfo(): it scans the whole table for each address, and takes the
 * nearest symbol when none covers the address.
 */
#include "user/symbol/module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/go_functions.h"
#include "user/symbol/debug_child.h"
#include "user/symbol/debugfile.h"
#include "user/symbol/elfsyms.h"

#define MODULE_ALIGN	(1ULL << 20)
#define MODULE_SPAN_MAX (1ULL << 46)

/*
 * So many modules are kept whose object nobody maps any more: each has a descriptor open, and its
 * debug file's in memory.
 */
#define UNMAPPED_MAX 64

/* Processes that read DWARF at a time. */
#define READING_MAX 8

struct module {
	UT_hash_handle hh;
	uint64_t id;
	struct object *object;
	struct module_set *set;
	uint64_t used;	     /* module_set.uses at its last use */
	uint64_t base, span; /* as reported to libdwfl; span 0: not reported */
	Dwfl_Module *dwfl;   /* NULL when libdwfl or libelf refuses the file */
	uint64_t bias;	     /* libdwfl's address = link-time address + bias */
	bool debuginfo_tried;
	bool debug_file_missing;
	uint64_t
		debug_file_memory; /* bytes that reading the separate file may take; 0: there is none */
	bool alternate_found;	   /* dwz's shared debug file was found */
	struct module_symbols {
		bool tried;
		struct elf_symbols *table;
	} symbols[ELF_THREAD_VARIABLES + 1]; /* by kind */
	struct debug_child *lines;	     /* NULL: none are known */
	bool types_gone;		     /* they could not be read */
	bool go_tried;
	struct go_functions *go; /* NULL: it is no Go program */
};

struct module_set {
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	struct module *modules;
	uint64_t next_base;
	uint64_t uses;
	int root_fd;
	bool debuginfod;
	/* The modules whose DWARF has a process now, in turns; NULL: free. */
	struct debug_child *reading[READING_MAX];
	size_t turn;
};

static int find_elf(Dwfl_Module *dwfl, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	struct module *module = *userdata;

	(void)dwfl;
	(void)name;
	(void)base;
	(void)file_name;
	*elf = module ? object_elf(module->object, ELF_FOR_SYMBOLS) : NULL;
	return -1; /* the descriptor stays the object's: libdwfl would close it */
}

/* libdwfl maps it, and inflates what is compressed. */
static bool debug_file_is_usable(const struct module *module, int fd)
{
	char reason[REASON_MAX];
	_cleanup_elf_ Elf *elf = NULL;
	int err = elf_open(fd, ELF_FOR_SYMBOLS | ELF_FOR_DEBUG | ELF_IS_MAPPED, reason, &elf);

	if (err == -EFBIG)
		object_say_refused(module->object, ELF_FOR_DEBUG, reason);
	return !err;
}

static int find_debuginfo(Dwfl_Module *dwfl, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file_name, const char *link_name, GElf_Word crc,
			  char **debuginfo_name)
{
	struct module *module = *userdata;
	struct debugfile_query query = {
		.dwfl = module->set->dwfl,
		.module = dwfl,
		.object = module->object,
		.root_fd = module->set->root_fd,
		.debuginfod = module->set->debuginfod,
		.file_name = file_name,
		.link_name = link_name,
		.crc = crc,
	};
	bool alternate = debugfile_is_alternate(&query);
	int fd;

	(void)name;
	(void)base;
	/* libdwfl asks once for symbols and once for DWARF; a server is asked once only. */
	if (!alternate && module->debug_file_missing)
		return -1;
	fd = debugfile_find(&query, debuginfo_name);
	if (fd >= 0 && !debug_file_is_usable(module, fd)) {
		close(fd);
		fd = -1;
		/* libdwfl would open a file of this name. */
		free(*debuginfo_name);
		*debuginfo_name = NULL;
	}
	if (alternate)
		module->alternate_found = fd >= 0;
	else
		module->debug_file_missing = fd < 0;
	if (fd >= 0)
		module->debug_file_memory += elf_debug_allowance(fd);
	return fd;
}

struct module_set *module_set_new(bool debuginfod)
{
	struct module_set *set = calloc(1, sizeof(*set));
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!set)
		return NULL;
	elf_version(EV_CURRENT);
	set->callbacks.find_elf = find_elf;
	set->callbacks.find_debuginfo = find_debuginfo;
	set->callbacks.section_address = dwfl_offline_section_address;
	set->debuginfod = debuginfod && urls && *urls;
	set->next_base = MODULE_ALIGN;
	set->root_fd = -1;
	set->dwfl = dwfl_begin(&set->callbacks);
	if (!set->dwfl) {
		log_error("cannot start libdwfl: %s", dwfl_errmsg(-1));
		free(set);
		return NULL;
	}
	return set;
}

/* The module is going. */
static void module_give_turn(struct module *module)
{
	for (size_t i = 0; i < READING_MAX; i++) {
		if (module->set->reading[i] == module->lines)
			module->set->reading[i] = NULL;
	}
}

static void module_free(struct module *module)
{
	module_give_turn(module);
	debug_child_free(module->lines);
	for (size_t i = 0; i < ARRAY_SIZE(module->symbols); i++)
		elf_symbols_free(module->symbols[i].table);
	go_functions_free(module->go);
	object_unref(module->object);
	free(module);
}

void module_set_free(struct module_set *set)
{
	struct module *module;
	struct module *next;

	if (!set)
		return;
	dwfl_end(set->dwfl); /* reads from the objects' descriptors, so it goes before them */
	HASH_ITER (hh, set->modules, module, next) {
		HASH_DEL(set->modules, module);
		module_free(module);
	}
	free(set);
}

/* The size of the object's segments in address space. 0 when it has none or they make no sense. */
static uint64_t object_span(const struct object *object)
{
	_cleanup_elf_ Elf *elf = object_elf(object, 0);
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		if (phdr.p_vaddr + phdr.p_memsz < phdr.p_vaddr)
			continue;
		if (phdr.p_vaddr < low)
			low = phdr.p_vaddr;
		if (phdr.p_vaddr + phdr.p_memsz > high)
			high = phdr.p_vaddr + phdr.p_memsz;
	}
	return high > low && high - low < MODULE_SPAN_MAX ? high - low : 0;
}

static void module_report(struct module *module)
{
	struct module_set *set = module->set;
	uint64_t span = object_span(module->object);
	uint64_t step = (span + 2 * MODULE_ALIGN - 1) & ~(MODULE_ALIGN - 1);
	GElf_Addr bias = 0;
	void **userdata;

	if (!span || set->next_base + step < set->next_base)
		return;
	dwfl_report_begin_add(set->dwfl);
	module->dwfl = dwfl_report_module(set->dwfl, object_name(module->object), set->next_base,
					  set->next_base + span);
	dwfl_report_end(set->dwfl, NULL, NULL);
	if (!module->dwfl)
		return;
	module->base = set->next_base;
	module->span = span;
	set->next_base += step;
	dwfl_module_info(module->dwfl, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = module;
	if (!dwfl_module_getelf(module->dwfl, &bias)) {
		log_debug("%s: %s", object_path(module->object), dwfl_errmsg(-1));
		module->dwfl = NULL;
		return;
	}
	module->bias = bias;
}

/* libdwfl forgets modules that are not reported again. */
static void module_remove(struct module_set *set, struct module *module)
{
	struct module *other, *next;

	HASH_DEL(set->modules, module);
	dwfl_report_begin(set->dwfl);
	HASH_ITER (hh, set->modules, other, next) {
		if (other->span)
			dwfl_report_module(set->dwfl, object_name(other->object), other->base,
					   other->base + other->span);
	}
	dwfl_report_end(set->dwfl, NULL, NULL);
	module_free(module);
}

/* The module that was not asked for longest, if there are more than are kept. */
static struct module *one_too_many(const struct module_set *set)
{
	struct module *module, *next, *oldest = NULL;
	size_t count = 0;

	HASH_ITER (hh, set->modules, module, next) {
		if (object_is_mapped(module->object))
			continue;
		count++;
		if (!oldest || module->used < oldest->used)
			oldest = module;
	}
	return count > UNMAPPED_MAX ? oldest : NULL;
}

static void limit_unmapped(struct module_set *set)
{
	struct module *module;

	while ((module = one_too_many(set)))
		module_remove(set, module);
}

struct module *module_set_get(struct module_set *set, struct object *object, int root_fd)
{
	uint64_t id = object_id(object);
	struct module *module;

	set->root_fd = root_fd;
	HASH_FIND(hh, set->modules, &id, sizeof(id), module);
	if (module) {
		module->used = ++set->uses;
		return module;
	}
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->id = id;
	module->used = ++set->uses;
	module->set = set;
	HASH_ADD(hh, set->modules, id, sizeof(module->id), module);
	if (!module->hh.tbl) { /* how uthash tells that it ran out of memory */
		free(module);
		return NULL;
	}
	module->object = object_ref(object);
	module_report(module);
	limit_unmapped(set);
	return module;
}

/* NULL: there are none. */
static struct elf_symbols *module_symbols(struct module *module, enum elf_symbol_kind kind)
{
	struct module_symbols *symbols = &module->symbols[kind];

	if (!module->dwfl)
		return NULL;
	if (!symbols->tried) {
		symbols->tried = true;
		symbols->table = elf_symbols_new(module->dwfl, kind);
	}
	return symbols->table;
}

static const char *module_find_symbol(struct module *module, enum elf_symbol_kind kind,
				      uint64_t address, size_t *len, uint64_t *start)
{
	struct elf_symbols *symbols = module_symbols(module, kind);

	return symbols ? elf_symbols_find(symbols, address, len, start) : NULL;
}

struct each_function {
	int (*fn)(void *ctx, const char *name, size_t len, uint64_t start, uint64_t end);
	void *ctx;
	uint64_t bias;
};

static int module_give_function(void *ctx, const char *name, size_t len, uint64_t start,
				uint64_t end)
{
	const struct each_function *each = ctx;

	return each->fn(each->ctx, name, len, start - each->bias, end - each->bias);
}

int module_each_function(struct module *module,
			 int (*fn)(void *ctx, const char *name, size_t len, uint64_t start,
				   uint64_t end),
			 void *ctx)
{
	struct each_function each = {.fn = fn, .ctx = ctx, .bias = module->bias};

	return elf_symbols_each(module_symbols(module, ELF_FUNCTIONS), module_give_function, &each);
}

/* Looks the address up in a Go program's own table. */
static bool module_go_function(struct module *module, uint64_t vaddr, struct go_function *out)
{
	if (!module->go_tried && module->dwfl) {
		GElf_Addr bias;
		Elf *elf = dwfl_module_getelf(module->dwfl, &bias);

		module->go_tried = true;
		if (elf)
			go_functions_read(elf, object_fd(module->object), &module->go);
	}
	return module->go && go_functions_find(module->go, vaddr, out);
}

bool module_is_go(struct module *module, uint64_t vaddr)
{
	struct go_function function;

	return module_go_function(module, vaddr, &function);
}

/*
 * Go's table serves where the symbol table is gone: the linker's -s leaves it out, and strip(1)
 * takes it away.
 */
const char *module_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start)
{
	const char *name =
		module_find_symbol(module, ELF_FUNCTIONS, vaddr + module->bias, len, start);
	struct go_function function;

	if (name) {
		*start -= module->bias;
		return name;
	}
	if (!module_go_function(module, vaddr, &function))
		return NULL;
	*start = function.start;
	*len = strlen(function.name);
	return function.name;
}

const char *module_data_symbol(struct module *module, uint64_t vaddr, size_t *len, uint64_t *start)
{
	const char *name =
		module_find_symbol(module, ELF_VARIABLES, vaddr + module->bias, len, start);

	*start -= name ? module->bias : 0;
	return name;
}

const char *module_tls_symbol(struct module *module, uint64_t offset, size_t *len, uint64_t *start)
{
	return module_find_symbol(module, ELF_THREAD_VARIABLES, offset, len, start);
}

/* libdw relies on the last string of a section to end in it. */
static bool strings_are_closed(Dwarf *dwarf)
{
	Elf *elf = dwarf ? dwarf_getelf(dwarf) : NULL;
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name;
		const char *text;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		/* ".debug_str" and ".debug_line_str", ".zdebug_str" in old compressed files. */
		if (!name || !strstr(name, "debug_") || !strstr(name, "str"))
			continue;
		if (strstr(name, "str_offsets"))
			continue;
		data = elf_rawdata(section, NULL);
		text = data ? data->d_buf : NULL;
		if (text && data->d_size && text[data->d_size - 1] != '\0')
			return false;
	}
	return true;
}

/* Checks the file itself; a separate one was checked when it was found. */
static bool module_may_have_debuginfo(struct module *module)
{
	char reason[REASON_MAX];
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module->dwfl, &bias);
	int err = elf ? elf_check(elf, object_fd(module->object), ELF_FOR_DEBUG, reason) : -EIO;

	if (err == -EFBIG)
		object_say_refused(module->object, ELF_FOR_DEBUG, reason);
	return !err;
}

static uint64_t module_debug_allowance(const struct module *module)
{
	return elf_debug_allowance(object_fd(module->object)) + module->debug_file_memory;
}

/* Finds the DWARF. */
static void module_read_debuginfo(struct module *module)
{
	Dwarf_Addr bias = 0;
	const char *link;
	const void *id;
	Dwarf *dwarf;

	if (!module_may_have_debuginfo(module))
		return;
	dwarf = dwfl_module_getdwarf(module->dwfl, &bias);
	if (!dwarf) {
		log_debug("%s: no debug info: %s", object_path(module->object), dwfl_errmsg(-1));
		return;
	}
	if (dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &id) > 0 && !module->alternate_found) {
		/*
		 * Half of the names are missing, and libdw would go and open any path that the link
		 * has.
		 */
		log_debug("%s: debug info is not used: its shared part %s was not found",
			  object_path(module->object), link);
		return;
	}
	if (!strings_are_closed(dwarf) ||
	    (module->alternate_found && !strings_are_closed(dwarf_getalt(dwarf)))) {
		log_debug("%s: debug info is damaged", object_path(module->object));
		return;
	}
	/* The difference of two biases: from the object's addresses to this DWARF's. */
	module->lines = debug_child_new(dwarf, module->bias - bias, module_debug_allowance(module));
}

/* Ends another module's process to make room for this one's. */
static void module_take_turn(struct module *module)
{
	struct module_set *set = module->set;
	struct debug_child **turn = &set->reading[set->turn++ % READING_MAX];

	if (*turn)
		debug_child_rest(*turn);
	*turn = module->lines;
}

/* Finds the line without DWARF. An inlined call has its caller's line. */
static void module_go_line(struct module *module, uint64_t vaddr, struct source_stack *out)
{
	struct go_function function;

	if (!module_go_function(module, vaddr, &function) ||
	    !go_functions_line(module->go, &function, vaddr, &out->frames[0].file,
			       &out->frames[0].line))
		return;
	out->frames[0].function = NULL;
	out->frames[0].directory = NULL;
	out->owned = false; /* the file's name is the table's */
	out->count = 1;
}

/* Makes ready for a question; false: there is nobody to ask. */
static bool module_open_debuginfo(struct module *module)
{
	if (!module->debuginfo_tried && module->dwfl) {
		module->debuginfo_tried = true;
		module_read_debuginfo(module);
	}
	if (!module->lines)
		return false;
	if (!debug_child_runs(module->lines)) {
		module_give_turn(module);
		module_take_turn(module);
	}
	return true;
}

static void module_lose_debuginfo(struct module *module, const char *reason)
{
	object_say_refused(module->object, ELF_FOR_DEBUG, reason);
	module_give_turn(module);
	debug_child_free(TAKE_PTR(module->lines));
}

void module_lines(struct module *module, uint64_t vaddr, struct source_stack *out)
{
	char reason[REASON_MAX];

	*out = (struct source_stack){.count = 0};
	if (module_open_debuginfo(module) && debug_child_find(module->lines, vaddr, reason, out)) {
		module_lose_debuginfo(module, reason);
		return;
	}
	/* A program may have DWARF for its C code alone (-w). */
	if (!out->count)
		module_go_line(module, vaddr, out);
}

int module_types(struct module *module, uint64_t deadline_ns, struct type_table **out)
{
	char reason[REASON_MAX];
	int err;

	*out = NULL;
	if (module->types_gone || !module_open_debuginfo(module))
		return 0;
	err = debug_child_types(module->lines, deadline_ns, reason, out);
	/* Types are asked for once, and the child holds many copies by now. */
	debug_child_rest(module->lines);
	if (!err)
		return 0;
	*out = NULL;
	if (err == -ENOMEM)
		return err;
	module->types_gone = true;
	log_warn("%s: types of its variables are left out: %s", object_name(module->object),
		 reason);
	return 0;
}

void module_places(struct module *module, const struct debug_place_query *query,
		   struct debug_places *out)
{
	char reason[REASON_MAX];

	if (module_open_debuginfo(module) && debug_child_places(module->lines, query, reason, out))
		module_lose_debuginfo(module, reason);
}
