// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A worker of tests/soak/services: four threads share the steps and the allocating.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

__attribute__((noipa)) char *leaked_here(size_t size)
{
	char *block = new char[size];

	memset(block, 1, size);
	return block;
}

static void churn(bool *good, unsigned seed)
{
	std::vector<std::string> texts;

	for (unsigned i = 0; i < 500; i++)
		texts.push_back(std::string(20 + (seed + i) % 500, 'a' + i % 26));
	for (unsigned i = 0; i < 500; i++)
		*good = *good && texts[i].back() == 'a' + static_cast<int>(i % 26);
}

int main()
{
	unsigned long long number;
	size_t leak;

	while (scanf("%llu %zu", &number, &leak) == 2) {
		std::vector<std::thread> threads;
		bool good[4] = {true, true, true, true};

		for (unsigned i = 0; i < 4; i++)
			threads.emplace_back(churn, &good[i], static_cast<unsigned>(number) + i);
		for (auto &thread : threads)
			thread.join();
		if (leak)
			leaked_here(leak);
		for (int i = 0; i < 10; i++)
			number = number * 48271 % 2147483647;
		printf("%llu\n", good[0] && good[1] && good[2] && good[3] ? number : 0);
		fflush(stdout);
	}
}
