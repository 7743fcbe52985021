// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The same as types.c, of C++: classes without virtual functions, and what the standard library keeps of
 * them.
 */
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <vector>

static void say(const void *block, const char *kind, const char *name)
{
	std::printf("block %lx %zu %s %s\n", (unsigned long)block,
		    malloc_usable_size((void *)block), kind, name);
}

/* So that no two blocks of a size begin alike often. */
static long made;

namespace shop
{
struct Address {
	long number = ++made, more[6] = {};
};

class Customer
{
public:
	struct Order {
		long number = ++made, more[8] = {};
		Order *next = nullptr;
	};

	long number = ++made;
	Order *orders = nullptr;
	std::unique_ptr<Address> address;
	long more[9] = {};
};

/* Its objects may be another class's. */
struct Animal {
	virtual ~Animal() = default;
	long number = ++made, more[13] = {};
};

struct Cat : Animal {
	long claws[20] = {};
};

/* What only the members of objects with virtual functions lead to. */
struct Keeper {
	long number = ++made, more[24] = {};
};

struct Food {
	long number = ++made, more[26] = {};
};

struct Ticket {
	long number = ++made, more[28] = {};
};

struct Map {
	long number = ++made, more[30] = {};
	Ticket *ticket = nullptr;
};

struct Left {
	virtual ~Left() = default;
	Keeper *keeper = nullptr;
	long left[33] = {};
};

struct Right {
	virtual ~Right() = default;
	Food *food = nullptr;
	long right[35] = {};
};

/* Its whole object is told by the table of its first base; a variable leads to its second one. */
struct Zoo : Left, Right {
	Map *map = nullptr;
	long zoo[37] = {};
};

/* Where its base lies is told by its code, not by its debug information: what that leads to is not known. */
struct Park : virtual Left {
	Map *map = nullptr;
	long park[39] = {};
};
} // namespace shop

namespace
{
/* A class without a name that others could use. */
struct Hidden {
	long number = ++made, more[16] = {};
};

/* A class that begins with another one. */
struct Base {
	long number = ++made, more[2] = {};
};

struct Derived : Base {
	long even_more[18] = {};
};
} // namespace

static shop::Customer *customer;
static std::vector<shop::Address> *addresses;
static std::vector<shop::Customer *> customers;
static std::list<shop::Address> list;
static std::map<long, shop::Customer *> by_number;
static Hidden *hidden;
static Base *base;
static shop::Animal *animal;
static shop::Right *right;

static void make_zoo()
{
	auto zoo = new shop::Zoo;

	right = zoo;
	say(zoo, "class", "shop::Zoo");
	zoo->keeper = new shop::Keeper;
	say(zoo->keeper, "type", "shop::Keeper");
	zoo->food = new shop::Food;
	say(zoo->food, "type", "shop::Food");
	zoo->map = new shop::Map;
	say(zoo->map, "type", "shop::Map");
	zoo->map->ticket = new shop::Ticket;
	say(zoo->map->ticket, "type", "shop::Ticket");
}

/* Nothing but this leads to it: what an object is, and what hangs on it, needs no variable. */
static void make_park()
{
	auto park = new shop::Park;

	say(park, "class", "shop::Park");
	park->keeper = new shop::Keeper;
	say(park->keeper, "size", "a Keeper of a virtual base");
	park->map = new shop::Map;
	say(park->map, "type", "shop::Map");
}

/*
 * A class that has not been made yet, or is just being taken apart, is its base: with a size that it has not. What is
 * in it may be anything.
 */
static void make_half()
{
	static void *half;
	auto whole = new shop::Left;

	half = std::malloc(sizeof(shop::Left) + 200);
	std::memset(half, 0, sizeof(shop::Left) + 200);
	std::memcpy(half, (void *)whole, sizeof(void *));
	say(whole, "class", "shop::Left");
	say(half, "class", "shop::Left");
	((shop::Left *)half)->keeper = new shop::Keeper;
	say(((shop::Left *)half)->keeper, "size", "a Keeper of half an object");
}

int main()
{
	make_zoo();
	make_park();
	make_half();
	customer = new shop::Customer;
	say(customer, "type", "shop::Customer");
	for (int i = 0; i < 5; i++) {
		auto order = new shop::Customer::Order;

		order->next = customer->orders;
		customer->orders = order;
		say(order, "type", "shop::Customer::Order");
	}
	customer->address = std::make_unique<shop::Address>();
	say(customer->address.get(), "type", "shop::Address");
	addresses = new std::vector<shop::Address>(7);
	say(addresses, "type", "std::vector<shop::Address, std::allocator<shop::Address> >");
	say(addresses->data(), "type", "shop::Address[]");
	for (int i = 0; i < 10; i++) {
		customers.reserve(10);
		customers.push_back(new shop::Customer);
		say(customers.back(), "type", "shop::Customer");
	}
	say(customers.data(), "type", "shop::Customer *[]");
	/* Their nodes are told by what only their code knows. */
	for (int i = 0; i < 3; i++) {
		list.emplace_back();
		say((char *)&list.back() - 16, "size", "a node of a list");
		auto at = by_number.emplace(i, customer).first;
		say((char *)&*at - 32, "size", "a node of a map");
	}
	hidden = new Hidden;
	say(hidden, "type", "(anonymous namespace)::Hidden");
	base = new Derived;
	say(base, "size", "a Derived by Base");
	animal = new shop::Cat;
	say(animal, "class", "shop::Cat");
	std::puts("ready");
	std::fflush(stdout);
	return std::getchar() != EOF;
}
