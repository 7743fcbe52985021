#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tools/html-page where it cannot have what it needs: the build goes on, and says why.

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	T=$BATS_TEST_TMPDIR
	mkdir "$T/bin"
}

# compiles: the header that it wrote makes an object, with the reason in it.
compiles() {
	cc -std=gnu17 -Wall -Wextra -Werror -I. -I"$T" -c user/export/html_page.c -o "$T/page.o"
	grep -qF "$1" "$T/page.o"
}

@test "html-page: no npm" {
	for tool in bash mkdir dirname cp cmp node timeout grep tr cut; do
		ln -s "$(command -v "$tool")" "$T/bin/" 2>/dev/null || :
	done
	ln -sf /bin/true "$T/bin/node"
	run env PATH="$T/bin" tools/html-page "$T/work" "$T/html_page.gen.h"
	[[ $status -eq 0 && $output == *'-f html is left out: there is no npm'*'make html'* ]] || { echo "$output"; false; }
	compiles 'there is no npm'
}

@test "html-page: npm without a network" {
	printf '#!/bin/sh\necho "npm ERR! code ENOTFOUND \\"quoted\\""; exit 1\n' >"$T/bin/npm"
	ln -s /bin/true "$T/bin/node"
	chmod +x "$T/bin/npm"
	run env PATH="$T/bin:$PATH" tools/html-page "$T/work" "$T/html_page.gen.h"
	[[ $status -eq 0 && $output == *'npm cannot get its libraries (npm ERR! code ENOTFOUND'* ]] || { echo "$output"; false; }
	compiles 'ENOTFOUND quoted'
}

@test "html-page: not wanted" {
	run tools/html-page "$T/work" "$T/html_page.gen.h" 0
	[[ $status -eq 0 && $output == *'HTML=0'* ]]
	compiles 'HTML=0'
}

@test "html-page: the versions are pinned, without addresses to fetch them from" {
	if grep -E '"resolved"|https?:' user/export/html/package.json user/export/html/package-lock.json; then false; fi
	if grep -E '"[~^<>*]' user/export/html/package.json; then false; fi
	grep -q '"integrity"' user/export/html/package-lock.json
}
