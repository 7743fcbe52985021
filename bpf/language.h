/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The languages that memleakbpf knows runtimes of. */
#ifndef MEMLEAKBPF_BPF_LANGUAGE_H
#define MEMLEAKBPF_BPF_LANGUAGE_H

/*
 * The languages whose functions stacks have: X(constant, name, what people call it). The maps and
 * functions of bpf/runtime are called by the name (perl_rows, perl_follow()). New ones go to the end.
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

#endif
