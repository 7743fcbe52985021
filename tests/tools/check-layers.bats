#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/check-layers finds what it is there for: each test plants one violation in a tree that is otherwise clean.

setup() {
	tree=$BATS_TEST_TMPDIR
	mkdir -p "$tree"/{bpf,vmlinux,tests,tools,.ci,docs} "$tree"/user/{base,model,trace,unwind,analysis,export,cli}
	cp "$BATS_TEST_DIRNAME/../../Makefile" "$tree"
	plant bpf/abi.h '#include "vmlinux/vmlinux.h"'
	plant user/base/log.h ''
	plant user/model/snapshot.h '#include "user/base/log.h"'
	plant user/trace/trace.c '#include <bpf/libbpf.h>' '#include "memleakbpf.skel.h"' '#include "bpf/bpf_maps.h"'
	plant user/unwind/publish.c '#include <bpf/bpf.h>'
	plant user/analysis/rank.c '#include "user/analysis/rank.h"' '#include "user/model/snapshot.h"'
	plant user/cli/main.c '#include "user/analysis/rank.h"' '#include "user/trace/trace.h"' '#include <stdio.h>'
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

@test "a clean tree passes in silence" {
	check
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "this tree passes" {
	run "$BATS_TEST_DIRNAME/../../tools/check-layers"
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
}

@test "a lower module that includes a higher one" {
	plant user/base/log.c '#include "user/base/log.h"' '#include "user/trace/trace.h"'
	found 'user/base/log.c:3: base includes user/trace/trace.h, a layer above it'
}

@test "analysis that looks at the running system" {
	plant user/analysis/trend_series.c '#include "user/trace/trace.h"'
	found 'user/analysis/trend_series.c:2: analysis includes user/trace/trace.h; it sees only base and model'
}

@test "export that looks at the ABI of the maps" {
	plant user/export/text.c '  # include "bpf/abi.h"'
	found 'user/export/text.c:2: export includes bpf/abi.h; it sees only base and model'
}

@test "libbpf outside the modules that talk to the kernel" {
	plant user/cli/watch.c '#include <bpf/libbpf.h>'
	found 'user/cli/watch.c:2: libbpf (bpf/libbpf.h) belongs to the modules that talk to the kernel'
}

@test "the skeleton outside user/trace" {
	plant user/cli/watch.c '#include "memleakbpf.skel.h"'
	found 'user/cli/watch.c:2: the skeleton belongs to user/trace'
}

@test "a BPF file that includes a header of user space" {
	plant bpf/alloc.bpf.c '#include <bpf/bpf_helpers.h>' '#include "user/base/log.h"'
	found 'bpf/alloc.bpf.c:3: bpf/ includes user/base/log.h; only bpf/ and vmlinux/ are for it'
}

@test "an include that is not written from the root" {
	plant user/model/snapshot.c '#include "snapshot.h"'
	found 'user/model/snapshot.c:2: include "snapshot.h" is not written from the root of the tree'
}

@test "a module without a place in the order" {
	mkdir "$tree/user/extra"
	plant user/extra/extra.c '#include <stdio.h>'
	found 'user/extra/extra.c:2: module extra has no place in the order of layers'
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
