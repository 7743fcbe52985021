// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/guarded_objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/process/elf_symbols.h"

#define SONAME_MAX 64

/* What an object has of an allocator. */
struct object_look {
	bool has_malloc, has_free;
	bool is_loader;	   /* ld.so, which has a few of its own until the libc is there */
	const char *taker; /* a function that takes a block, of the table; NULL: none */
	char soname[SONAME_MAX];
};

static int objects_look_at(void *ctx, const char *name, const GElf_Sym *sym)
{
	struct object_look *look = ctx;
	size_t count;
	const struct guard_name *names = guard_names(&count);

	if (GELF_ST_TYPE(sym->st_info) == STT_OBJECT && !strcmp(name, "_rtld_global"))
		look->is_loader = true;
	if ((GELF_ST_TYPE(sym->st_info) != STT_FUNC &&
	     GELF_ST_TYPE(sym->st_info) != STT_GNU_IFUNC) ||
	    GELF_ST_BIND(sym->st_info) == STB_LOCAL || !sym->st_value)
		return 0;
	look->has_malloc |= !strcmp(name, "malloc");
	look->has_free |= !strcmp(name, "free");
	/* C++ operators of a program's own, and the C++ library's, call free. */
	if (look->taker || name[0] == '_')
		return 0;
	for (size_t i = 0; i < count && !look->taker; i++) {
		if (guard_name_takes(&names[i]) && (names[i].of & GUARD_OF_LIBC) &&
		    !strcmp(names[i].name, name))
			look->taker = names[i].name;
	}
	return 0;
}

static void objects_read_soname(Elf *elf, char soname[static SONAME_MAX])
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_DYNAMIC || !sh.sh_entsize)
			continue;
		data = elf_getdata(section, NULL);
		for (size_t i = 0; data && i < data->d_size / sh.sh_entsize && i < INT32_MAX; i++) {
			const char *name;
			GElf_Dyn dyn;

			if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL)
				break;
			if (dyn.d_tag != DT_SONAME)
				continue;
			name = elf_strptr(elf, sh.sh_link, dyn.d_un.d_val);
			if (name && strlen(name) < SONAME_MAX)
				memcpy(soname, name, strlen(name) + 1);
			return;
		}
	}
}

/* 0, or -errno: it cannot be told. */
static int objects_look(const struct object *object, struct object_look *look)
{
	_cleanup_elf_ Elf *elf = object_elf(object, ELF_FOR_SYMBOLS);
	int err;

	*look = (struct object_look){0};
	if (!elf)
		return -EBADMSG;
	err = elf_symbols(elf, SHT_DYNSYM, objects_look_at, look);
	if (err && err != -ENOENT)
		return err;
	objects_read_soname(elf, look->soname);
	return 0;
}

/* Has it been seen in a range before this one? */
static bool objects_is_first(const struct image *image, size_t range)
{
	const struct object *object = image_range_at(image, range)->object;

	for (size_t i = 0; i < range; i++) {
		if (image_range_at(image, i)->object == object)
			return false;
	}
	return object && !object_is_vdso(object);
}

struct objects_found {
	const struct object *libc, *other;
	const struct guard_allocator *allocator; /* of the other one; NULL: it is not known */
};

static int objects_take(const struct object *object, const struct object_look *look,
			struct objects_found *found, char reason[static REASON_MAX])
{
	const struct guard_allocator *allocator = guard_allocator_of(look->soname);

	if (look->is_loader || (!look->taker && !look->has_malloc))
		return 0;
	if (!look->has_malloc || !look->has_free)
		return refuse(reason, -EOPNOTSUPP, "%s has a %s of its own, and no whole allocator",
			      object_name(object), look->taker ?: "malloc");
	if (allocator && !strcmp(look->soname, "libc.so.6")) {
		if (found->libc)
			return refuse(reason, -EOPNOTSUPP, "it has several C libraries");
		found->libc = object;
		return 0;
	}
	if (!look->soname[0])
		return refuse(
			reason, -EOPNOTSUPP,
			"%s has an allocator linked into it, which may be called by more ways "
			"than are seen",
			object_name(object));
	if (found->other)
		return refuse(reason, -EOPNOTSUPP, "it has several allocators: %s and %s",
			      object_name(found->other), object_name(object));
	found->other = object;
	found->allocator = allocator;
	return 0;
}

int guarded_object_find(const struct image *image, const struct object **out,
			const struct object **libc, const struct guard_allocator **allocator,
			char reason[static REASON_MAX])
{
	struct objects_found found = {0};

	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct object *object = image_range_at(image, i)->object;
		struct object_look look;
		int err;

		if (!objects_is_first(image, i))
			continue;
		err = objects_look(object, &look);
		if (err)
			return refuse(reason, err, "the symbols of %s cannot be read",
				      object_name(object));
		err = objects_take(object, &look, &found, reason);
		if (err)
			return err;
	}
	if (!found.libc && !found.other)
		return refuse(reason, -EOPNOTSUPP,
			      "no library of its has an allocator: a static program");
	if (found.other && !found.allocator)
		return refuse(reason, -EOPNOTSUPP,
			      "its allocator is in %s, of which is not known what takes a block",
			      object_name(found.other));
	*libc = found.libc;
	*out = found.other ? found.other : found.libc;
	*allocator = found.other ? found.allocator : guard_allocator_of("libc.so.6");
	return 0;
}

static int objects_is_named(void *ctx, const char *name, const GElf_Sym *sym)
{
	(void)sym;
	return !strcmp(name, ctx);
}

int guarded_object_uses(const struct image *image, const struct object *object, const char *name,
			char reason[static REASON_MAX])
{
	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct object *other = image_range_at(image, i)->object;
		_cleanup_elf_ Elf *elf = NULL;

		if (other == object || !objects_is_first(image, i))
			continue;
		elf = object_elf(other, ELF_FOR_SYMBOLS);
		if (elf && elf_imports(elf, objects_is_named, (void *)(uintptr_t)name) > 0)
			return refuse(reason, -EOPNOTSUPP,
				      "%s uses %s, for which there is no guard", object_name(other),
				      name);
	}
	return 0;
}
