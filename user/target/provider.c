// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/provider.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/elf_open.h"
#include "user/process/elf_symbols.h"
#include "user/process/object.h"
#include "user/target/wrapper.h"

/* A name that is looked for. */
struct wanted {
	char *symbol; /* key; what the symbol table calls it */
	char *shown;  /* what people read */
	const struct alloc_fn *fn;
	unsigned rank; /* the smaller one names an address with several names */
	bool standard; /* an unprefixed row of the table */
	bool found, found_global;
	UT_hash_handle hh;
};

struct candidate {
	struct wanted *wanted;
	uint64_t offset, size;
	bool local;
};

struct search {
	struct object *object;
	const struct provider_options *options;
	struct wanted *wanted; /* hash table */
	unsigned next_rank;
	struct candidate *candidates;
	size_t count, capacity;
	bool is_loader;
};

static void wanted_free(struct wanted *w)
{
	free(w->symbol);
	free(w->shown);
	free(w);
}

static void search_release(struct search *s)
{
	struct wanted *w, *next;

	HASH_ITER (hh, s->wanted, w, next) {
		HASH_DEL(s->wanted, w);
		wanted_free(w);
	}
	free(s->candidates);
}

static int provider_want(struct search *s, const char *prefix, const struct alloc_fn *fn,
			 bool standard)
{
	struct wanted *w = calloc(1, sizeof(*w)), *known;
	size_t len;

	if (!w)
		return -ENOMEM;
	w->fn = fn;
	w->rank = s->next_rank++;
	w->standard = standard;
	if (asprintf(&w->symbol, "%s%s", prefix, fn->name) < 0)
		w->symbol = NULL;
	if (asprintf(&w->shown, "%s%s", prefix, fn->shown) < 0)
		w->shown = NULL;
	if (!w->symbol || !w->shown)
		goto out_of_memory;
	len = strlen(w->symbol);
	HASH_FIND(hh, s->wanted, w->symbol, len, known);
	if (known) {
		wanted_free(w);
		return 0;
	}
	HASH_ADD_KEYPTR(hh, s->wanted, w->symbol, len, w);
	if (!w->hh.tbl)
		goto out_of_memory;
	return 0;

out_of_memory:
	wanted_free(w);
	return -ENOMEM;
}

static int want_all(struct search *s)
{
	const struct provider_options *options = s->options;
	size_t rows;
	const struct alloc_fn *table = alloc_table(&rows);

	/* What the user names comes first: it may say otherwise of a name in the table. */
	for (size_t i = 0; i < options->custom_count; i++) {
		if (provider_want(s, "", &options->custom[i], false))
			return -ENOMEM;
	}
	for (size_t i = 0; i < rows; i++) {
		if ((!table[i].mmap || options->mmap) && provider_want(s, "", &table[i], true))
			return -ENOMEM;
	}
	for (const char *const *prefix = options->prefixes; prefix && *prefix; prefix++) {
		for (size_t i = 0; i < rows; i++) {
			if (!table[i].cxx && !table[i].mmap &&
			    provider_want(s, *prefix, &table[i], false))
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_candidate(struct search *s, struct wanted *w, uint64_t offset, const GElf_Sym *sym)
{
	bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;

	if (!RESERVE_ITEM(s->candidates, s->count, s->capacity, 64))
		return -ENOMEM;
	s->candidates[s->count++] = (struct candidate){
		.wanted = w, .offset = offset, .size = sym->st_size, .local = local};
	w->found = true;
	if (!local)
		w->found_global = true;
	return 0;
}

/* How far the names of one symbol table count. */
struct trust {
	bool standard;	     /* the table's plain names */
	bool standard_local; /* even of local symbols (link-time optimisation makes them local) */
};

/* What goes through a symbol table. */
struct provider_walk {
	struct search *search;
	const struct trust *trust;
};

static int provider_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	const struct provider_walk *walk = ctx;
	const struct trust *trust = walk->trust;
	struct search *s = walk->search;
	bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
	struct wanted *w;
	uint64_t offset;
	size_t len;

	if (sym->st_value == 0)
		return 0;
	/*
	 * glibc's dynamic loader: no other object defines this, and musl's (which is its libc) does
	 * not.
	 */
	if (!local && GELF_ST_TYPE(sym->st_info) == STT_OBJECT && !strcmp(name, "_rtld_global"))
		s->is_loader = true;
	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC)
		return 0;
	len = strcspn(name, "@"); /* .symtab may say name@@VERSION */
	HASH_FIND(hh, s->wanted, name, len, w);
	if (!w || object_vaddr_to_offset(s->object, sym->st_value, &offset) ||
	    !object_is_code(s->object, offset))
		return 0;
	if (w->standard && (!trust->standard || (local && !trust->standard_local)))
		return 0;
	return add_candidate(s, w, offset, sym);
}

static int walk_symbols(struct search *s, Elf *elf, unsigned type, const struct trust *trust)
{
	struct provider_walk walk = {s, trust};
	int err = elf_symbols(elf, type, provider_look_at, &walk);

	if (err == -EBADMSG)
		log_debug("%s: damaged symbol table: %s", object_path(s->object), elf_errmsg(-1));
	return err == -ENOENT ? 0 : err;
}

/* DT_SONAME or DF_1_PIE present? Tells libraries from position-independent programs. */
static void read_dynamic(Elf *elf, bool *soname, bool *pie)
{
	Elf_Scn *section = NULL;

	*soname = *pie = false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_DYNAMIC || sh.sh_entsize == 0)
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && i < data->d_size / sh.sh_entsize && i < INT32_MAX; i++) {
			GElf_Dyn dyn;

			if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
				break;
			if (dyn.d_tag == DT_SONAME)
				*soname = true;
			if (dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE))
				*pie = true;
		}
	}
}

static bool is_program(const struct object *object, Elf *elf)
{
	bool soname, pie;

	if (object_elf_type(object) == ET_EXEC)
		return true;
	/*
	 * libc.so.6 has an interpreter too, so that it can print its version; but it has a name as
	 * well.
	 */
	read_dynamic(elf, &soname, &pie);
	return pie || (object_has_interp(object) && !soname);
}

static bool matches_object(const struct provider_options *options, const struct object *object)
{
	struct stat st;

	if (!options->object)
		return true;
	if (!fnmatch(options->object, object_path(object), 0) ||
	    !fnmatch(options->object, object_name(object), 0))
		return true;
	return !stat(options->object, &st) && st.st_dev == object_dev(object) &&
	       st.st_ino == object_ino(object);
}

static bool found_op(const struct search *s, bool standard, bool freeing)
{
	const struct wanted *w;

	for (w = s->wanted; w; w = w->hh.next) {
		if (w->found && !w->fn->cxx && !w->fn->mmap && (!standard || w->standard) &&
		    (w->fn->op == OP_FREE) == freeing)
			return true;
	}
	return false;
}

static bool is_provider(const struct search *s)
{
	if (s->options->object)
		return s->count > 0;
	for (size_t i = 0; i < s->count; i++) {
		if (provider_options_own(s->options, s->candidates[i].wanted->fn))
			return true;
	}
	return found_op(s, false, false) && found_op(s, false, true);
}

/*
 * Found, but gets no probe:
 *
 * - a file's private function, when a public one has that name
 * - C++ operators that call malloc in another object
 * - the table's functions in an object that has no complete allocator
 */
static bool provider_unwanted(const struct search *s, const struct candidate *c, bool has_malloc,
			      bool has_both)
{
	const struct wanted *w = c->wanted;

	if (c->local && w->found_global)
		return true;
	if (provider_options_own(s->options, w->fn))
		return false;
	if (w->fn->cxx)
		return !has_malloc;
	return !has_both && !s->options->object;
}

static int by_offset(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->wanted->rank < y->wanted->rank ? -1 : x->wanted->rank > y->wanted->rank;
}

static bool found_malloc(const struct search *s)
{
	const struct wanted *w;

	for (w = s->wanted; w; w = w->hh.next) {
		if (w->found && !strcmp(w->fn->name, "malloc"))
			return true;
	}
	return false;
}

/* Sorts what was found and takes the first name at each offset. */
static int provider_choose(struct search *s, struct provider *provider)
{
	bool has_malloc = found_malloc(s);
	bool has_both = found_op(s, false, false) && found_op(s, false, true);

	provider->fns = calloc(s->count, sizeof(*provider->fns));
	if (!provider->fns)
		return -ENOMEM;
	qsort(s->candidates, s->count, sizeof(*s->candidates), by_offset);
	for (size_t i = 0; i < s->count; i++) {
		const struct candidate *c = &s->candidates[i];
		struct provider_fn *last = &provider->fns[provider->count];

		if (provider_unwanted(s, c, has_malloc, has_both))
			continue;
		if (provider->count && last[-1].offset == c->offset) {
			if (last[-1].size < c->size)
				last[-1].size = c->size;
			continue;
		}
		last->name = strdup(c->wanted->shown);
		if (!last->name)
			return -ENOMEM;
		last->fn = c->wanted->fn;
		last->offset = c->offset;
		last->size = c->size;
		provider->count++;
	}
	return provider->count ? 0 : -ENOENT;
}

/* Fills the candidates from .dynsym and, where that is called for, .symtab. */
static int provider_collect(struct search *s, Elf *elf, bool *from_symtab)
{
	bool named = s->options->object || s->options->custom_count ||
		     (s->options->prefixes && *s->options->prefixes);
	bool program = is_program(s->object, elf);
	size_t exported;
	int err = walk_symbols(s, elf, SHT_DYNSYM, &(struct trust){.standard = true});

	if (err)
		return err;
	exported = s->count;
	if (named || (program && !found_op(s, true, false))) {
		struct trust trust = {
			.standard = program && !found_op(s, true, false),
			.standard_local = !object_has_interp(s->object),
		};

		err = walk_symbols(s, elf, SHT_SYMTAB, &trust);
	}
	*from_symtab = exported == 0 && s->count > 0;
	return err;
}

static uint64_t provider_own_found(const struct search *s)
{
	const struct provider_options *options = s->options;
	struct wanted *w, *next;
	uint64_t found = 0;

	HASH_ITER (hh, s->wanted, w, next) {
		if (!w->found || !provider_options_own(options, w->fn) ||
		    w->fn - options->custom >= 64)
			continue;
		found |= 1ULL << (w->fn - options->custom);
	}
	return found;
}

int provider_find(struct object *object, const struct provider_options *options,
		  struct provider **out)
{
	_cleanup_elf_ Elf *elf = NULL;
	struct search s = {.object = object, .options = options};
	struct provider *provider = NULL;
	int err;

	if (!object_is_elf64(object) || object_is_vdso(object) || !matches_object(options, object))
		return -ENOENT;
	elf = object_elf(object, ELF_FOR_SYMBOLS);
	if (!elf)
		return -EBADMSG;
	provider = calloc(1, sizeof(*provider));
	if (!provider)
		return -ENOMEM;
	provider->object = object_ref(object);
	provider->alone = options->object != NULL;
	err = want_all(&s);
	if (!err)
		err = provider_collect(&s, elf, &provider->from_symtab);
	if (!err && (s.count == 0 || (s.is_loader && !options->object) || !is_provider(&s)))
		err = -ENOENT;
	if (!err)
		err = provider_choose(&s, provider);
	if (!err)
		wrapper_remove(provider, elf, options);
	provider->own_found = provider_own_found(&s);
	search_release(&s);
	if (err) {
		provider_free(provider);
		return err;
	}
	*out = provider;
	return 0;
}

void provider_free(struct provider *provider)
{
	if (!provider)
		return;
	for (size_t i = 0; i < provider->count; i++)
		free(provider->fns[i].name);
	free(provider->fns);
	free(provider->notes);
	object_unref(provider->object);
	free(provider);
}
