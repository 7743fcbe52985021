# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# As causes.c, of Perl. It ends by a signal: at its exit Perl frees what it has.
use strict;
use warnings;

sub entangle {
	my ($i) = @_;
	my $node = {name => $i};
	$node->{text} = 'x' x 20000;    # cause: cycle
	$node->{self} = $node;
	return;
}

entangle($_) for 1 .. 1500;
kill 'KILL', $$;
