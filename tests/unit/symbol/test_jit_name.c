// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of perf maps, as runtimes have written them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/jit_name.h"

struct expected {
	const char *name;
	enum frame_kind kind;
	const char *function, *file; /* NULL: the whole name; none */
	uint32_t line;
};

static const struct expected names[] = {
	/* Python 3.12 -X perf */
	{"py::make_bytes:leak.py", FRAME_KIND_PYTHON, "make_bytes", "leak.py", 0},
	{"py::A.f.<locals>.<lambda>:/a:b/leak.py", FRAME_KIND_PYTHON, "A.f.<locals>.<lambda>",
	 "/a:b/leak.py", 0},
	{"py::<module>:<frozen runpy>", FRAME_KIND_PYTHON, "<module>", "<frozen runpy>", 0},
	{"py::nothing", FRAME_KIND_JIT, NULL, NULL, 0},
	{"py:::x.py", FRAME_KIND_JIT, NULL, NULL, 0},
	/* Node 20.20 --perf-basic-prof */
	{"JS:*tick /tmp/l.js:3:14", FRAME_KIND_JAVASCRIPT, "tick", "/tmp/l.js", 3},
	{"JS:~get bar /a b/l.js:2:20", FRAME_KIND_JAVASCRIPT, "get bar", "/a b/l.js", 2},
	{"JS:^Module._load node:internal/modules/cjs/loader:586:17", FRAME_KIND_JAVASCRIPT,
	 "Module._load", "node:internal/modules/cjs/loader", 586},
	{"JS:~ file:///tmp/m.mjs:1:1", FRAME_KIND_JAVASCRIPT, "(anonymous)", "file:///tmp/m.mjs",
	 1},
	{"JS:+tick leak.js:8:26", FRAME_KIND_JAVASCRIPT, "tick", "leak.js", 8},
	{"JS:*tick", FRAME_KIND_JAVASCRIPT, "tick", NULL, 0},
	{"JS:*", FRAME_KIND_JAVASCRIPT, "(anonymous)", NULL, 0},
	{"JS:*tick /a:4294967296:1", FRAME_KIND_JAVASCRIPT, "tick", "/a:4294967296", 1},
	{"JS:*tick /a:99999999999999999999999:1", FRAME_KIND_JAVASCRIPT, "tick",
	 "/a:99999999999999999999999", 1},
	{"JS:*tick :1:2", FRAME_KIND_JAVASCRIPT, "tick", ":1", 2},
	{"Eval:~ /tmp/l.js:1:1", FRAME_KIND_JAVASCRIPT, "(anonymous)", "/tmp/l.js", 1},
	{"RegExp:a+b", FRAME_KIND_JAVASCRIPT, NULL, NULL, 0},
	{"Builtin:ArrayMap", FRAME_KIND_JAVASCRIPT, NULL, NULL, 0},
	{"BytecodeHandler:Ldar.Wide", FRAME_KIND_JAVASCRIPT, NULL, NULL, 0},
	/* Node 8 to 16 */
	{"LazyCompile:*add /app/math.js:10", FRAME_KIND_JAVASCRIPT, "add", "/app/math.js", 10},
	{"Function:~add /app/math.js:10:7", FRAME_KIND_JAVASCRIPT, "add", "/app/math.js", 10},
	{"Function:add", FRAME_KIND_JIT, NULL, NULL, 0},
	{"Eval:1", FRAME_KIND_JIT, NULL, NULL, 0},
	/* OpenJDK 17, jcmd PID Compiler.perfmap */
	{"int W$In.f(java.util.Map, int[])", FRAME_KIND_JAVA, "W$In.f", NULL, 0},
	{"void java.util.HashMap.<init>()", FRAME_KIND_JAVA, "java.util.HashMap.<init>", NULL, 0},
	{"java.util.concurrent.ConcurrentHashMap$Node[] W.lambda$main$0()", FRAME_KIND_JAVA,
	 "W.lambda$main$0", NULL, 0},
	{"Interpreter", FRAME_KIND_JAVA, NULL, NULL, 0},
	{"StubRoutines (1)", FRAME_KIND_JAVA, NULL, NULL, 0},
	{"I2C/C2I adapters", FRAME_KIND_JAVA, NULL, NULL, 0},
	/* perf-map-agent */
	{"Ljava/util/HashMap;::put", FRAME_KIND_JAVA, NULL, NULL, 0},
	/* .NET, DOTNET_PerfMapEnabled=1 */
	{"instance void [System.Private.CoreLib] System.Threading.Thread::StartCallback()[PreJIT]",
	 FRAME_KIND_DOTNET,
	 "instance void [System.Private.CoreLib] System.Threading.Thread::StartCallback()", NULL,
	 0},
	{"void [app] Program::Main(string[])[OptimizedTier1]", FRAME_KIND_DOTNET,
	 "void [app] Program::Main(string[])", NULL, 0},
	/* Of LuaJIT, Erlang, Wasmtime, PHP, and of nobody. */
	{"TRACE_1::file.lua:3", FRAME_KIND_JIT, NULL, NULL, 0},
	{"$lists:map/2", FRAME_KIND_JIT, NULL, NULL, 0},
	{"wasm[0]::function[3]", FRAME_KIND_JIT, NULL, NULL, 0},
	{"void std::f(int)", FRAME_KIND_JIT, NULL, NULL, 0},
	{"int f(int)", FRAME_KIND_JIT, NULL, NULL, 0},
	{"Interpreter2", FRAME_KIND_JIT, NULL, NULL, 0},
	{"L;x", FRAME_KIND_JIT, NULL, NULL, 0},
	{"[Optimized]", FRAME_KIND_JIT, NULL, NULL, 0},
	{" ()", FRAME_KIND_JIT, NULL, NULL, 0},
	{"x", FRAME_KIND_JIT, NULL, NULL, 0},
};

static void assert_part(const char *part, size_t len, const char *wanted)
{
	assert_int_equal(!part, !wanted);
	if (!part)
		return;
	assert_int_equal(len, strlen(wanted));
	assert_memory_equal(part, wanted, len);
}

static void each_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct expected *e = &names[i];
		size_t len = strlen(e->name);
		/* Not ended by a NUL, so that reading on is seen. */
		char *copy = malloc(len);
		struct jit_name name;

		assert_non_null(copy);
		memcpy(copy, e->name, len);
		name = jit_name_parse(copy, len);
		if (name.kind != e->kind)
			print_error("%s\n", e->name);
		assert_int_equal(name.kind, e->kind);
		assert_part(name.function, name.function_len, e->function ?: e->name);
		assert_part(name.file, name.file_len, e->file);
		assert_int_equal(name.line, e->line);
		free(copy);
	}
}

/* Whatever is cut off: the parts lie in the name. */
static void cut_anywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t len = 0; len <= strlen(names[i].name); len++) {
			const char *text = names[i].name;
			struct jit_name name = jit_name_parse(text, len);

			if (strncmp(name.function ?: "", "(anonymous)", 11) != 0)
				assert_true(name.function >= text &&
					    name.function + name.function_len <= text + len);
			if (name.file)
				assert_true(name.file > text &&
					    name.file + name.file_len <= text + len);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name),
		cmocka_unit_test(cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
