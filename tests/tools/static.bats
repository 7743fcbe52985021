#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make static`: what kind of file it is, what is in it, and that the same objects give the same bytes. tests/integration/static.bats runs it.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
PROGRAM=$BUILD/static/memleakbpf

setup_file() {
	[[ ${SANITIZE-} != 1 ]] || skip 'a sanitized build is not static'
	[[ $(gcc -print-file-name=libdw.a) == /* ]] || skip 'no archives to link with'
	# As what is built was: see install.bats. Two files of tests may want it at once.
	flock "$BUILD" make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" static
}

@test "a static-pie that needs no library and no interpreter, hardened, without debug information" {
	file "$PROGRAM" | tee "$BATS_TEST_TMPDIR/kind"
	grep -q 'ELF 64-bit .* pie executable, .* static-pie linked, .* stripped$' "$BATS_TEST_TMPDIR/kind"
	readelf -Wd "$PROGRAM" >"$BATS_TEST_TMPDIR/dynamic"
	grep -q 'FLAGS.*NOW' "$BATS_TEST_TMPDIR/dynamic"
	! grep -E 'NEEDED|TEXTREL|RPATH|RUNPATH' "$BATS_TEST_TMPDIR/dynamic" || false
	readelf -Wl "$PROGRAM" >"$BATS_TEST_TMPDIR/segments"
	grep -q GNU_RELRO "$BATS_TEST_TMPDIR/segments"
	grep -q 'GNU_STACK .* RW ' "$BATS_TEST_TMPDIR/segments"
	! grep INTERP "$BATS_TEST_TMPDIR/segments" || false
}

@test "it is the usual program: same version, same help" {
	[[ $("$PROGRAM" --version) == "$("$BUILD/memleakbpf" --version)" ]]
	diff <("$PROGRAM" --help) <("$BUILD/memleakbpf" --help)
}

@test "the disassembler of this machine is in it, and of no other; nothing that speaks TLS or loads libraries is called" {
	local members

	# The map names each archive's member that was linked.
	members=$(sed -n 's|^/[^ ]*/\(lib[a-z0-9-]*\.a\)(\([^)]*\)).*|\1 \2|p' "$PROGRAM.map" | sort -u)
	grep -qx "libcapstone.a $([[ $(uname -m) == aarch64 ]] && echo AArch64Module || echo X86Module).o" <<<"$members"
	[[ $(grep -c 'libcapstone.a .*Module.o$' <<<"$members") -eq 1 ]]
	! grep -E '^lib(gnutls|p11|curl|debuginfod)' <<<"$members" || false
	! grep -E '^libc.a (getpwnam|getpwnam_r|getpwuid|getgrnam|getaddrinfo|nss_files_functions_load)\.o$' <<<"$members" || false
}

# The source packages of the files whose names are read; a package may have put a file below /lib that is below /usr/lib by now.
sources() {
	while read -r file; do
		dpkg -S "$file" 2>/dev/null || dpkg -S "${file#/usr}"
	done | cut -d: -f1 | sort -u | xargs dpkg-query -W -f '${source:Package}\n' | sort -u
}

@test "the packages in it are those of the usual program's libraries, libbz2 and the C library" {
	command -v dpkg >/dev/null || skip 'no archives to link with'
	sed -n 's|^\(/[^ ]*\.a\)(.*|\1|p' "$PROGRAM.map" | sort -u | xargs realpath | grep -v '/libgcc' | sources >"$BATS_TEST_TMPDIR/static"
	# What the program itself needs: what its libraries need besides is theirs to choose.
	{
		readelf -d "$BUILD/memleakbpf" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | while read -r name; do
			ldd "$BUILD/memleakbpf" | awk -v name="$name" '$1 == name { print $3 }'
		done | xargs realpath | sources
		printf '%s\n' bzip2 libiberty
	} | sort -u >"$BATS_TEST_TMPDIR/usual"
	diff -u "$BATS_TEST_TMPDIR/usual" "$BATS_TEST_TMPDIR/static"
}

@test "linked again, and in another folder, it has the same bytes" {
	local other=$BATS_TEST_TMPDIR/elsewhere first again

	first=$(sha256sum <"$PROGRAM")
	rm "$PROGRAM"
	flock "$BUILD" make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" static
	[[ $(sha256sum <"$PROGRAM") == "$first" ]]
	# What make sees there is the same tree: it makes again only what is the static program's own.
	mkdir "$other"
	cp -a "$ROOT"/{Makefile,CHANGELOG.md,bpf,user,vmlinux,tools} "$other/"
	mkdir "$other/tests"
	for rules in "$ROOT"/tests/*/rules.mk; do
		mkdir -p "$other/tests/$(basename "${rules%/*}")"
		cp -a "$rules" "$other/tests/$(basename "${rules%/*}")/"
	done
	mkdir "$other/build"
	cp -a "$BUILD"/{gen,obj,html,memleakbpf.bpf.o,libmemleakbpf.a} "$BUILD"/.flags "$BUILD"/.deps-checked* "$other/build/"
	rm -rf "$other/build/obj/tests"
	make -s -C "$other" BUILD=build static
	again=$(sha256sum <"$other/build/static/memleakbpf")
	[[ $again == "$first" ]]
}
