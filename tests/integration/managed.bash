# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the tests of Python's frames share, on top of lib.bash.

# python_stacks [INTERPRETER [OPTION…]]: the frames are those that sys._getframe() has given, with the names and lines of the moment.
# PYTHON_ROOT: the root of the system that has that interpreter, with proc and tmp in it.
python_stacks() {
	local python=${1:-/usr/bin/python3} script=$HERE/../targets/leak_python.py

	if [[ -n ${PYTHON_ROOT-} ]]; then
		cp "$script" "$PYTHON_ROOT/tmp/leak_python.py"
		script=/tmp/leak_python.py
	fi
	start_target chroot "${PYTHON_ROOT:-/}" env PYTHONHASHSEED=0 "$python" "$(realpath -m "$script")"
	attach "${@:2}"
	truth_and_result
	"$HERE/managed_python.py" "$D/truth" "$D/result" ${2:+native} || fail "$python"
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail 'something was lost'
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

has_python_frames() {
	/usr/bin/python3 -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' || skip 'this python3 is not one of 3.8 to 3.14'
}
