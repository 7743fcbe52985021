# frozen_string_literal: false
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Allocates from Ruby in all sorts of ways, each block of a size of its own, and prints where: the stack as Ruby itself has it
# (caller_locations). Waits before it begins and before it ends.
require 'json'

KEPT = []
PLACES = {}

def note(bytes, locations)
  stack = locations.map { |l| { function: l.label, file: l.path, line: l.lineno } }
  # A method in C makes the string, in the line of keep() that calls this.
  stack.unshift(stack.first.merge(function: '*'))
  place = (PLACES[bytes] ||= { bytes: bytes, count: 0, stack: stack })
  place[:count] += 1
  raise "two places of #{bytes} bytes" if place[:stack] != stack
end

# A string of `size` characters has a NUL behind it.
def keep(size)
  note(size + 1, caller_locations(0)); KEPT << 'a' * size
end

class Shop
  attr_reader :size

  def initialize(size)
    @size = size
  end

  def sell
    yield size
  end

  def self.opened(size)
    keep(size)
  end

  def größe(size) = keep(size)

  define_method(:defined) { |size| keep(size) }

  def method_missing(name, *args)
    name == :none_such ? keep(*args) : super
  end

  def respond_to_missing?(*) = true

  def to_s
    keep(300_100)
    'a shop'
  end
end

def deep(n, size)
  if n.zero?
    keep(size)
  else
    deep(n - 1, size)
  end
end

def leaves(size)
  raise ArgumentError, 'a test'
rescue ArgumentError
  keep(size)
ensure
  keep(size + 1)
end

# What calls nothing: the frame's pc stands at it, and behind the line before. A table of 512 entries of 24 bytes is copied.
def by_instruction
  eval("def self.literal\nfirst = 1\nsecond =\n{#{(1..500).map { |n| "#{n}=>#{n}" }.join(',')}}\nKEPT << second\nend", TOPLEVEL_BINDING, 'literal.rb')
  TOPLEVEL_BINDING.receiver.literal
  { bytes: 512 * 24, function: 'literal', file: 'literal.rb', line: 4 }
end

def from_text(number)
  name = "made_#{number % 7}"
  eval("#{"\n" * (number % 13)}def self.#{name}(size)\nkeep(size)\nend", TOPLEVEL_BINDING, "/made/#{number}.rb", 1)
  TOPLEVEL_BINDING.receiver.send(name, 310_000 + number)
  # So that what was made before is gone.
  GC.start if (number % 20).zero?
end

# Of more instructions than what its table of lines has in one part.
def self.long_ones
  [10, 60, 600].each do |lines|
    eval("def self.long_#{lines}(size)\n#{"x = size + 1\n" * lines}keep(size + x - x)\n#{"x = size\n" * lines}keep(size + 1)\nend", TOPLEVEL_BINDING, 'long.rb', 10)
    TOPLEVEL_BINDING.receiver.send("long_#{lines}", 320_000 + lines)
  end
end

def all_of_them
  shop = Shop.new(300_001)
  shop.sell { |size| keep(size) }
  Shop.opened(300_002)
  [300_003].each { |size| [1].map { keep(size) } }
  shop.größe(300_004)
  shop.defined(300_005)
  shop.none_such(300_006)
  "#{shop}"
  ->(size) { keep(size) }.call(300_007)
  deep(60, 300_008)
  leaves(300_009)
  Thread.new { keep(300_011) }.join
  Fiber.new { [1].each { keep(300_012) } }.resume
  [2, 1].sort_by { |_| keep(300_013) }
  3.times { keep(300_020) }
  shop.instance_exec { keep(size + 20) }
  shop.
    sell { |size|
    keep(
      size + 21
    )
  }
  catch(:done) { keep(300_030) }
  200.times { |number| from_text(number) }
  long_ones
end

puts "ready #{Process.pid}"
$stdout.flush
$stdin.gets
all_of_them
literal = by_instruction
puts JSON.generate([{ places: PLACES.values, literal: literal }])
$stdout.flush
$stdin.gets
exit!(0)
