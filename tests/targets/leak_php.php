<?php
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// leak_php.php FILE: allocates from PHP in all sorts of ways, each block of a size of its own, and prints where: the stack as PHP
// itself has it (debug_backtrace). FILE is one that is included. Waits before it begins and before it ends. Needs
// USE_ZEND_ALLOC=0 in the environment, with which each string is a block of malloc's.

namespace Shop;

const STRING_HEADER = 25; // with the NUL behind it
const REPEATED_HEADER = 32; // of what str_repeat() makes

$kept = [];
$places = [];

// What PHP says of calls: the function, and where it was called; who called has what the next one says.
function as_stack(array $calls, string $file, int $line): array
{
	$stack = [];
	foreach ([...$calls, ['function' => '{main}']] as $call) {
		$included = !isset($call['class']) && in_array($call['function'], ['eval', 'include', 'require_once']);
		$name = ($call['class'] ?? false) ? "$call[class]::$call[function]" : $call['function'];
		// A class without a name has where it was made behind a NUL.
		$name = preg_replace('/\0[^:]*(:\d+\$[0-9a-f]+)?/', '', $name);
		$stack[] = ['function' => $included ? '{main}' : $name, 'file' => $file, 'line' => $line ?: null];
		// Who was called by one that is written in C has neither.
		$file = $call['file'] ?? null;
		$line = $call['line'] ?? null;
	}
	return $stack;
}

function note(int $bytes, array $calls, string $file, int $line, array $inner = []): void
{
	global $places;

	$stack = [...$inner, ...as_stack($calls, $file, $line)];
	$places[$bytes] ??= ['bytes' => $bytes, 'count' => 0, 'stack' => $stack];
	$places[$bytes]['count']++;
	if ($places[$bytes]['stack'] != $stack)
		throw new \Exception("two places of $bytes bytes");
}

function keep(int $bytes): int
{
	global $kept;

	$kept[] = \str_repeat('a', $bytes - REPEATED_HEADER); note($bytes, debug_backtrace(), __FILE__, __LINE__, [['function' => 'str_repeat', 'file' => null, 'line' => null]]);
	return 0;
}

class Cart implements \ArrayAccess, \IteratorAggregate, \JsonSerializable
{
	public function __construct(private int $bytes) { keep($bytes); }
	public function __destruct() { keep(300008); }
	public function __call(string $name, array $args) { return keep(...$args); }
	public static function __callStatic(string $name, array $args) { return keep(...$args); }
	public function __get(string $name) { return keep(300016); }
	public function __toString(): string { return 'a cart' . keep(300024); }
	public function __invoke(int $bytes) { return keep($bytes); }
	public function offsetGet(mixed $bytes): mixed { return keep($bytes); }
	public function offsetSet(mixed $bytes, mixed $value): void { keep($bytes); }
	public function offsetExists(mixed $bytes): bool { return keep($bytes) == 0; }
	public function offsetUnset(mixed $bytes): void { keep($bytes); }
	public function getIterator(): \Iterator { keep(300032); return new \ArrayIterator([1, 2]); }
	public function jsonSerialize(): mixed { return keep(300040); }
	public static function fixed(int $bytes): int { return keep($bytes); }
	public function größe(int $bytes): int { return keep($bytes); }
}

trait Kept
{
	public function kept(int $bytes): int { return keep($bytes); }
}

function deep(int $depth, int $bytes): int
{
	return $depth ? deep($depth - 1, $bytes) : keep($bytes);
}

function leaves(int $bytes): void
{
	try {
		throw new \Exception('a test');
	} catch (\Exception) {
		keep($bytes);
	} finally {
		keep($bytes + 8);
	}
}

function generates(int $bytes): \Generator
{
	yield keep($bytes);
	yield keep($bytes + 8);
}

// Made and gone, so that another one is where it was.
function from_text(int $number, int $bytes): void
{
	$made = eval(str_repeat("\n", $number % 13) . "return function (\$bytes) {\n\\Shop\\keep(\$bytes); };");
	$made($bytes);
}

class Small { public $a, $b; }
eval('namespace Shop; class Large { public $a' . implode(', $a', range(0, 600)) . '; } class Larger { public $a' . implode(', $a', range(0, 700)) . '; } class Largest { public $a' . implode(', $a', range(0, 800)) . '; }');
$largest = new Largest;

// What the interpreter itself allocates, without calling a function: an object of N properties has 40 + 16 N bytes.
function without_a_call(): void
{
	global $kept, $largest;

	$kept[] =
		new Large;
	note(40 + 16 * 601, debug_backtrace(), __FILE__, __LINE__ - 1);
	$kept[] =
		new Larger;
	note(40 + 16 * 701, debug_backtrace(), __FILE__, __LINE__ - 1);
	$kept[] =
		clone $largest;
	note(40 + 16 * 801, debug_backtrace(), __FILE__, __LINE__ - 1);
}

function one_concatenation(string $text): void
{
	global $kept;

	$kept['one'] = $text .
		$text;
	note(2 * strlen($text) + STRING_HEADER + 7 & ~7, debug_backtrace(), __FILE__, __LINE__ - 1);
}

// Which of the two it is nobody can tell: they have no line, and are one stack.
function concatenations(string $text, string $more, string $most): void
{
	global $kept;

	$kept['a'] = $text . $more;
	$kept['b'] = $text . $most;
	$bytes = array_sum(array_map(fn($key) => strlen($kept[$key]) + STRING_HEADER + 7 & ~7, ['a', 'b'])) / 2;
	for ($i = 0; $i < 2; $i++)
		note($bytes, debug_backtrace(), __FILE__, 0);
}

function callbacks(): void
{
	$sold = [2, 1];
	usort($sold, function ($a, $b) { keep(300200); return $a <=> $b; });
	array_map(fn($bytes) => keep($bytes), [300208]);
	array_map('Shop\Cart::fixed', [300216]);
	call_user_func_array(keep(...), [300224]);
	preg_replace_callback('/a/', static function ($found) { return keep(300232); }, 'a');
	(new \ReflectionFunction('Shop\keep'))->invoke(300240);
	array_map(function ($bytes) { array_filter([$bytes], 'Shop\keep'); }, [300248]);
	set_error_handler(function () { return keep(300256) == 0; });
	trigger_error('a test');
	restore_error_handler();
	ob_start(function ($text) { keep(300264); return ''; });
	echo 'text';
	ob_end_flush();
	spl_autoload_register(function ($name) { keep(300272); });
	class_exists('None\Such');
}

// PHP that a C library calls, which PHP calls: of the call in the middle a backtrace does not say the same.
function from_c(): void
{
	if (!extension_loaded('ffi'))
		return;
	$libc = \FFI::cdef('void qsort(void *, size_t, size_t, int (*)(const void *, const void *));');
	$libc->qsort($libc->new('int[2]'), 2, 4, function ($a, $b) { global $kept; $kept[] = \str_repeat('a', 300700 - REPEATED_HEADER); return 0; });
}

function generators(): void
{
	foreach (generates(300300) as $each)
		keep(300320);
	iterator_to_array(generates(300328));
	$generator = generates(300344);
	$generator->current();
	$fiber = new \Fiber(function (int $bytes) { keep($bytes); \Fiber::suspend(); keep($bytes + 8); });
	$fiber->start(300360);
	$fiber->resume();
}

function objects(): void
{
	$cart = new Cart(300400);
	$cart->none_such(300408);
	Cart::none_such(300416);
	$cart->none;
	"$cart";
	$cart(300424);
	$cart[300432];
	$cart[300440] = 1;
	isset($cart[300448]);
	unset($cart[300456]);
	foreach ($cart as $each)
		keep(300464);
	json_encode($cart);
	Cart::fixed(300472);
	$cart->größe(300480);
	(new class { use Kept; })->kept(300488);
	(function ($bytes) { return keep($bytes); })->call($cart, 300496);
	$cart
		->größe(
			300504
		);
	unset($cart);
}

printf("ready %d\n", getmypid());
fgets(STDIN);
keep(300000);
objects();
callbacks();
from_c();
generators();
deep(60, 300600);
leaves(300608);
for ($number = 0; $number < 100; $number++)
	from_text($number, 310000 + 8 * ($number % 13));
include $argv[1];
without_a_call();
one_concatenation(str_repeat('b', 170000));
concatenations(str_repeat('c', 360000), 'more', 'more than that');
echo json_encode([['places' => array_values($places)]], JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
fgets(STDIN);
