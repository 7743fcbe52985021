// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocations where C++ programs make them: inside the standard library, before main, after exit,
 * in threads, and around exceptions. Built against libstdc++ and libc++, with and without frame
 * pointers.
 */
#include "truth.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define KEEP(p)	 __asm__ volatile("" : : "r"(p) : "memory")

namespace
{

/* Every allocation in its life is compared. */
class armed
{
public:
	armed()
	{
		truth_arm();
	}
	~armed()
	{
		truth_disarm();
	}
};

void *volatile sink;

NOINLINE void leaf(size_t size)
{
	armed now;

	sink = ::operator new(size);
}

/* Allocates when it dies, whatever it dies of. */
class noisy
{
public:
	explicit noisy(size_t size) : size_(size)
	{
	}
	NOINLINE ~noisy()
	{
		leaf(size_);
		KEEP(this);
	}

private:
	size_t size_;
};

class base
{
public:
	virtual ~base() = default;
	virtual int run(int depth) const = 0;
};

class derived : public base
{
public:
	NOINLINE ~derived() override
	{
		leaf(40);
	}
	NOINLINE int run(int depth) const override
	{
		if (depth)
			return run(depth - 1) + 1;
		leaf(41);
		return 1;
	}
};

NOINLINE void containers()
{
	armed now;
	std::string text;
	std::vector<int> numbers;
	std::map<int, std::string> tree;
	std::unordered_map<std::string, int> table;
	std::list<std::vector<char>> list;

	for (int i = 0; i < 40; i++) {
		text += "some more of it";
		numbers.push_back(i);
	}
	for (int i = 0; i < 5; i++) {
		tree[i] = "a string that is too long to be kept inside";
		table["another one of that kind, number " + std::to_string(i)] = i;
		list.emplace_back(100);
	}
	KEEP(text.data());
	KEEP(numbers.data());
}

NOINLINE void streams()
{
	armed now;
	std::ostringstream out;

	for (int i = 0; i < 100; i++)
		out << "line " << i << ' ' << 1.5 * i << '\n';
	KEEP(out.str().data());
}

NOINLINE void algorithms()
{
	std::vector<int> numbers(40);

	std::iota(numbers.rbegin(), numbers.rend(), 0);
	std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
		if (a == 7)
			leaf(50);
		return a < b;
	});
	std::stable_sort(numbers.begin(), numbers.end(), [](int a, int b) {
		if (a == 8)
			leaf(51);
		return a > b;
	});
	std::qsort(
		numbers.data(), numbers.size(), sizeof(int), +[](const void *a, const void *b) {
			leaf(52);
			return *static_cast<const int *>(a) - *static_cast<const int *>(b);
		});
}

NOINLINE void functions()
{
	std::string captured(60, 'x');
	std::function<void(int)> f = [captured, &f](int depth) {
		if (depth)
			f(depth - 1);
		else
			leaf(captured.size());
	};
	std::unique_ptr<base> object = std::make_unique<derived>();

	f(3);
	sink = reinterpret_cast<void *>(static_cast<intptr_t>(object->run(4)));
}

NOINLINE void threads()
{
	auto body = [](int n) {
		leaf(60);
		KEEP(&n);
		armed now;
		std::string text(100, 'x');
		KEEP(text.data());
	};
	std::thread plain(body, 1);

	plain.join();
	std::async(std::launch::async, body, 2).get();
	std::once_flag once;
	std::call_once(once, [] { leaf(61); });
}

/* Thrown through frames with destructors that allocate. */
NOINLINE void thrower(int depth)
{
	noisy mark(70);

	if (depth) {
		thrower(depth - 1);
		KEEP(&mark);
		return;
	}
	armed now; /* the exception's own memory, and its text */
	throw std::runtime_error(
		"a text that does not fit into the exception itself, or so we hope");
}

NOINLINE void exceptions()
{
	try {
		thrower(3);
	} catch (const std::exception &e) {
		leaf(71);
		KEEP(e.what());
	}
	try {
		try {
			thrower(1);
		} catch (...) {
			noisy mark(72);
			leaf(73);
			throw;
		}
	} catch (...) {
		std::exception_ptr kept = std::current_exception();

		try {
			std::rethrow_exception(kept);
		} catch (const std::runtime_error &) {
			leaf(74);
		}
	}
}

NOINLINE int first_time()
{
	static const noisy quiet = [] {
		leaf(80);
		return noisy(81);
	}();

	KEEP(&quiet);
	return 0;
}

/* Before main: whoever watches must be there before the first such object. */
class early
{
public:
	NOINLINE early()
	{
		truth_ready();
		leaf(90);
		text_.assign(100, 'x');
	}

private:
	std::string text_;
};

const early before_main;
const noisy after_main(91);
thread_local noisy at_thread_end(92);

} // namespace

int main()
{
	containers();
	streams();
	algorithms();
	functions();
	threads();
	std::thread([] { KEEP(&at_thread_end); }).join();
	exceptions();
	first_time();
	/*
	 * Runs after the destructors of all static objects made so far: the first to be registered
	 * is the last to run.
	 */
	return 0;
}

/* The library's destructors run last, but only ours can tell that all is done. */
__attribute__((destructor)) static void at_end()
{
	truth_done();
}
