#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# leak_perl.pl FILE: allocates from Perl in all sorts of ways, each block of a size of its own, and prints where: the stack as Perl
# itself has it (caller). FILE is one that is required. Waits before it begins and before it ends.
use strict;
use warnings;

my (@kept, %places, @order);

# What caller() says of calls: the subroutine, and where it was called; where that was what the next one says.
sub note {
	my ($bytes) = @_;
	my ($i, @stack) = (0);

	my (undef, $file, $line) = caller($i++);
	while (my @call = caller($i++)) {
		push @stack, [$call[3], $file, $line];
		($file, $line) = @call[1, 2];
	}
	push @stack, ['(main)', $file, $line];
	my $stack = join ', ', map { sprintf '{"function": "%s", "file": "%s", "line": %d}', @$_ } @stack;
	die "two places of $bytes bytes: $stack, $places{$bytes}[1]" if $places{$bytes} && $places{$bytes}[1] ne $stack;
	push @order, $bytes unless $places{$bytes};
	$places{$bytes}[0]++;
	$places{$bytes}[1] = $stack;
}

# A string of that many bytes with what Perl puts behind it: a multiple of 8.
sub keep {
	my ($bytes) = @_;

	my $text = 'a' x ($bytes - 2); push @kept, \$text; note($bytes);
	return 0;
}

package Cart {
	use overload '""' => sub { main::keep(300080); 'a cart' }, '+' => sub { main::keep(300088) }, fallback => 1;

	sub new { my ($class, $bytes) = @_; main::keep($bytes); return bless {}, $class; }
	sub add { my ($self, $bytes) = @_; return main::keep($bytes); }
	sub AUTOLOAD { my ($self, $bytes) = @_; our $AUTOLOAD; return main::keep($bytes || 300096); }
	sub DESTROY { our $gone; main::keep(300640 + 8 * $gone++); }
	sub TIESCALAR { return bless {}, shift; }
	sub FETCH { return main::keep(300112); }
	sub STORE { return main::keep(300120); }
}

package Cart::Small {
	our @ISA = 'Cart';
}

sub deep {
	my ($depth, $bytes) = @_;

	return $depth ? deep($depth - 1, $bytes) : keep($bytes);
}

# Made and gone, so that another one is where it was.
sub from_text {
	my ($number, $bytes) = @_;
	my $made = eval "\n" x ($number % 13) . 'sub { main::keep($_[0]) }';

	$made->($bytes);
}

# So are whole packages, of which only the name differs.
sub from_packages {
	my ($first, $bytes) = @_;

	no strict 'refs';
	for my $i ($first .. $first + 39) {
		eval "#line 1 \"/srv/gone.pl\"\npackage Gone$i; sub add { main::keep(\$_[0]) }";
		&{"Gone${i}::add"}($bytes + 8 * $i);
	}
	for my $i ($first .. $first + 39) {
		undef *{"Gone${i}::add"};
		delete $main::{"Gone${i}::"};
	}
}

sub by_size { keep(300160); return $a <=> $b; }

sub callbacks {
	my @sorted = sort by_size 2, 1;
	@sorted = sort { keep(300168); $a <=> $b } 2, 1;
	my $order = sub { keep(300176); $b <=> $a };
	@sorted = sort $order 1, 2;
	keep($_) for 300184, 300184;
	my @some = grep { !keep(300208) } 1, 2;
	my @all = map { keep(300200) } @some;
	local $SIG{__WARN__} = sub { keep(300216) };
	warn 'a test';
	local $SIG{USR1} = sub { keep(300224) };
	kill USR1 => $$;
	(my $text = 'abc') =~ s/b/keep(300232)/e;
	if (eval { require List::Util; 1 }) {
		List::Util::first(sub { keep(300240) }, 1, 2);
		List::Util::first(sub { main->can('keep')->(300248) }, 1);
		List::Util::reduce(sub { by_name() }, 1, 2);
	}
	&{sub { &keep }}(300256);
	goto_keep(300264);
}

sub by_name { return keep(300272); }

sub goto_keep { goto &keep; }

sub objects {
	my $cart = Cart->new(300320);
	$cart->add(300328);
	$cart->none_such(300336);
	Cart::Small->new(300344)->add(300352);
	my $method = 'add';
	$cart->$method(
		300360
	);
	my $text = "$cart";
	my $sum = $cart + 1;
	tie my $tied, 'Cart';
	$tied = 1;
	$text = $tied;
	$cart->none;
	untie $tied;
	return;
}

sub leaves {
	eval { keep(300400); die 'a test'; };
	eval 'keep(300408); die "a test"';
	eval { eval { keep(300416) }; deep(2, 300424); };
	for my $i (1 .. 2) {
		while (1) {
			keep(300432);
			last;
		}
	}
	my sub lexical { keep(300440) }
	lexical();
	no strict 'refs';
	*{'Made::up'} = sub { keep(300448) };
	Made::up();
	local *named = sub { keep(300456) };
	named();
}

$| = 1;
print "ready $$\n";
<STDIN>;
keep(300000);
objects();
callbacks();
leaves();
deep(60, 300480);
from_text($_, 310000 + 8 * $_) for 0 .. 99;
from_packages($_, 312000) for 0, 40, 80;
require $ARGV[0];
eval "#line 7 \"/srv/none.pl\"\n" . 'keep(300560)';
print '[{"places": [', join(', ', map { qq({"bytes": $_, "count": $places{$_}[0], "stack": [$places{$_}[1]]}) } @order), "]}]\n";
<STDIN>;
