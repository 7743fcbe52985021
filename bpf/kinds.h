/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which functions belong together, and what is wrong with a free: what the programs tell apart and
 * people are shown. Apart from abi.h, so that a change to a map's layout does not rebuild what only
 * names these (user/model, exporters).
 */
#ifndef MEMLEAKBPF_BPF_KINDS_H
#define MEMLEAKBPF_BPF_KINDS_H

/*
 * The languages whose functions stacks have: X(constant, name, what people call it). The maps and
 * functions of bpf/runtime are called by the name (perl_rows, perl_follow()).
 *
 * An interpreter keeps its frames in memory of its own. bpf/runtime follows all of them in one go,
 * apart from the walk up the stack. The others have ways of their own.
 */
#define RUNTIME_INTERPRETERS(X) \
	X(RUBY, ruby, "Ruby")   \
	X(PHP, php, "PHP")      \
	X(PERL, perl, "Perl")
#define RUNTIME_LANGUAGES(X)        \
	X(PYTHON, python, "Python") \
	X(JVM, hotspot, "Java")     \
	X(V8, v8, "JavaScript")     \
	RUNTIME_INTERPRETERS(X)

#define RUNTIME_ENUMERATOR(constant, name, text) RUNTIME_##constant,
enum runtime {
	RUNTIME_NONE, /* or none that is known */
	RUNTIME_LANGUAGES(RUNTIME_ENUMERATOR)
	/* Stacks have no functions of these, or have them without our help. */
	RUNTIMES_FOLLOWED,
	RUNTIME_GO = RUNTIMES_FOLLOWED,
	RUNTIME_DOTNET,
	RUNTIMES,
};

/* Which functions belong together: what one of a family allocates, one of the same family frees. */
enum alloc_family {
	FAMILY_ANY = 0, /* not known: fits all */
	FAMILY_MALLOC,
	FAMILY_NEW,
	FAMILY_NEW_ARRAY,
	FAMILIES,
};

/* A free that is wrong. One row of `bad_frees` for all of a kind with the same stacks. */
enum bad_free_kind {
	BAD_FREE_DOUBLE = 0, /* the block has been freed before */
	BAD_FREE_INSIDE,     /* of an address inside a live block */
	BAD_FREE_UNKNOWN,    /* of an address that was never allocated */
	BAD_FREE_MISMATCH,   /* by the wrong function: new and free, new[] and delete … */
	BAD_FREE_KINDS,
};

#endif
