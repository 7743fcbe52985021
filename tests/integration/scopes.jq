# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares a snapshot's scopes (the input) with the target's books ($truth.scopes). Prints a line per difference; nothing means equal.

def amount: "\(.bytes) bytes in \(.count)";
. as $snap
| ($truth.scopes[] as $true
	| [$snap.scopes[] | select(.function == $true.function)] as $rows
	| if ($rows | length) != 1 then "\($true.function): \($rows | length) rows" else $rows[0] as $seen
		| ("calls" | select($seen[.] != $true[.]) | "\($true.function): \($seen[.]) calls, in truth \($true[.])"),
		  (select($seen.left_without_return != $true.left) | "\($true.function): \($seen.left_without_return) left, in truth \($true.left)"),
		  (("alloc", "kept", "live") as $group | select($seen[$group] != $true[$group])
			| "\($true.function): \($group) is \($seen[$group] | amount), in truth \($true[$group] | amount)"),
		  (select(.sample_bytes == 0 and ($seen.kept_per_call | map(.calls) | add) != $seen.calls - $seen.open)
			| "\($true.function): not all calls are in the histogram")
	  end),
  ($snap.scopes[] | select(.alloc.bytes - .free.bytes != .kept.bytes and .open == 0 and (.function | startswith("recursive") | not))
	| "\(.function): allocated \(.alloc | amount), freed \(.free | amount), kept \(.kept | amount)"),
  ($snap.lost // {} | to_entries[] | select(.value != 0) | "lost: \(.key) \(.value)")
