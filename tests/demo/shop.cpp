// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// The program of `make demo`: a little shop that serves customers for as long as it runs. Everything it allocates for a
// customer is freed when the customer leaves, but for one thing: Archive::keep_receipt() keeps a receipt for which nobody
// will ever ask. Built as distributions build: -O2, without frame pointers.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace shop
{

volatile std::sig_atomic_t closing;

struct Item {
	std::string name;
	int price;
};

class Catalogue
{
	std::map<int, Item> items;

public:
	Catalogue()
	{
		for (int i = 0; i < 1000; i++)
			items[i] = {"an item with a name of some length, number " +
					    std::to_string(i),
				    i};
	}

	const Item &find(int number) const
	{
		return items.at(number % 1000);
	}
};

class Archive
{
	struct Receipt {
		char text[480];
		Receipt *previous;
	};
	Receipt *last = nullptr;

public:
	__attribute__((noinline)) void keep_receipt(const char *text)
	{
		auto *receipt = new Receipt;

		std::snprintf(receipt->text, sizeof(receipt->text), "%s", text);
		receipt->previous = last;
		last = receipt;
	}
};

class Shop
{
	Catalogue catalogue;
	Archive archive;

	__attribute__((noinline)) std::string fill_basket(int customer)
	{
		std::vector<std::unique_ptr<Item>> basket;
		std::string text;

		for (int i = 0; i < 5; i++)
			basket.push_back(std::make_unique<Item>(catalogue.find(customer * 7 + i)));
		for (const auto &item : basket)
			text += item->name + "; ";
		return text;
	}

public:
	__attribute__((noinline)) void serve(int customer)
	{
		archive.keep_receipt(fill_basket(customer).c_str());
	}
};

} // namespace shop

int main()
{
	shop::Shop shop;

	std::signal(SIGTERM, [](int) { shop::closing = 1; });
	std::puts("the shop is open");
	std::fflush(stdout);
	for (int customer = 0; !shop::closing; customer++) {
		shop.serve(customer);
		std::this_thread::sleep_for(std::chrono::milliseconds(2));
	}
	std::puts("the shop is closed");
	return 0;
}
