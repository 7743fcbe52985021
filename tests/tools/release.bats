#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make release`: what is in the archives, that the list of components is the linker's, and that the same tree gives the same bytes in every folder.
# It compiles everything for each machine, and once more in another folder.
# bats file_tags=nightly

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
RELEASE=$BUILD/release
VERSION=$(sed -n '/^## /{ s/^## \([0-9.]*\) .*/\1/p; q }' "$ROOT/CHANGELOG.md")
NAME=memleakbpf-$VERSION-linux-

setup_file() {
	[[ $(gcc -print-file-name=libdw.a) == /* ]] || skip 'no archives to link with'
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" release
}

# unpacked MACHINE: T, the folder in its archive.
unpacked() {
	[[ -s $RELEASE/$NAME$1.tar.gz ]] || skip "no archives of $1"
	T=$BATS_FILE_TMPDIR/$NAME$1
	[[ -d $T ]] || tar -C "$BATS_FILE_TMPDIR" -xf "$RELEASE/$NAME$1.tar.gz"
}

@test "the checksums are those of the files, and of all of them" {
	cd "$RELEASE"
	sha256sum --check --strict SHA256SUMS
	[[ $(awk '{ print $2 }' SHA256SUMS | sort) == "$(ls -- *.tar.gz *.cdx.json | sort)" ]]
	[[ -s $NAME$(uname -m).tar.gz ]]
}

holds() {
	local file

	unpacked "$1"
	for file in memleakbpf.1 CHANGELOG.md LICENSE completion/{_memleakbpf,memleakbpf.bash,memleakbpf.fish} licences/{GPL-2.0-only,BSD-2-Clause,SOURCES,libc6-dev,libdw-dev,npm-d3-shape}.txt memleakbpf.cdx.json; do
		[[ -s $T/$file ]]
	done
	cmp "$T/memleakbpf.1" "$ROOT/docs/memleakbpf.1"
	cmp "$T/memleakbpf.cdx.json" "$RELEASE/$NAME$1.cdx.json"
	# One folder, root's, and nothing that more than its owner may write.
	[[ $(tar -tvf "$RELEASE/$NAME$1.tar.gz" | awk '{ print $1, $2 }' | sort -u | xargs) == '-rw-r--r-- 0/0 -rwxr-xr-x 0/0 drwxr-xr-x 0/0' ]]
	[[ $(tar -tf "$RELEASE/$NAME$1.tar.gz" | cut -d/ -f1 | sort -u) == "$NAME$1" ]]
	file "$T/memleakbpf" | grep -q "$2.* static-pie linked"
	# Nothing of the machine that it was built on.
	! grep -aqF "$ROOT" "$T/memleakbpf" || false
	! grep -rqF "$ROOT" "$T" || false
}

@test "x86_64: program, manual page, completions, licences; no path of the build" {
	holds x86_64 x86-64
	[[ $(uname -m) != x86_64 || $("$T/memleakbpf" --version) == "memleakbpf $VERSION" ]]
}

@test "aarch64: the same" {
	holds aarch64 aarch64
}

# listed MACHINE: the components are the packages of the linker's map, and the libraries of the page; each has its licence.
listed() {
	local bom=$RELEASE/$NAME$1.cdx.json package

	unpacked "$1"
	[[ $(jq -r '.components[] | select(.purl | startswith("pkg:npm/")) | "\(.name) \(.version)"' "$bom" | sort) == \
		"$(jq -r '"\(.name) \(.version)"' "$BUILD"/html/node_modules/*/package.json | sort)" ]]
	# Each archive that the linker took something of is in one component.
	diff <(sed -n 's|^/.*/\([^/]*\.a\)(.*|\1|p' "$RELEASE/$1/static/memleakbpf.map" | sort -u) \
		<(jq -r '.components[].properties // [] | .[] | select(.name == "memleakbpf:files") | .value | split(" ")[] | select(endswith(".a"))' "$bom" | sort)
	[[ $(jq '[.components[] | select(.version == "" or .version == null or .purl == null)] | length' "$bom") -eq 0 ]]
	for package in $(jq -r '.components[] | select(.purl | startswith("pkg:deb/")) | .name' "$bom"); do
		[[ -s $T/licences/$package.txt ]]
		grep -q "^$package " "$T/licences/SOURCES.txt"
	done
	jq -e '.metadata.component.version == "'"$VERSION"'" and (.dependencies[0].dependsOn | length) == (.components | length)' "$bom"
}

@test "x86_64: the list of components is the linker's" {
	listed x86_64
}

@test "aarch64: the list of components is the linker's" {
	listed aarch64
}

@test "the lists are CycloneDX, strictly" {
	local bom

	"$ROOT/tests/release/fetch" "$BUILD/cyclonedx" 2>"$BATS_TEST_TMPDIR/why" || skip "no schemas: $(<"$BATS_TEST_TMPDIR/why")"
	for bom in "$RELEASE"/*.cdx.json; do
		[[ $(node "$ROOT/tests/release/validate.mjs" "$BUILD/cyclonedx" <"$bom") == ok ]]
	done
	# What checks does see what is wrong.
	[[ $(jq '.components[0].type = "thing"' "$bom" | node "$ROOT/tests/release/validate.mjs" "$BUILD/cyclonedx" || :) == *components/0/type* ]]
	[[ $(jq '.components[0].licence = "GPL"' "$bom" | node "$ROOT/tests/release/validate.mjs" "$BUILD/cyclonedx" || :) == *additionalProp* ]]
}

@test "aarch64: it reads a recording under emulation as the other does, byte for byte" {
	local format

	unpacked aarch64
	[[ $(uname -m) == x86_64 ]] || skip 'this machine is no x86_64'
	command -v qemu-aarch64 >/dev/null || skip 'qemu-aarch64 is not installed'
	for format in json html text folded pprof; do
		"$RELEASE/x86_64/static/memleakbpf" report -f "$format" "$ROOT/tests/golden/recording/shop.mlb" >"$BATS_TEST_TMPDIR/x86_64"
		qemu-aarch64 "$T/memleakbpf" report -f "$format" "$ROOT/tests/golden/recording/shop.mlb" >"$BATS_TEST_TMPDIR/aarch64"
		[[ -s $BATS_TEST_TMPDIR/x86_64 ]]
		cmp "$BATS_TEST_TMPDIR/x86_64" "$BATS_TEST_TMPDIR/aarch64"
	done
}

@test "the same bytes again, with other presets" {
	cp "$RELEASE/SHA256SUMS" "$BATS_TEST_TMPDIR/before"
	(
		umask 077
		export TZ=Pacific/Auckland LANG=C LC_ALL=C
		make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" release
	)
	diff -u "$BATS_TEST_TMPDIR/before" "$RELEASE/SHA256SUMS"
}

@test "the same bytes from another folder" {
	local other=$BATS_TEST_TMPDIR/elsewhere own

	own=$(uname -m)
	mkdir -p "$other/build"
	(cd "$ROOT" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
		tar --null --no-recursion -T - -c) | tar -x -C "$other"
	cp -r "$BUILD/html" "$other/build/html"
	make -s -C "$other" BUILD=build MACHINES="$own" release
	diff <(grep -- "-$own\." "$RELEASE/SHA256SUMS") "$other/build/release/SHA256SUMS"
}
