// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/site.h"

#include <fnmatch.h>
#include <string.h>

#include "user/base/fnv.h"
#include "user/base/util.h"
#include "user/model/function_name.h"

/* Most names differ in their first letter, and very many are looked at. */
static bool site_begins_with(const char *text, const char *prefix)
{
	return *text == *prefix && !strncmp(text, prefix, strlen(prefix));
}

static bool site_begins(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; text && i < count; i++) {
		if (site_begins_with(text, prefixes[i]))
			return true;
	}
	return false;
}

/* ---- by patterns -------------------------------------------------------------------------- */

static const char *site_file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static bool site_match_text(const char *pattern, const char *text)
{
	return text && !fnmatch(pattern, text, 0);
}

/* "shop::Cart::add", without what it returns and takes. */
static bool site_match_function(const char *pattern, const struct frame *frame)
{
	const char *name = frame->function;
	char bare[FUNCTION_NAME_MAX];
	size_t len;

	if (site_match_text(pattern, name) || site_match_text(pattern, frame->symbol))
		return true;
	if (!name)
		return false;
	name += function_name_scope(name);
	len = function_name_length(name);
	if (len >= sizeof(bare))
		return false;
	memcpy(bare, name, len);
	bare[len] = '\0';
	return site_match_text(pattern, bare);
}

static bool site_match(const char *const *patterns, size_t count, const struct frame *frame)
{
	for (size_t i = 0; i < count; i++) {
		if (site_match_function(patterns[i], frame) ||
		    site_match_text(patterns[i], frame->module) ||
		    site_match_text(patterns[i], frame->module_path) ||
		    site_match_text(patterns[i], frame->file) ||
		    site_match_text(patterns[i], site_file_name(frame->file)))
			return true;
	}
	return false;
}

/* ---- by where it is ----------------------------------------------------------------------- */

#define ANY_KIND UINT32_MAX
#define KIND(k)	 (1u << (k))

/* Whose what lies there is; the first row that fits. */
static const struct site_place {
	const char *text;
	bool begins; /* the path does so; false: it has it anywhere */
	enum frame_owner owner;
	uint32_t kinds;
} site_places[] = {
	{"<frozen ", true, OWNER_BASE, KIND(FRAME_KIND_PYTHON)},
	{"<internal:", true, OWNER_BASE, KIND(FRAME_KIND_RUBY)},
	{"node:", true, OWNER_BASE, KIND(FRAME_KIND_JAVASCRIPT)},
	{"ext:", true, OWNER_BASE, KIND(FRAME_KIND_JAVASCRIPT)},
	{"/node_modules/", false, OWNER_LIBRARY, ANY_KIND},
	{"/site-packages/", false, OWNER_LIBRARY, ANY_KIND},
	{"/dist-packages/", false, OWNER_LIBRARY, ANY_KIND},
	{"/lib/python", false, OWNER_BASE, ANY_KIND},
	{"/lib64/python", false, OWNER_BASE, ANY_KIND},
	{"/gems/", false, OWNER_LIBRARY, ANY_KIND},
	{"/rubygems-integration/", false, OWNER_LIBRARY, ANY_KIND},
	{"/lib/ruby/", false, OWNER_BASE, ANY_KIND},
	{"-linux-gnu/ruby/", false, OWNER_BASE, ANY_KIND},
	{"/vendor/", false, OWNER_LIBRARY, KIND(FRAME_KIND_PHP) | KIND(FRAME_KIND_GO)},
	{"/usr/share/php/", true, OWNER_LIBRARY, ANY_KIND},
	{"/usr/lib/php/", true, OWNER_LIBRARY, ANY_KIND},
	{"-linux-gnu/perl-base/", false, OWNER_BASE, ANY_KIND},
	{"-linux-gnu/perl/", false, OWNER_BASE, ANY_KIND},
	{"/usr/share/perl/", true, OWNER_BASE, ANY_KIND},
	{"/perl5/", false, OWNER_LIBRARY, ANY_KIND},
	{"/usr/local/share/perl/", true, OWNER_LIBRARY, ANY_KIND},
	{"/.cargo/registry/", false, OWNER_LIBRARY, ANY_KIND},
	{"/.cargo/git/", false, OWNER_LIBRARY, ANY_KIND},
	{"/cargo/registry/src/", false, OWNER_LIBRARY, ANY_KIND},
	{"/rustc/", true, OWNER_BASE, ANY_KIND},
	{"/rustlib/src/", false, OWNER_BASE, ANY_KIND},
	{"/pkg/mod/", false, OWNER_LIBRARY, KIND(FRAME_KIND_GO) | KIND(FRAME_KIND_NATIVE)},
	{"/include/c++/", false, OWNER_BASE, KIND(FRAME_KIND_NATIVE)},
	{"/usr/lib/gcc/", true, OWNER_BASE, KIND(FRAME_KIND_NATIVE)},
	{"/usr/include/", true, OWNER_LIBRARY, KIND(FRAME_KIND_NATIVE)},
	{"/usr/local/include/", true, OWNER_LIBRARY, KIND(FRAME_KIND_NATIVE)},
	{"gcc_linux_", true, OWNER_BASE, KIND(FRAME_KIND_NATIVE)}, /* Go's, for cgo */
	{"/jvm/", false, OWNER_RUNTIME, KIND(FRAME_KIND_NATIVE)},
};

/* OWNER_PROGRAM: the path says nothing. */
static enum frame_owner site_path_owner(const char *path, enum frame_kind kind)
{
	for (size_t i = 0; path && i < ARRAY_SIZE(site_places); i++) {
		const struct site_place *place = &site_places[i];

		if (!(place->kinds & KIND(kind)))
			continue;
		if (place->begins ? site_begins_with(path, place->text)
				  : strstr(path, place->text) != NULL)
			return place->owner;
	}
	return OWNER_PROGRAM;
}

/* A shared library by its name: "libssl.so.3". */
static bool site_is_shared(const char *name)
{
	const char *so = name ? strstr(name, ".so") : NULL;

	return so && (!so[3] || so[3] == '.');
}

/*
 * Where the loader looks for everybody: /usr/lib, with a triplet below. Deeper folders are some
 * program's own (/usr/lib/firefox/libxul.so).
 */
static bool site_is_public_library(const struct frame *frame)
{
	static const char *const roots[] = {"/usr/local/lib", "/usr/lib", "/lib"};
	static const char *const bits[] = {"64/", "x32/", "32/", "/"};
	const char *path = frame->module_path, *rest = NULL, *slash;

	if (!path || !site_is_shared(site_file_name(path)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(roots) && !rest; i++) {
		if (site_begins_with(path, roots[i]))
			rest = path + strlen(roots[i]);
	}
	for (size_t i = 0; rest && i < ARRAY_SIZE(bits); i++) {
		if (strncmp(rest, bits[i], strlen(bits[i])) != 0)
			continue;
		rest += strlen(bits[i]);
		slash = strchr(rest, '/');
		return !slash || (!strchr(slash + 1, '/') &&
				  memmem(rest, (size_t)(slash - rest), "-linux-", 7) != NULL);
	}
	return false;
}

/* ---- by its name -------------------------------------------------------------------------- */

/* Where the kernel, the loader, the C library or Go's scheduler begin a program or a thread. */
static bool site_begins_thread(const struct frame *frame)
{
	static const char *const functions[] = {
		"_start",	  "__libc_start",      "start_thread",	      "thread_start",
		"clone",	  "__clone",	       "call_init",	      "_dl_init",
		"_dl_start",	  "runtime.goexit",    "runtime.main",	      "runtime.mcall",
		"runtime.mstart", "runtime.morestack", "runtime.systemstack",
	};
	static const char *const ends[] = {"",	    "3",     "_main", "_main_impl", "_call_main",
					   "_user", ".abi0", "0",     "1"};

	for (size_t i = 0; frame->function && i < ARRAY_SIZE(functions); i++) {
		size_t len = strlen(functions[i]);

		if (!site_begins_with(frame->function, functions[i]))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(ends); k++) {
			if (!strcmp(frame->function + len, ends[k]))
				return true;
		}
	}
	return false;
}

static bool site_is_base_module(const char *module)
{
	static const char *const modules[] = {
		"libm.so",     "libm-",	      "libpthread", "libdl.so",	  "libdl-",
		"librt.so",    "librt-",      "libgcc_s",   "libresolv",  "libutil.so",
		"libanl.so",   "libnss_",     "libatomic",  "linux-vdso", "libjemalloc",
		"libtcmalloc", "libmimalloc", "libasan.so", "liblsan.so", "libubsan",
		"libtsan.so",  "libc.musl-",  "[",	    "libgomp.so",
	};

	return site_begins(module, modules, ARRAY_SIZE(modules));
}

static bool site_is_runtime_module(const char *module)
{
	static const char *const modules[] = {
		"python",    "libpython", "pypy",    "libpypy",	      "node",	      "nodejs",
		"libnode",   "libv8",	  "deno",    "bun",	      "java",	      "libjvm.so",
		"libjli.so", "ruby",	  "libruby", "php",	      "libphp",	      "mod_php",
		"perl",	     "libperl",	  "dotnet",  "libcoreclr.so", "libclrjit.so", "libmono",
		"luajit",    "liblua",
	};
	size_t len = module ? strcspn(module, "-.0123456789_") : 0;

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		/* "python3.11", "php-fpm8.2", and not "phpmyadmind". */
		size_t name = strlen(modules[i]);

		if (module && site_begins_with(module, modules[i]) &&
		    (len == name || !module[name] || strchr(modules[i], '.')))
			return true;
	}
	return false;
}

/* Go's own packages have no host in their path: "net/http.(*conn).serve" is in "net". */
static bool site_is_go_base(const char *name)
{
	static const char *const packages[] = {
		"archive",   "arena",	"bufio",    "builtin",	"bytes",   "cmp",     "compress",
		"container", "context", "crypto",   "database", "debug",   "embed",   "encoding",
		"errors",    "expvar",	"flag",	    "fmt",	"go",	   "hash",    "html",
		"image",     "index",	"internal", "io",	"iter",	   "log",     "maps",
		"math",	     "mime",	"net",	    "os",	"path",	   "plugin",  "reflect",
		"regexp",    "runtime", "slices",   "sort",	"strconv", "strings", "structs",
		"sync",	     "syscall", "testing",  "text",	"time",	   "type",    "unicode",
		"unique",    "unsafe",	"vendor",   "weak",
	};
	size_t len = strcspn(name, "/.");

	/* What cgo makes, to call C: it is in the caller's package. */
	if (strstr(name, "._Cfunc_") || strstr(name, "._cgo_"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
		if (site_begins_with(name, packages[i]) && strlen(packages[i]) == len)
			return true;
	}
	return false;
}

static bool site_is_java_base(const char *name)
{
	static const char *const packages[] = {
		"java.",   "javax.", "jdk.",	     "sun.",	    "com.sun.",
		"kotlin.", "scala.", "StubRoutines", "Interpreter", "vtable stub",
	};

	return site_begins(name, packages, ARRAY_SIZE(packages));
}

static bool site_is_dotnet_base(const char *name)
{
	static const char *const namespaces[] = {"System.", "Microsoft."};

	return site_begins(name, namespaces, ARRAY_SIZE(namespaces));
}

/* pip's and RubyGems' programs in a bin directory do nothing but call a library. */
static bool site_is_launcher(const struct frame *frame)
{
	static const char *const functions[] = {"<module>", "<main>", "<top (required)>"};

	return (frame->kind == FRAME_KIND_PYTHON || frame->kind == FRAME_KIND_RUBY) &&
	       frame->file && strstr(frame->file, "/bin/") &&
	       site_begins(frame->function, functions, ARRAY_SIZE(functions));
}

static enum frame_owner site_native_owner(const struct frame *frame)
{
	static const char *const functions[] = {"_cgo_", "x_cgo_", "_dl_"};
	enum frame_owner owner;

	if (frame_is_operator_new(frame) || frame_is_wrapper(frame))
		return OWNER_ALLOCATION;
	if (frame_is_library(frame) || site_begins_thread(frame) ||
	    site_is_base_module(frame->module) ||
	    site_begins(frame->function, functions, ARRAY_SIZE(functions)))
		return OWNER_BASE;
	owner = site_path_owner(frame->file, frame->kind);
	/* A file of Rust's library has been inlined into what is told by its name. */
	if (owner != OWNER_PROGRAM && owner != OWNER_RUNTIME)
		return owner;
	owner = site_path_owner(frame->module_path, frame->kind);
	if (owner != OWNER_PROGRAM)
		return owner;
	if (site_is_runtime_module(frame->module))
		return OWNER_RUNTIME;
	return site_is_public_library(frame) ? OWNER_LIBRARY : OWNER_PROGRAM;
}

static enum frame_owner site_script_owner(const struct frame *frame)
{
	if (frame->kind == FRAME_KIND_JAVA)
		return site_is_java_base(frame->function) ? OWNER_BASE : OWNER_PROGRAM;
	if (frame->kind == FRAME_KIND_DOTNET)
		return site_is_dotnet_base(frame->function) ? OWNER_BASE : OWNER_PROGRAM;
	/* A function of the runtime itself is in no file. */
	if (!frame->file || site_is_launcher(frame))
		return OWNER_BASE;
	return site_path_owner(frame->file, frame->kind);
}

static enum frame_owner site_tell_owner(const struct frame *frame, const struct site_rules *rules)
{
	/* Code of which nothing is known is nobody's. */
	if (!frame->function && !frame->module && !frame->file)
		return OWNER_BASE;
	if (rules && site_match(rules->own, rules->own_count, frame))
		return OWNER_PROGRAM;
	if (rules && site_match(rules->not_own, rules->not_own_count, frame))
		return OWNER_LIBRARY;
	switch (frame->kind) {
	case FRAME_KIND_NATIVE:
		return site_native_owner(frame);
	case FRAME_KIND_GO:
		if (frame->function && site_is_go_base(frame->function))
			return OWNER_BASE;
		return site_path_owner(frame->file, frame->kind);
	case FRAME_KIND_ARENA:
		return OWNER_ALLOCATION;
	case FRAME_KIND_JIT:
		return OWNER_PROGRAM;
	default:
		return site_script_owner(frame);
	}
}

enum frame_owner frame_owner(const struct frame *frame, const struct site_rules *rules)
{
	uint64_t key = (uint64_t)(uintptr_t)frame;
	enum frame_owner owner;
	uint32_t known;

	if (rules && rules->known && id_map_get(rules->known, key, &known))
		return (enum frame_owner)known;
	owner = site_tell_owner(frame, rules);
	/* Without memory it is told anew. */
	if (rules && rules->known)
		id_map_put(rules->known, key, (uint32_t)owner);
	return owner;
}

bool frame_is_plumbing(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_NATIVE && frame_owner(frame, NULL) <= OWNER_BASE;
}

/* ---- of a stack --------------------------------------------------------------------------- */

/* A script's function, and not what stands for the runtime itself. */
static bool site_is_script(const struct frame *frame)
{
	return !frame_in_object(frame) && frame->kind != FRAME_KIND_JIT &&
	       frame->kind != FRAME_KIND_ARENA;
}

/* Places of frames; 0: there is none. */
struct site_search {
	const struct frame *const *frames;
	size_t count;
	const struct site_rules *rules;
	size_t scripts;			    /* the outermost frame of a script */
	size_t program;			    /* the innermost one of the program that has a name */
	size_t unnamed;			    /* ... that has none */
	size_t script_library, script_base; /* the innermost ones */
	size_t library;			    /* the innermost native one of a library or a runtime */
	size_t outer;			    /* the outermost one of any library */
	size_t nameless;		    /* the innermost one without a name */
	bool whole; /* the stack has been walked to where its thread begins */
};

/* Ruby gives a function of its own the caller's file and line. */
static bool site_stands_at_caller(const struct site_search *s, size_t i)
{
	const struct frame *frame = s->frames[i], *caller;

	if (frame->kind != FRAME_KIND_RUBY || i + 1 >= s->count)
		return false;
	caller = s->frames[i + 1];
	return caller->kind == frame->kind && caller->file && frame->file &&
	       !strcmp(caller->file, frame->file) && caller->line == frame->line &&
	       strcmp(caller->function ?: "", frame->function ?: "") != 0;
}

static enum frame_owner site_owner(const struct site_search *s, size_t i)
{
	const struct frame *frame = s->frames[i];
	enum frame_owner owner = frame_owner(frame, s->rules);

	if (owner != OWNER_PROGRAM ||
	    (s->rules && site_match(s->rules->own, s->rules->own_count, frame)))
		return owner;
	if (site_stands_at_caller(s, i))
		return OWNER_BASE;
	/* Where there are scripts, an executable may be what runs them. An extension is not. */
	if (s->scripts && !site_is_script(frame) &&
	    (i > s->scripts || !site_is_shared(frame->module)))
		return OWNER_RUNTIME;
	return owner;
}

static void site_note(size_t *place, size_t i)
{
	*place = *place ? *place : i;
}

static void site_look(struct site_search *s, size_t i)
{
	const struct frame *frame = s->frames[i];
	enum frame_owner owner = site_owner(s, i);
	bool named = frame->function != NULL, script = site_is_script(frame);

	/* Of all others their owner has told that they do not. */
	s->whole |= (owner == OWNER_BASE || owner == OWNER_LIBRARY) && site_begins_thread(frame);
	if (owner == OWNER_PROGRAM) {
		site_note(named ? &s->program : &s->unnamed, i);
		return;
	}
	if (!named && owner != OWNER_ALLOCATION)
		site_note(&s->nameless, i);
	if (!named || owner == OWNER_ALLOCATION || site_begins_thread(frame))
		return;
	if (script)
		site_note(owner == OWNER_LIBRARY ? &s->script_library : &s->script_base, i);
	else if (owner == OWNER_LIBRARY || owner == OWNER_RUNTIME)
		site_note(&s->library, i);
	s->outer = i;
}

/* What the program, whose functions have no names, has called: opendir and not what opendir calls. */
static size_t site_called(const struct site_search *s)
{
	for (size_t i = s->unnamed - 1; i > 0; i--) {
		if (s->frames[i]->function &&
		    frame_owner(s->frames[i], s->rules) != OWNER_ALLOCATION)
			return i;
	}
	return s->unnamed;
}

size_t frames_site(const struct frame *const *frames, size_t count, const struct site_rules *rules)
{
	struct site_search s = {.frames = frames, .count = frames ? count : 0, .rules = rules};

	for (size_t i = 1; i < s.count; i++) {
		if (site_is_script(frames[i]) && frames[i]->function)
			s.scripts = i;
	}
	for (size_t i = 1; i < s.count && !s.program; i++)
		site_look(&s, i);
	if (s.program)
		return s.program;
	if (s.script_library || s.script_base)
		return s.script_library ?: s.script_base;
	if (s.unnamed)
		return site_called(&s);
	/* A thread that a library has begun for itself, or the whole of what was walked. */
	if (s.library && s.whole)
		return s.library;
	if (s.outer || s.nameless)
		return s.outer ?: s.nameless;
	return frames_allocating(frames, count, ALLOCATING_PROGRAM)
		       ?: frames_allocating(frames, count, ALLOCATING_CALLER) ?: s.count > 1;
}

/* ---- rows --------------------------------------------------------------------------------- */

static uint64_t site_hash_text(uint64_t hash, const char *text)
{
	return fnv1a(hash, text ?: "", strlen(text ?: "") + 1);
}

static uint64_t site_hash_number(uint64_t hash, uint64_t number)
{
	return fnv1a(hash, &number, sizeof(number));
}

/* The place in the code: a line where it is known, which is the same in interpreted and compiled code. */
static uint64_t site_hash_place(uint64_t hash, const struct frame *frame)
{
	hash = site_hash_text(hash, frame->function);
	if (frame->file && frame->line && !frame->line_begins)
		return site_hash_number(site_hash_text(hash, frame->file), frame->line);
	hash = site_hash_text(hash, frame->module_path ?: frame->module ?: frame->file);
	return site_hash_number(hash, frame_is_code(frame) ? frame->module_offset : 0);
}

uint64_t site_row_id(const struct frame *const *frames, size_t count, enum site_by by,
		     const struct site_rules *rules)
{
	size_t at = frames_site(frames, count, rules);
	uint64_t hash = FNV1A_BASIS;
	const struct frame *site;

	if (!frames || !count)
		return hash;
	site = frames[at];
	switch (by) {
	case BY_LINE:
		if (frame_owner(site, rules) == OWNER_PROGRAM || !site->function)
			return site_hash_place(hash, site);
		/* A library's lines say nothing: what has called it does. */
		hash = site_hash_text(site_hash_text(hash, site->function), site->module);
		return at + 1 < count ? site_hash_place(hash, frames[at + 1]) : hash;
	case BY_FUNCTION:
		if (!site->function)
			return site_hash_place(hash, site);
		return site_hash_text(site_hash_text(hash, site->function),
				      site->module_path ?: site->module ?: site->file);
	case BY_FILE:
		return site_hash_text(hash, site->file ?: site->module_path ?: site->module);
	default:
		return site_hash_text(hash, site->module_path ?: site->module ?: site->file);
	}
}
