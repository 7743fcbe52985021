#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs with one cause each: what a report says first names the function and the line, and never a wrong one.
# tests/targets/causes.* have them; "cause: NAME" stands on the line that is to be named.

# bats file_tags=beside

load lib.bash

# program FILE: how a program of tests/targets/causes.* is started, without the name of its cause.
program() {
	case $1 in
	causes.c) printf '%s\n' "$TARGETS/causes.nofp" ;;
	causes_cxx.cc) printf '%s\n' "$TARGETS/causes_cxx.nofp" ;;
	causes.py) printf '%s\n' "/usr/bin/python3 $SOURCES/$1" ;;
	causes.js) printf '%s\n' "node $SOURCES/$1" ;;
	causes.rb) printf '%s\n' "ruby $SOURCES/$1" ;;
	causes.php) printf '%s\n' "php $SOURCES/$1" ;;
	causes.pl) printf '%s\n' "perl $SOURCES/$1" ;;
	esac
}

# run_causes FILE:NAME…: all of them by one start of the tool.
run_causes() {
	local one

	SOURCES=$ROOT/tests/targets
	printf '#!/bin/bash\n' >"$D/all"
	for one; do
		# The last argument is what its report is found by.
		printf '%s %s %s\n' "$(program "${one%%:*}")" "${one#*:}" "$one" >>"$D/all"
	done
	echo 'exit 0' >>"$D/all"
	run_tool --verdict --max-pause 1m -f json -- /bin/bash "$D/all"
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	printf '%s\n' "$OUT" >"$D/out.json"
}

# said FILE:NAME FILTER: what jq finds in the report of that program.
said() {
	jq -cr --arg one "$1" "select(.final and .cmdline[-1] == \$one) | $2" "$D/out.json"
}

# check FILE:NAME…: the first sentence names the line that is marked, and a function.
check() {
	local one line

	for one; do
		line=$(grep -n "cause: ${one#*:}\b" "$SOURCES/${one%%:*}" | cut -d: -f1)
		[[ $line == +([0-9]) ]] || fail "$one: which line?"
		[[ $(said "$one" '.findings[0] | [.where.line, (.where.file // "-" | split("/")[-1]), .where.function != null] | @csv') == "$line,\"${one%%:*}\",true" ]] ||
			fail "$one, line $line: $(said "$one" .findings)"
	done
}

# benign FILE:NAME…: no line is said to lose or to grow.
benign() {
	local one

	for one; do
		[[ $(said "$one" '[.findings[] | select(.kind == "lost" or .kind == "growing" or .kind == "threads")] | length') == 0 ]] ||
			fail "$one is accused: $(said "$one" .findings)"
	done
}

@test "the first sentence names the cause: a dozen programs in six languages" {
	need node
	need ruby
	need php
	need perl
	run_causes causes.c:{handle,error_path,map,threads,mappings,nothing,pool} causes_cxx.cc:{map,cycle,nothing} \
		causes.py:map causes.js:{map,objects} causes.rb:list causes.php:map causes.pl:cycle
	check causes.c:{handle,error_path,map,threads} causes_cxx.cc:{map,cycle} causes.py:map causes.js:map causes.rb:list causes.php:map causes.pl:cycle
	benign causes.c:{mappings,nothing,pool} causes_cxx.cc:nothing causes.js:objects
	# All-clear is said of what was seen, and not of what was not.
	[[ $(said causes.c:nothing '.findings[0].kind') == clear ]] || fail "$(said causes.c:nothing .findings)"
	[[ $(said causes.c:pool '[.findings[].kind] | index("clear") != null') == true ]] || fail "$(said causes.c:pool .findings)"
	[[ $(said causes.c:mappings '.findings[0] | [.kind, .where]') == '["untraced",null]' ]] || fail "$(said causes.c:mappings .findings)"
	[[ $(said causes.js:objects '.findings[0] | [.kind, .where]') == '["heap",null]' ]] || fail "$(said causes.js:objects .findings)"
	# Each sentence has a figure that stands below it.
	[[ $(said causes.c:map '.findings[0].bytes == ([.stacks[] | select(.site.function == "put").live.bytes] | add)') == true ]] || fail "$(said causes.c:map .)"
	[[ $(said causes.c:error_path '.findings[0].bytes == .verdict.definite.bytes') == true ]] || fail "$(said causes.c:error_path .)"
}

# bats test_tags=nightly
@test "the first sentence names the cause: all programs" {
	local all=(causes.c:{handle,error_path,ring,copy,library,map,list,listeners,buffer,fragments,threads}
		causes_cxx.cc:{map,sessions,closures,queue,cycle,destructor,exception,order}
		causes.py:{map,closures,memo} causes.js:{map,listeners} causes.rb:list causes.php:map causes.pl:cycle)
	local none=(causes.c:{mappings,nothing,pool} causes_cxx.cc:nothing causes.py:nothing causes.js:objects)

	need node
	need ruby
	need php
	need perl
	run_causes "${all[@]}" "${none[@]}"
	check "${all[@]}"
	benign "${none[@]}"
}
