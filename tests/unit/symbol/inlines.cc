// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Compiled by the symbol tests; not part of them.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace shop
{
namespace
{
inline __attribute__((always_inline)) int *hidden_helper(int count)
{
	return static_cast<int *>(std::malloc(sizeof(int) * static_cast<size_t>(count)));
}
} // namespace

template <typename T> class Basket
{
public:
	explicit Basket(size_t room) : items(room)
	{
	}
	inline __attribute__((always_inline)) void add(const T &item)
	{
		items.push_back(item);
	}
	__attribute__((noinline)) size_t total() const
	{
		size_t sum = 0;
		for (const auto &each : items)
			sum += static_cast<size_t>(each);
		return sum;
	}

private:
	std::vector<T> items;
};

static inline __attribute__((always_inline)) int *middle(int count)
{
	int *block = hidden_helper(count);
	for (int i = 0; i < count; i++)
		block[i] = i;
	return block;
}

__attribute__((noinline)) int *outer(int count)
{
	int *block = middle(count + 1);
	auto bump = [block](int by) __attribute__((always_inline))
	{
		block[0] += by;
	};
	bump(count);
	return block;
}

struct Names {
	std::map<std::string, int> known;
	__attribute__((noinline)) int &operator[](const std::string &name)
	{
		return known[name];
	}
};
} // namespace shop

int main(int argc, char **)
{
	shop::Basket<int> basket(static_cast<size_t>(argc));
	shop::Names names;

	for (int i = 0; i < argc; i++) {
		int *block = shop::outer(i);
		basket.add(block[0]);
		names[std::to_string(i)] = i;
		std::free(block);
	}
	return basket.total() > 1000;
}
