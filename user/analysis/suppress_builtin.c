// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that the C and C++ libraries, tcmalloc and PHP allocate once and hold to the end by design.
 * Also blocks that glibc frees twice by design. The places are in the sources of glibc 2.36, GCC
 * 12's libstdc++ and gperftools 2.10. Each names a function that no caller's leak can go through: a
 * FILE that is never closed stays reported, its buffer does not.
 *
 * A library without symbol tables has only its exported names, so inner functions come with an
 * exported one above them where there is one. Programs may well give some of these names to
 * functions of their own: such entries say " in libc", which files cannot.
 */
#include "user/analysis/suppress_rule.h"

/* clang-format off */
#define LEAK(name, locations) "{\n" name "\nMemcheck:Leak\n" locations "}\n"
#define FREE(name, locations) "{\n" name "\nMemcheck:Free\n" locations "}\n"

const char suppress_builtin[] =
	/*
	 * eh_alloc.cc: the dynamic linker calls a constructor of the library's; nothing else
	 * allocates directly there.
	 */
	LEAK("libstdc++: emergency pool for exceptions", "fun:malloc\nobj:*/libstdc++.so*\nobj:*/ld-*.so*\n")
	LEAK("libstdc++: emergency pool for exceptions", "fun:malloc\n...\nfun:_GLOBAL__sub_I_eh_alloc.cc\n")
	LEAK("libstdc++: cache of a locale's facet", "...\nfun:_ZNSt6locale5_Impl16_M_install_cache*\n")
	LEAK("libstdc++: cache of a locale's facet", "...\nfun:_ZNKSt11__use_cache*\n")
	/* malloc_extension.cc of gperftools: the default one is dropped for the allocator's own. */
	LEAK("tcmalloc: its default extension", "...\nfun:_ZN15MallocExtension8RegisterEPS_\n")
	/* A thread's block goes with its stack, which is kept for the next thread. */
	LEAK("glibc: thread-local storage", "fun:*alloc\n...\nfun:_dl_allocate_tls*\n")
	LEAK("glibc: thread-local storage", "fun:*alloc\n...\nfun:__tls_get_addr*\n")
	LEAK("glibc: thread-local storage", "fun:*alloc\n...\nfun:tls_get_addr_tail\n")
	LEAK("glibc: thread-specific data", "fun:calloc\nfun:*pthread_setspecific\n")
	LEAK("glibc: destructors of a thread's objects", "fun:calloc\nfun:__cxa_thread_atexit_impl\n")
	LEAK("glibc: exit handlers", "fun:calloc\nfun:__new_exitfn\n")
	LEAK("glibc: exit handlers", "fun:calloc\nfun:__cxa_atexit\n")
	LEAK("glibc: buffer of a stream", "fun:malloc\nfun:_IO_file_doallocate\n")
	LEAK("glibc: buffer of a stream", "fun:malloc\nfun:_IO_wfile_doallocate\n")
	LEAK("glibc: environment", "...\nfun:__add_to_environ\n")
	LEAK("glibc: environment", "...\nfun:setenv in libc\n")
	LEAK("glibc: environment", "...\nfun:putenv in libc\n")
	LEAK("glibc: the program's locale", "...\nfun:setlocale in libc\n")
	LEAK("glibc: data of locales", "...\nfun:_nl_find_locale\n")
	LEAK("glibc: message catalogues", "...\nfun:_nl_load_domain\n")
	LEAK("glibc: message catalogues", "...\nfun:_nl_find_domain\n")
	LEAK("glibc: message catalogues", "...\nfun:__dcigettext\n")
	LEAK("glibc: message catalogues", "...\nfun:dcgettext in libc\n")
	LEAK("glibc: message catalogues", "...\nfun:bindtextdomain in libc\n")
	LEAK("glibc: message catalogues", "...\nfun:textdomain in libc\n")
	LEAK("glibc: time zone", "...\nfun:tzset_internal\n")
	LEAK("glibc: time zone", "...\nfun:__tz_convert\n")
	LEAK("glibc: time zone", "...\nfun:tzset in libc\n")
	LEAK("glibc: time zone", "...\nfun:localtime in libc\n")
	LEAK("glibc: time zone", "...\nfun:localtime_r in libc\n")
	LEAK("glibc: time zone", "...\nfun:mktime in libc\n")
	LEAK("glibc: configuration of name services", "...\nfun:__nss_database_get\n")
	LEAK("glibc: configuration of name services", "...\nfun:__nss_lookup*\n")
	LEAK("glibc: configuration of name services", "...\nfun:__nss_*lookup2\n")
	LEAK("glibc: configuration of name services", "...\nfun:__nss_module_*\n")
	LEAK("glibc: configuration of name services", "...\nfun:__resolv_conf_*\n")
	LEAK("glibc: configuration of name services", "...\nfun:__check_pf\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getpwnam in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getpwuid in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getgrnam in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getgrgid in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:gethostbyname in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getservbyname in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getservbyport in libc\n")
	LEAK("glibc: buffer of a database function", "fun:malloc\nfun:getprotobyname in libc\n")
	LEAK("glibc: character set conversions", "...\nfun:__gconv_load_conf\n")
	LEAK("glibc: character set conversions", "...\nfun:__gconv_read_conf\n")
	LEAK("glibc: character set conversions", "...\nfun:__gconv_load_cache\n")
	LEAK("glibc: character set conversions", "...\nfun:__wcsmbs_load_conv\n")
	LEAK("glibc: text of an error", "...\nfun:strerror in libc\n")
	LEAK("glibc: text of an error", "...\nfun:strerror_l in libc\n")
	LEAK("glibc: text of an error", "...\nfun:dlerror in libc\n")
	LEAK("glibc: text of an error", "fun:malloc\nfun:_dlerror_run\n")
	LEAK("glibc: the unwinder's library", "...\nfun:__libc_unwind_link_get\n")
	LEAK("glibc: the unwinder's library", "...\nfun:backtrace in libc\n")
	/*
	 * PHP: what internal functions take, in rows of 32 bytes. The function points to the second
	 * row, which may be the end.
	 */
	LEAK("PHP: what its functions take", "fun:malloc\nfun:zend_register_functions\n")
	/*
	 * malloc.c: at its end a thread frees the blocks in its cache, which were freed before, and
	 * the cache itself.
	 */
	FREE(SUPPRESS_THREAD_CACHE, "fun:free\n...\nfun:__malloc_arena_thread_freeres\n")
	FREE(SUPPRESS_THREAD_CACHE, "fun:free\n...\nfun:__libc_thread_freeres in libc\n");
