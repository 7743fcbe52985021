#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/check-layers finds what it is there for: each test plants one violation in a tree that is otherwise clean.

setup() {
	tree=$BATS_TEST_TMPDIR
	here=${BUILD:-build}
	export BUILD=$tree/build
	mkdir -p "$tree"/{bpf,vmlinux,tests,tools,.ci,docs} "$tree"/user/{base,model,heap,trace,unwind,analysis,export,cli}
	cp "$BATS_TEST_DIRNAME/../../tools/rooms.mk" "$tree/tools"
	# Its objects are of what stands in the sources themselves: what they include need not be there.
	cat >"$tree/Makefile" <<-'END'
		# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
		.RECIPEPREFIX = >
		objects: $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard user/*/*.c))
		$(BUILD)/obj/%.o: %.c
		> @mkdir -p $(@D)
		> @grep -v '# *include' $< | $(CC) -w -O2 -x c -c - -o $@
	END
	plant bpf/abi.h '#include "vmlinux/vmlinux.h"'
	plant user/base/log.h ''
	plant user/base/log.c 'void log_line(void) {}'
	plant user/model/snapshot.h '#include "user/base/log.h"'
	plant user/model/snapshot.c 'void log_line(void); void snapshot_new(void) { log_line(); }'
	plant user/trace/trace.c '#include <bpf/libbpf.h>' '#include "memleakbpf.skel.h"' '#include "bpf/bpf_maps.h"' \
		'void snapshot_new(void); void trace_new(void) { snapshot_new(); }'
	plant user/unwind/publish.c '#include <bpf/bpf.h>'
	plant user/analysis/rank.c '#include "user/analysis/rank.h"' '#include "user/model/snapshot.h"'
	plant user/cli/main.c '#include "user/analysis/rank.h"' '#include "user/trace/trace.h"' '#include <stdio.h>' \
		'void trace_new(void); int main(void) { trace_new(); }'
}

# plant FILE LINE…
plant() {
	local file=$1

	shift
	printf '%s\n' '// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' "$@" >"$tree/$file"
}

# repeat N TEXT
repeat() {
	local i

	for ((i = 0; i < $1; i++)); do
		printf '%s\n' "$2"
	done
}

check() {
	run "$BATS_TEST_DIRNAME/../../tools/check-layers" "$tree"
}

# found LINE: the check fails with this line and no other.
found() {
	check
	printf '%s\n' "$output"
	[ "$status" -eq 1 ]
	[ "$output" = "$1" ]
}

@test "a clean tree passes, and what is proved is said" {
	check
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
	[ "$output" = "$(grep -c '^room_' "$tree/tools/rooms.mk") rooms, 6 objects, no cycle of rooms, no circle of files" ]
}

@test "this tree passes" {
	BUILD=$here run "$BATS_TEST_DIRNAME/../../tools/check-layers"
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
}

@test "a room that includes one above it" {
	plant user/base/text.c '#include "user/base/log.h"' '#include "user/trace/trace.h"'
	found 'user/base/text.c:3: base includes user/trace/trace.h; it may use no other room'
}

@test "analysis that looks at the running system" {
	plant user/analysis/trend_series.c '#include "user/trace/trace.h"'
	found 'user/analysis/trend_series.c:2: analysis includes user/trace/trace.h; it may use base model'
}

@test "a room that links to one that it may not use, by a declaration of its own" {
	plant user/analysis/trend_series.c 'void trace_new(void);' 'void trend(void) { trace_new(); }'
	found 'user/analysis/trend_series.c: links to trace_new of user/trace/trace.c; analysis may use base model'
}

@test "two rooms that link to each other" {
	plant user/base/text.c 'void snapshot_new(void);' 'void text(void) { snapshot_new(); }'
	found 'user/base/text.c: links to snapshot_new of user/model/snapshot.c; base may use no other room
cycle of rooms: base model'
}

@test "a table with a cycle" {
	sed -i 's/^room_base :=.*/room_base := model/' "$tree/tools/rooms.mk"
	found 'tools/rooms.mk: base may use model, which does not stand above it
tools/rooms.mk: base may use model, which does not stand above it'
}

@test "two files of a room that need each other, and a third in between" {
	plant user/heap/reach.c 'void walk(void); void reach(void) { walk(); }'
	plant user/heap/walk.c 'void page(void); void walk(void) { page(); }'
	plant user/heap/page.c 'int reach_depth; void page(void) { reach_depth++; }'
	check
	[ "$status" -eq 0 ]
	plant user/heap/page.c 'void reach(void); void page(void) { reach(); }'
	found 'circle of files: heap/page heap/reach heap/walk'
}

@test "data links as functions do; a pointer in a table, too" {
	plant user/heap/reach.c 'extern int pages[]; int (*const table[])(void) = {0}; int *reach(void) { return pages; }'
	plant user/heap/page.c 'int *reach(void); int pages[3]; int *(*const first)(void) = reach;'
	found 'circle of files: heap/page heap/reach'
}

@test "constructors, inline functions and weak copies of one make no link" {
	local inline='__attribute__((weak)) int copied(void) { return 1; } static inline int small(void) { return copied(); }'

	plant user/heap/reach.c "$inline" 'int page(void); __attribute__((constructor)) static void begin(void) {}' \
		'int reach(void) { return small() + page(); }'
	plant user/heap/page.c "$inline" '__attribute__((constructor)) static void begin(void) {}' 'int page(void) { return small(); }'
	check
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
}

@test "a weak function that another room defines for good is a link to that room" {
	plant user/base/text.c '__attribute__((weak)) void hook(void) {}' 'void text(void) { hook(); }'
	plant user/model/hook.c 'void log_line(void);' 'void hook(void) { log_line(); }'
	found 'user/base/text.c: links to hook of user/model/hook.c; base may use no other room
cycle of rooms: base model'
	plant user/base/text.c '__attribute__((weak)) void hook(void);' 'void text(void) { if (hook) hook(); }'
	found 'user/base/text.c: links to hook of user/model/hook.c; base may use no other room
cycle of rooms: base model'
}

@test "an object that is older than its source is made anew" {
	check
	[ "$status" -eq 0 ]
	plant user/analysis/rank.c 'void trace_new(void);' 'void rank(void) { trace_new(); }'
	found 'user/analysis/rank.c: links to trace_new of user/trace/trace.c; analysis may use base model'
}

@test "a source that does not compile" {
	plant user/base/text.c 'void text(void) {'
	check
	[ "$status" -eq 1 ]
	[[ $output != *'no circle'* ]]
}

@test "two files of one name" {
	plant user/heap/snapshot.h ''
	found 'user/model/snapshot.c: another file of this name is in user/heap'
	rm "$tree/user/heap/snapshot.h"
	plant bpf/snapshot.h ''
	found 'user/model/snapshot.c: another file of this name is in bpf'
}

@test "export that looks at the ABI of the maps" {
	plant user/export/text.c '  # include "bpf/abi.h"' '#include "bpf/kinds.h"'
	found "user/export/text.c:2: export includes bpf/abi.h; it is for $(sed -n 's/^rooms_with_bpf := //p' "$tree/tools/rooms.mk")"
}

@test "a header that too many objects include" {
	sed -i 's|^objects_at_most := .*|objects_at_most := user/base/log.h=1|' "$tree/tools/rooms.mk"
	mkdir -p "$BUILD/obj/user/base"
	touch "$tree/user/base/log.c" "$tree/user/base/text.c"
	printf 'x.o: x.c user/base/log.h\nuser/base/log.h:\n' >"$BUILD/obj/user/base/log.d"
	printf 'x.o: x.c user/base/log.h.c other/user/base/log.h\n' >"$BUILD/obj/user/base/text.d"
	check
	[ "$status" -eq 0 ]
	printf 'x.o: x.c user/base/log.h \\\n user/base/text.h\n' >"$BUILD/obj/user/base/text.d"
	# That of a file which has moved since counts for nothing.
	printf 'x.o: x.c user/base/log.h\n' >"$BUILD/obj/user/base/moved.d"
	found 'user/base/log.h: a touch of it rebuilds 2 objects; 1 is the limit'
}

@test "a file that ends the program" {
	plant user/base/log.c 'void exit(int); void log_line(void) { exit(1); }'
	found 'user/base/log.c: links to exit(); errors are returned, and uthash comes by user/base/hash.h'
}

@test "libbpf outside the rooms that talk to the kernel" {
	plant user/cli/watch.c '#include <bpf/libbpf.h>'
	found "user/cli/watch.c:2: libbpf (bpf/libbpf.h) is for $(sed -n 's/^files_with_libbpf := //p' "$tree/tools/rooms.mk")"
}

@test "the skeleton outside user/trace" {
	plant user/cli/watch.c '#include "memleakbpf.skel.h"'
	found "user/cli/watch.c:2: the skeletons are for $(sed -n 's/^files_with_skeletons := //p' "$tree/tools/rooms.mk")"
}

@test "a BPF file that includes a header of user space" {
	plant bpf/alloc.bpf.c '#include <bpf/bpf_helpers.h>' '#include "user/base/log.h"'
	found 'bpf/alloc.bpf.c:3: bpf/ includes user/base/log.h; only bpf/ and vmlinux/ are for it'
}

@test "an include that is not written from the root" {
	plant user/model/frame.c '#include "frame.h"'
	found 'user/model/frame.c:2: include "frame.h" is not written from the root of the tree'
}

@test "a room without a line in the table" {
	mkdir "$tree/user/extra"
	plant user/extra/extra.c 'void extra(void) {}'
	found 'user/extra/: the room has no line in tools/rooms.mk'
}

@test "a source file and a script without the licence line" {
	printf 'int x;\n' >"$tree/user/base/x.c"
	printf '#!/bin/sh\necho\n' >"$tree/tools/script"
	found 'tools/script:1: no line "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"
user/base/x.c:1: no line "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"'
}

@test "functions of 80 and of 81 lines" {
	plant user/base/x.c 'void short_enough(void)' '{' "$(repeat 78 '	;')" '}' 'void too_long(void)' '{' "$(repeat 79 '	;')" '}'
	found 'user/base/x.c:84: function of 81 lines; 80 is the limit'
}

@test "files of 600 and of 601 lines" {
	plant user/base/x.h "$(repeat 599 '/* */')"
	plant user/base/y.h "$(repeat 600 '/* */')"
	found 'user/base/y.h:601: file of 601 lines; 600 is the limit'
}
