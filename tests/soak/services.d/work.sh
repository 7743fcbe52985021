# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A worker of tests/soak/services: each answer is a short-lived child's.
while read -r number _; do
	bash -c 'number=$1; for i in 1 2 3 4 5 6 7 8 9 10; do number=$((number * 48271 % 2147483647)); done; echo "$number"' work "$number"
done
