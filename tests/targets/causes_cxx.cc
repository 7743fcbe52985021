// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// As causes.c, of C++.
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unistd.h>
#include <vector>

// A call that ends its function would leave no frame of it.
#pragma GCC optimize("no-optimize-sibling-calls")

#define NOINLINE __attribute__((noinline))

namespace
{
constexpr int count = 400;

std::map<int, std::string> cache;

NOINLINE void remember(int key)
{
	cache.emplace(key, std::string(300, 'x')); // cause: map
}

std::unordered_map<std::string, std::vector<int>> sessions;

NOINLINE void login(const std::string &user)
{
	sessions[user].resize(100); // cause: sessions
}

std::vector<std::function<int()>> listeners;

NOINLINE void subscribe(const std::string &name)
{
	listeners.push_back([name] { return (int)name.size(); }); // cause: closures
}

std::list<std::unique_ptr<std::string>> queue;

NOINLINE void enqueue(int i)
{
	queue.push_back(std::make_unique<std::string>(200, (char)('a' + i % 26))); // cause: queue
}

struct Node {
	std::shared_ptr<Node> other;
	char value[200];
};

NOINLINE std::shared_ptr<Node> make_node()
{
	return std::make_shared<Node>(); // cause: cycle
}

void cycle()
{
	auto a = make_node(), b = make_node();

	a->other = b;
	b->other = a;
}

struct Shape {
	int kind = 1;
};

struct Polygon : Shape {
	std::vector<int> points;

	NOINLINE explicit Polygon(size_t corners)
	{
		points.resize(corners); // cause: destructor
	}
};

NOINLINE void draw(Shape *shape)
{
	delete shape;
}

NOINLINE void convert(int i)
{
	char *text = new char[500]; // cause: exception

	std::memset(text, 'x', 500);
	if (i % 2)
		throw std::runtime_error("odd");
	delete[] text;
}

void exception()
{
	for (int i = 0; i < 2 * count; i++) {
		try {
			convert(i);
		} catch (const std::runtime_error &) {
		}
	}
}

struct Order {
	std::string name;
	std::vector<int> lines;
};

NOINLINE Order *make_order(int i)
{
	return new Order{"", std::vector<int>(50, i)}; // cause: order
}

// Whatever is taken is given back.
void nothing()
{
	std::map<int, std::string> all;

	for (int i = 0; i < count; i++)
		all[i] = std::string(300, 'x');
}

template <class Call> void repeat(Call call)
{
	for (int i = 0; i < count; i++)
		call(i);
}
} // namespace

int main(int argc, char **argv)
{
	const std::string cause = argc > 1 ? argv[1] : "";

	if (cause == "map")
		repeat(remember);
	else if (cause == "sessions")
		repeat([](int i) { login("user " + std::to_string(i)); });
	else if (cause == "closures")
		repeat([](int i) { subscribe(std::string(200, (char)('a' + i % 26))); });
	else if (cause == "queue")
		repeat(enqueue);
	else if (cause == "cycle")
		repeat([](int) { cycle(); });
	else if (cause == "destructor")
		repeat([](int) { draw(new Polygon(60)); });
	else if (cause == "exception")
		exception();
	else if (cause == "order")
		repeat([](int i) { make_order(i); });
	else if (cause == "nothing")
		nothing();
	else
		return 2;
	/* What variables still hold is told only before their destructors. */
	_exit(0);
}
