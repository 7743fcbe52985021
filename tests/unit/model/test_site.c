// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose line it is: stacks of real programs in ten languages, written down as the tool has named them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/model/site.h"

static const struct frame site_malloc = {.function = "malloc", .module = "libc.so.6"};
static const struct frame site_new = {.function = "operator new(unsigned long)"};
static const struct frame site_vector = {
	.function = "int& std::vector<int>::emplace_back<int>(int&&)", .module = "shop"};
static const struct frame site_strdup = {.function = "strdup", .module = "libc.so.6"};
static const struct frame site_zmalloc = {.function = "zmalloc_usable", .module = "redis-server"};
static const struct frame site_wrapped = {.function = "mem::Pool<a::malloc>::get(int)",
					  .module = "shop"};
static const struct frame site_own = {.function = "fill", .module = "shop"};
static const struct frame site_unnamed = {.module = "shop", .offset = 0x12};
static const struct frame site_start = {.function = "_start", .module = "shop"};
static const struct frame site_grow = {.function = "alloc::raw_vec::RawVec<T,A>::grow_one",
				       .symbol = "_ZN5alloc7raw_vec19RawVec17h0123456789abcdefE",
				       .module = "shop"};
static const struct frame site_engine = {
	.function = "core::Engine::load()", .symbol = "_ZN4core6Engine4loadEv", .module = "shop"};
static const struct frame site_python = {
	.kind = FRAME_KIND_PYTHON, .function = "handle", .module = "shop.py"};

/* Rust's, as debug information has them: inlined, without a mangled name. */
static const struct frame site_rust_inlined = {.function =
						       "alloc::alloc::Global::grow_impl_runtime",
					       .file = "/rustc/59807616/library/alloc/src/alloc.rs",
					       .module = "gen",
					       .inlined = true};
static const struct frame site_rust_impl = {.function =
						    "alloc::boxed::{impl#31}::call_once<(), T, A>",
					    .file = "library/alloc/src/boxed.rs",
					    .module = "gen",
					    .inlined = true};
static const struct frame site_rust_primitive = {
	.function = "<u32 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem::<A>",
	.symbol = "_RINvXs_NtCs1_5alloc3vec",
	.module = "gen"};
static const struct frame site_rust_slice = {
	.function = "<[gen::Item] as alloc::slice::hack::ConvertVec>::to_vec",
	.symbol = "_RNvXs_NtCs1_5alloc3vec",
	.module = "gen"};
static const struct frame site_rust_suffix = {
	.function = "hashbrown::raw::RawTable<T,A>::reserve_rehash",
	.symbol = "_ZN9hashbrown3raw21RawTable17h0123456789abcdefE.llvm.112543",
	.module = "gen"};
static const struct frame site_rust_own = {.function =
						   "<gen::Cache<T> as alloc::borrow::ToOwned>::put",
					   .file = "src/gen.rs",
					   .module = "gen",
					   .inlined = true};
static const struct frame site_rust_nested = {
	.function = "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<<a::B as b::C>::D>",
	.file = "library/alloc/src/slice.rs",
	.module = "gen",
	.inlined = true};
static const struct frame site_rust_dyn = {
	.function = "<&mut dyn core::ops::Fn() -> u8 + a::B as core::ops::FnOnce<()>>::call_once",
	.file = "library/core/src/ops/function.rs",
	.module = "gen"};
static const struct frame site_rust_foreign = {
	.function = "<&gen::Item as alloc::borrow::ToOwned>::to_owned",
	.file = "src/gen.rs",
	.module = "gen"};
static const struct frame site_cxx_inlined = {
	.function = "alloc::Pool::take", .file = "pool.cc", .module = "shop", .inlined = true};

#define SITE(...)                                                             \
	frames_site((const struct frame *const[]){&site_malloc, __VA_ARGS__}, \
		    ARRAY_SIZE(((const struct frame *const[]){&site_malloc, __VA_ARGS__})), NULL)

static void sites(void **state)
{
	(void)state;
	assert_int_equal(SITE(&site_own), 1);
	assert_int_equal(SITE(&site_new, &site_vector, &site_own), 3);
	assert_int_equal(SITE(&site_strdup, &site_zmalloc, &site_own), 3);
	assert_int_equal(SITE(&site_wrapped, &site_own), 1);
	assert_int_equal(SITE(&site_grow, &site_engine), 2);
	assert_int_equal(SITE(&site_rust_inlined, &site_rust_impl, &site_rust_primitive,
			      &site_rust_slice, &site_rust_suffix, &site_rust_own),
			 6);
	assert_int_equal(SITE(&site_rust_nested, &site_rust_dyn, &site_rust_foreign), 3);
	assert_int_equal(SITE(&site_cxx_inlined, &site_own), 1);
	assert_int_equal(SITE(&site_zmalloc, &site_own, &site_python), 3);
	/* The best that is known. */
	assert_int_equal(SITE(&site_strdup, &site_zmalloc, &site_start), 2);
	assert_int_equal(SITE(&site_unnamed, &site_start), 1);
	assert_int_equal(SITE(&site_unnamed), 1);
	assert_int_equal(frames_site(NULL, 0, NULL), 0);
	assert_int_equal(frames_site((const struct frame *const[]){&site_malloc}, 1, NULL), 0);
	assert_true(frame_is_plumbing(&site_vector) && frame_is_plumbing(&site_grow));
	assert_false(frame_is_plumbing(&site_engine) || frame_is_plumbing(&site_unnamed));
}

/* ---- real stacks -------------------------------------------------------------------------- */

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define PY   "/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0"

#define MAX_FRAMES 24

/* "FUNCTION|MODULE'S PATH|FILE:LINE" for native code, "python:FUNCTION|FILE:LINE" for a script; "?": no name. */
struct real_stack {
	const char *what;
	const char *site; /* its function, or its module where it has none */
	bool own;
	const char *frames[MAX_FRAMES];
};

#define C_BEGIN                                                      \
	"__libc_start_call_main|" LIBC "|libc_start_call_main.h:58", \
		"__libc_start_main|" LIBC "|../csu/libc-start.c:360"
#define PY_IMPORT                                                  \
	"python:_load_unlocked|<frozen importlib._bootstrap>:690", \
		"python:_find_and_load_unlocked|<frozen importlib._bootstrap>:1147"

static const struct real_stack real_stacks[] = {
	{"C: a library function of libc",
	 "dirs",
	 true,
	 {"malloc|" LIBC, "__alloc_dir|" LIBC "|../sysdeps/unix/sysv/linux/opendir.c:115",
	  "opendir_tail|" LIBC, "dirs|./a|/src/a.c:10", "main|./a|/src/a.c:12", C_BEGIN,
	  "_start|./a"}},
	{"C: a thread",
	 "threads",
	 true,
	 {"calloc|" LIBC, "calloc|/lib64/ld-linux-x86-64.so.2",
	  "allocate_dtv|/lib64/ld-linux-x86-64.so.2",
	  "_dl_allocate_tls|/lib64/ld-linux-x86-64.so.2", "allocate_stack|" LIBC,
	  "pthread_create|" LIBC, "threads|./a|/src/a.c:11", "main|./a|/src/a.c:12", C_BEGIN}},
	{"C without symbols: the library function that it called",
	 "setlocale",
	 false,
	 {"malloc|" LIBC, "_nl_intern_locale_data|" LIBC, "_nl_load_locale|" LIBC,
	  "_nl_find_locale|" LIBC, "setlocale|" LIBC, "?|/usr/bin/env", C_BEGIN, "?|/usr/bin/env"}},
	{"C without symbols: malloc itself",
	 "env",
	 true,
	 {"malloc|" LIBC, "?|/usr/bin/env", "?|/usr/bin/env", C_BEGIN, "?|/usr/bin/env"}},
	{"C: the walk has ended in a library",
	 "curl_easy_init",
	 false,
	 {"calloc|" LIBC, "Curl_open|/usr/lib/x86_64-linux-gnu/libcurl.so.4",
	  "curl_easy_init|/usr/lib/x86_64-linux-gnu/libcurl.so.4"}},
	{"C: a public library below the program",
	 "fetch",
	 true,
	 {"calloc|" LIBC, "Curl_open|/usr/lib/x86_64-linux-gnu/libcurl.so.4",
	  "curl_easy_init|/usr/lib/x86_64-linux-gnu/libcurl.so.4",
	  "fetch|/usr/bin/shop|fetch.c:9"}},
	{"C: a library's own thread",
	 "getaddrinfo_thread",
	 false,
	 {"malloc|" LIBC, "getaddrinfo|" LIBC,
	  "getaddrinfo_thread|/usr/lib/x86_64-linux-gnu/libcurl.so.4",
	  "curl_thread_create_thunk|/usr/lib/x86_64-linux-gnu/libcurl.so.4", "start_thread|" LIBC,
	  "clone3|" LIBC}},
	{"C: bash, with names for what is exported",
	 "hash_create",
	 true,
	 {"malloc|" LIBC, "xmalloc|/usr/bin/bash", "hash_create|/usr/bin/bash", "?|/usr/bin/bash",
	  "initialize_shell_variables|/usr/bin/bash", "?|/usr/bin/bash", "main|/usr/bin/bash",
	  C_BEGIN}},
	{"C: a program's private library",
	 "nsParser::Parse()",
	 true,
	 {"malloc|" LIBC, "nsParser::Parse()|/usr/lib/firefox/libxul.so",
	  "main|/usr/lib/firefox/firefox", C_BEGIN}},
	{"C++: the standard library, inlined and not",
	 "shop::Cart::add(int)",
	 true,
	 {"malloc|" LIBC, "operator new(unsigned long)|/lib/x86_64-linux-gnu/libstdc++.so.6",
	  "std::__cxx11::basic_string<char>::_M_construct(unsigned long, "
	  "char)|/lib/x86_64-linux-gnu/libstdc++.so.6",
	  "std::__cxx11::basic_string<char>::basic_string(unsigned long, "
	  "char)|./b|/usr/include/c++/12/bits/basic_string.h:659",
	  "shop::Cart::add(int)|./b|/src/b.cpp:7",
	  "main::(anonymous)::operator()|./b|/src/b.cpp:12", "main|./b|/src/b.cpp:12"}},
	{"C++: a header of a library",
	 "load",
	 true,
	 {"malloc|" LIBC, "operator new(unsigned long)|/lib/x86_64-linux-gnu/libstdc++.so.6",
	  "boost::make_shared<Item>()|./b|/usr/include/boost/smart_ptr/make_shared_object.hpp:250",
	  "load|./b|/src/load.cc:3"}},
	{"C++: before main()",
	 "libstdc++.so.6",
	 false,
	 {"malloc|" LIBC, "?|/lib/x86_64-linux-gnu/libstdc++.so.6",
	  "call_init|/lib64/ld-linux-x86-64.so.2", "_dl_init|/lib64/ld-linux-x86-64.so.2",
	  "_dl_start_user|/lib64/ld-linux-x86-64.so.2"}},
	{"Rust",
	 "c::Cache::put",
	 true,
	 {"malloc|" LIBC, "alloc::alloc::alloc|./c|/rustc/5980/library/alloc/src/alloc.rs:95",
	  "<alloc::alloc::Global as "
	  "core::alloc::Allocator>::allocate|./c|/rustc/5980/library/alloc/src/alloc.rs:429",
	  "alloc::fmt::format::format_inner|./c|/rustc/5980/library/alloc/src/fmt.rs:652",
	  "core::option::Option<T>::map_or_else|./c|/rustc/5980/library/core/src/option.rs:1278",
	  "c::Cache::put|./c|/src/c.rs:3", "c::main|./c|/src/c.rs:5",
	  "core::ops::function::FnOnce::call_once|./c|/rustc/5980/library/core/src/ops/"
	  "function.rs:250",
	  "main|./c"}},
	{"Rust: a crate",
	 "app::load",
	 true,
	 {"malloc|" LIBC,
	  "serde_json::de::from_str|./app|/root/.cargo/registry/src/index.crates.io-6f17/"
	  "serde_json-1.0/src/de.rs:9",
	  "app::load|./app|src/main.rs:8"}},
	{"Python: the language's library, and its C functions",
	 "parse",
	 true,
	 {"malloc|" LIBC, "_PyObject_Malloc|" PY "|Objects/obmalloc.c:2003", "PyUnicode_New|" PY,
	  "encoder_call|/root/.pyenv/versions/3.11.7/lib/python3.11/lib-dynload/"
	  "_json.cpython-311-x86_64-linux-gnu.so",
	  "_PyObject_MakeTpCall|" PY,
	  "python:JSONEncoder.encode|/root/.pyenv/versions/3.11.7/lib/python3.11/json/"
	  "encoder.py:200",
	  "python:dumps|/root/.pyenv/versions/3.11.7/lib/python3.11/json/__init__.py:231",
	  "python:parse|/srv/d.py:8", "python:<module>|/srv/d.py:9", C_BEGIN}},
	{"Python: a thread",
	 "fill",
	 true,
	 {"malloc|" LIBC, "_PyObject_Malloc|" PY,
	  "python:raw_decode|/usr/lib/python3.11/json/decoder.py:353", "python:fill|/srv/d.py:6",
	  "python:Thread.run|/usr/lib/python3.11/threading.py:982",
	  "python:Thread._bootstrap|/usr/lib/python3.11/threading.py:1002", "pythread_wrapper|" PY,
	  "start_thread|" LIBC}},
	{"Python: an import",
	 "<module>",
	 true,
	 {"calloc|" LIBC, "arena_map_get|" PY,
	  "python:_compile_bytecode|<frozen importlib._bootstrap_external>:729", PY_IMPORT,
	  "python:<module>|/usr/lib/python3.11/tempfile.py:43", PY_IMPORT,
	  "python:<module>|/srv/d.py:1", C_BEGIN}},
	{"Python: a program that is in site-packages",
	 "Session.get",
	 false,
	 {"malloc|" LIBC, "PyUnicode_New|" PY,
	  "python:loads|/usr/lib/python3.11/json/__init__.py:346",
	  "python:Session.get|/usr/local/lib/python3.11/site-packages/jup/session.py:7",
	  "python:main|/usr/local/lib/python3.11/site-packages/jup/app.py:70",
	  "python:<module>|/usr/local/bin/jup:8", C_BEGIN}},
	{"Python: an extension of one's own",
	 "fast_grow",
	 true,
	 {"malloc|" LIBC, "fast_grow|/srv/app/_fast.cpython-311-x86_64-linux-gnu.so",
	  "cfunction_call|" PY, "python:handle|/srv/app/app.py:5", C_BEGIN}},
	{"Python: before any script",
	 "_PyObject_ArenaMmap",
	 false,
	 {"mmap|" LIBC, "_PyObject_ArenaMmap|" PY, "new_arena|" PY, "Py_InitializeFromConfig|" PY,
	  C_BEGIN}},
	{"Node: interpreted",
	 "leak",
	 true,
	 {"calloc|" LIBC, "node::NodeArrayBufferAllocator::Allocate(unsigned long)|/usr/bin/node",
	  "Builtins_JSBuiltinsConstructStub|/usr/bin/node", "javascript:Uint8Array",
	  "javascript:FastBuffer|node:internal/buffer:961",
	  "Builtins_JSConstructStubGeneric|/usr/bin/node", "javascript:alloc|node:buffer:397",
	  "javascript:leak|/srv/e.js:2", "javascript:(anonymous)|/srv/e.js:4",
	  "javascript:Module._compile|node:internal/modules/cjs/loader:1521"}},
	{"Node: a package",
	 "hash",
	 true,
	 {"malloc|" LIBC, "bcrypt::Worker()|/srv/node_modules/bcrypt/build/Release/bcrypt.node",
	  "javascript:hash|/srv/node_modules/bcrypt/bcrypt.js:9",
	  "javascript:hash|/srv/auth.js:3"}},
	{"Node: before any script",
	 "ossl_asn1_enc_save",
	 false,
	 {"malloc|" LIBC, "ossl_asn1_enc_save|/usr/bin/node", "asn1_item_embed_d2i|/usr/bin/node",
	  "node::crypto::NewRootCertStore()|/usr/bin/node",
	  "node::Start(int, char**)|/usr/bin/node", C_BEGIN, "_start|/usr/bin/node"}},
	{"Java",
	 "F.def",
	 true,
	 {"malloc|" LIBC, "deflateInit2_|/lib/x86_64-linux-gnu/libz.so.1",
	  "Java_java_util_zip_Deflater_init|/usr/lib/jvm/java-17-openjdk-amd64/lib/libzip.so",
	  "java:java.util.zip.Deflater.init|Deflater.java:0",
	  "java:java.util.zip.Deflater.<init>|Deflater.java:218", "java:F.def|F.java:2",
	  "java:F.main|F.java:3", "java:StubRoutines (1)"}},
	{"Java: the virtual machine",
	 "os::malloc(unsigned long)",
	 false,
	 {"malloc|" LIBC,
	  "os::malloc(unsigned long)|/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
	  "start_thread|" LIBC}},
	{"Go: cgo",
	 "main.leak",
	 true,
	 {"malloc|" LIBC, "_cgo_d46ed10c3f7c_Cfunc__Cmalloc|./gg|/tmp/go-build/_cgo_export.c:30",
	  "go:runtime.asmcgocall.abi0|/usr/lib/go-1.19/src/runtime/asm_amd64.s:844",
	  "go:runtime.cgocall|/usr/lib/go-1.19/src/runtime/cgocall.go:168",
	  "go:main._cgo_cmalloc.abi0|./_cgo_gotypes.go:53",
	  "go:main._Cfunc__CMalloc|./_cgo_gotypes.go:40", "go:main.leak|/src/main.go:10",
	  "go:main.main|/src/main.go:11",
	  "go:runtime.main|/usr/lib/go-1.19/src/runtime/proc.go:250"}},
	{"Go: a module",
	 "example.com/shop/cart.Add",
	 true,
	 {"mmap|" LIBC, "go:runtime.sysMmap|/usr/local/go/src/runtime/mem.go:3",
	  "go:bytes.(*Buffer).grow|/usr/local/go/src/bytes/buffer.go:9",
	  "go:github.com/pkg/json.Decode|/root/go/pkg/mod/github.com/pkg/json@v1/d.go:4",
	  "go:example.com/shop/cart.Add|/src/cart/add.go:4"}},
	{"Go: a server's goroutine",
	 "net/http.(*conn).serve",
	 false,
	 {"mmap|" LIBC, "go:runtime.sysMmap|/usr/local/go/src/runtime/mem.go:3",
	  "go:bufio.NewWriter|/usr/local/go/src/bufio/bufio.go:9",
	  "go:net/http.(*conn).serve|/usr/local/go/src/net/http/server.go:1995",
	  "go:runtime.goexit.abi0|/usr/local/go/src/runtime/asm.s:1"}},
	{"PHP",
	 "Cart::add",
	 true,
	 {"mmap|" LIBC, "?|/usr/bin/php", "_safe_femalloc|/usr/bin/php", "php:str_repeat",
	  "php:Cart::add|/srv/h.php:1", "php:leak|/srv/h.php:2", "php:{main}|/srv/h.php:3",
	  C_BEGIN}},
	{"PHP: composer",
	 "App::run",
	 true,
	 {"mmap|" LIBC, "_emalloc|/usr/bin/php",
	  "php:Logger::write|/srv/vendor/monolog/monolog/src/Logger.php:3",
	  "php:App::run|/srv/src/App.php:8", "php:{main}|/srv/index.php:3"}},
	{"Ruby: a function of its own stands at the caller's line",
	 "add",
	 true,
	 {"malloc|" LIBC, "?|/lib/x86_64-linux-gnu/libruby-3.1.so.3.1",
	  "rb_str_times|/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", "ruby:*|i.rb:1",
	  "ruby:add|i.rb:1", "ruby:leak|i.rb:2", "ruby:block in <main>|i.rb:3", "ruby:times|i.rb:3",
	  "ruby:<main>|i.rb:3", "?|/usr/bin/ruby", C_BEGIN}},
	{"Ruby: its library",
	 "<main>",
	 true,
	 {"malloc|" LIBC, "rb_hash_aset|/lib/x86_64-linux-gnu/libruby-3.1.so.3.1",
	  "ruby:add|/usr/lib/ruby/3.1.0/set.rb:522", "ruby:block in <main>|i.rb:4",
	  "ruby:times|i.rb:4", "ruby:<main>|i.rb:4", C_BEGIN}},
	{"Perl",
	 "Cart::add",
	 true,
	 {"realloc|" LIBC, "Perl_safesysrealloc|/usr/bin/perl", "Perl_sv_grow|/usr/bin/perl",
	  "perl:Cart::add|j.pl:1", "perl:main::leak|j.pl:2", "perl:(main)|j.pl:3", C_BEGIN}},
	{"Perl: a module, and its C functions",
	 "(main)",
	 true,
	 {"realloc|" LIBC, "Perl_sv_grow|/usr/bin/perl",
	  "?|/usr/lib/x86_64-linux-gnu/perl/5.36.0/auto/Data/Dumper/Dumper.so",
	  "perl:Data::Dumper::Dump|/usr/lib/x86_64-linux-gnu/perl/5.36/Data/Dumper.pm:212",
	  "perl:(main)|j.pl:3", C_BEGIN}},
};

struct made_frame {
	char text[512];
	struct frame frame;
};

static enum frame_kind kind_of(const char *text, size_t len)
{
	for (int kind = FRAME_KIND_JIT; kind < FRAME_KINDS; kind++) {
		const char *name = frame_kind_name((enum frame_kind)kind);

		if (strlen(name) == len && !strncmp(name, text, len))
			return (enum frame_kind)kind;
	}
	return FRAME_KIND_NATIVE;
}

static void make_frame(const char *text, struct made_frame *made)
{
	enum frame_kind kind = kind_of(text, strcspn(text, ":"));
	char *function = made->text, *path = NULL, *file, *line;

	snprintf(made->text, sizeof(made->text), "%s",
		 kind == FRAME_KIND_NATIVE ? text : text + strcspn(text, ":") + 1);
	file = strchr(function, '|');
	if (file)
		*file++ = '\0';
	if (kind == FRAME_KIND_NATIVE) {
		path = file;
		file = path ? strchr(path, '|') : NULL;
		if (file)
			*file++ = '\0';
	}
	line = file ? strrchr(file, ':') : NULL;
	if (line)
		*line++ = '\0';
	made->frame = frame_managed(kind, function, file, line ? (uint32_t)atoi(line) : 0);
	if (kind == FRAME_KIND_GO)
		path = "./gg";
	if (path) {
		made->frame.module_path = path;
		made->frame.module = strrchr(path, '/') + 1;
	}
	if (!strcmp(function, "?"))
		made->frame.function = NULL;
}

static void real_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(real_stacks); i++) {
		const struct real_stack *stack = &real_stacks[i];
		struct made_frame made[MAX_FRAMES];
		const struct frame *frames[MAX_FRAMES];
		size_t count = 0, site;

		for (; count < MAX_FRAMES && stack->frames[count]; count++) {
			make_frame(stack->frames[count], &made[count]);
			frames[count] = &made[count].frame;
		}
		site = frames_site(frames, count, NULL);
		print_message("%s: %s\n", stack->what,
			      frames[site]->function ?: frames[site]->module);
		assert_string_equal(frames[site]->function ?: frames[site]->module, stack->site);
		assert_int_equal(frame_owner(frames[site], NULL) == OWNER_PROGRAM, stack->own);
	}
}

/* What the command line says goes before what is known here, and --own before --not-own. */
static void rules(void **state)
{
	static const struct frame pool = {.function = "int shop::Pool::get(int)",
					  .module = "shop",
					  .module_path = "/usr/bin/shop",
					  .file = "/src/pool.cc"};
	static const struct frame fill = {
		.function = "fill", .module = "shop", .file = "/src/a.cc"};
	static const struct frame ssl = {.function = "SSL_new",
					 .module = "libssl.so.3",
					 .module_path = "/usr/lib/libssl.so.3"};
	const struct frame *const stack[] = {&site_malloc, &ssl, &pool, &fill};
	static const struct {
		const char *own, *not_own;
		size_t site;
	} rows[] = {
		{NULL, NULL, 2},	 {NULL, "shop::Pool::*", 3},
		{NULL, "pool.cc", 3},	 {NULL, "/src/p*", 3},
		{NULL, "Pool", 2}, /* no part of a name */
		{"libssl.so*", NULL, 1}, {"/usr/lib/*", "SSL_*", 1},
		{NULL, "shop", 3}, /* nothing is the program's: the outermost that was called */
		{"fill", "shop", 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct site_rules r = {.own = &rows[i].own,
					     .not_own = &rows[i].not_own,
					     .own_count = rows[i].own != NULL,
					     .not_own_count = rows[i].not_own != NULL};

		assert_int_equal(frames_site(stack, ARRAY_SIZE(stack), &r), rows[i].site);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites),
		cmocka_unit_test(real_programs),
		cmocka_unit_test(rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
