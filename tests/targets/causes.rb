# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# As causes.c, of Ruby. It ends by a signal: at its exit Ruby frees what it has.
$log = []

def record(number)
	$log << 'x' * (20_000 + number) # cause: list
end

1500.times { |i| record(i) }
Process.kill(:KILL, Process.pid)
