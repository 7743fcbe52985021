// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/stack_figures.h"

#include <math.h>

#include "user/base/util.h"

#define NS_PER_US 1000ULL

/* From here on lifetimes say something of the next block's. */
#define OUTLIVED_SAMPLES 100
#define OUTLIVED_PART	 0.99
#define OUTLIVED_TIMES	 64
#define OUTLIVED_LEAST	 1000000000ULL

/* In the order of the bits. */
static const size_t figures_members[] = {
	offsetof(struct figures_kept, lifetimes), offsetof(struct figures_kept, temporary),
	offsetof(struct figures_kept, peak),	  offsetof(struct figures_kept, sizes),
	offsetof(struct figures_kept, usable),
};

uint64_t figures_bits(const struct figures_kept *kept)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(figures_members); i++)
		bits |= (uint64_t) * (const bool *)((const char *)kept + figures_members[i]) << i;
	return bits;
}

struct figures_kept figures_of_bits(uint64_t bits)
{
	struct figures_kept kept = {0};

	for (size_t i = 0; i < ARRAY_SIZE(figures_members); i++)
		*(bool *)((char *)&kept + figures_members[i]) = bits >> i & 1;
	return kept;
}

bool figures_traced(const struct figures_kept *kept)
{
	return kept->lifetimes || kept->temporary || kept->peak;
}

bool figures_any(const struct figures_kept *kept)
{
	return figures_bits(kept) != 0;
}

/* ---- sizes -------------------------------------------------------------------------------- */

uint64_t size_class_bytes(size_t class)
{
	return class ? 1ULL << (class - 1) : 0;
}

static size_t size_class_of(uint64_t size)
{
	size_t class = size ? 64 - (size_t)__builtin_clzll(size) : 0;

	return class < SIZE_CLASSES ? class : SIZE_CLASSES - 1;
}

static void sizes_go_by_power(struct stack_sizes *sizes)
{
	const struct stack_sizes was = *sizes;

	*sizes = (struct stack_sizes){.by_power = 1};
	for (size_t i = 0; i < SIZES_DISTINCT; i++)
		sizes->counts[size_class_of(was.values[i])] += was.counts[i];
}

void sizes_add(struct stack_sizes *sizes, uint64_t size, uint64_t count)
{
	if (!count)
		return;
	for (size_t i = 0; !sizes->by_power && i < SIZES_DISTINCT; i++) {
		if (sizes->counts[i] && sizes->values[i] != size)
			continue;
		sizes->values[i] = size;
		sizes->counts[i] += count;
		return;
	}
	if (!sizes->by_power)
		sizes_go_by_power(sizes);
	sizes->counts[size_class_of(size)] += count;
}

static void sizes_swap(struct stack_sizes *sizes, size_t a, size_t b)
{
	uint64_t value = sizes->values[a], count = sizes->counts[a];

	sizes->values[a] = sizes->values[b];
	sizes->counts[a] = sizes->counts[b];
	sizes->values[b] = value;
	sizes->counts[b] = count;
}

void sizes_round(struct stack_sizes *sizes, uint64_t parts)
{
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		sizes->counts[i] = (sizes->counts[i] + parts / 2) / parts;
	for (size_t i = 1; !sizes->by_power && i < SIZES_DISTINCT; i++) {
		for (size_t k = i; k && sizes->counts[k] && sizes->values[k] < sizes->values[k - 1];
		     k--)
			sizes_swap(sizes, k, k - 1);
	}
}

static void sizes_sum(struct stack_sizes *to, const struct stack_sizes *from)
{
	if (from->by_power && !to->by_power)
		sizes_go_by_power(to);
	for (size_t i = 0; i < (from->by_power ? SIZE_CLASSES : SIZES_DISTINCT); i++)
		sizes_add(to, from->by_power ? size_class_bytes(i) : from->values[i],
			  from->counts[i]);
}

/* ---- all ---------------------------------------------------------------------------------- */

void figures_add(struct stack_figures *to, const struct stack_figures *from)
{
	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		to->lifetimes[i] += from->lifetimes[i];
	if (from->outlived_ns && (!to->outlived_ns || from->outlived_ns < to->outlived_ns))
		to->outlived_ns = from->outlived_ns;
	amount_add(&to->outlived, &from->outlived);
	amount_add(&to->temporary, &from->temporary);
	to->temporary_error = hypot(to->temporary_error, from->temporary_error);
	sizes_sum(&to->sizes, &from->sizes);
	amount_add(&to->usable, &from->usable);
	to->usable_asked += from->usable_asked;
}

uint64_t lifetime_class_ns(size_t class)
{
	return class ? NS_PER_US << class : 0;
}

uint64_t lifetimes_count(const uint64_t lifetimes[static LIFETIME_CLASSES])
{
	uint64_t n = 0;

	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		n += lifetimes[i];
	return n;
}

/* Finds the class of that part; *within: how far in the class. */
static size_t lifetimes_class_of(const uint64_t lifetimes[static LIFETIME_CLASSES], double part,
				 double *within)
{
	double wanted = part * (double)lifetimes_count(lifetimes), before = 0;
	size_t last = 0;

	for (size_t i = 0; i < LIFETIME_CLASSES; i++) {
		double here = (double)lifetimes[i];

		if (!lifetimes[i])
			continue;
		last = i;
		*within = (wanted - before) / here;
		if (*within <= 1)
			break;
		before += here;
	}
	return last;
}

uint64_t lifetimes_quantile(const uint64_t lifetimes[static LIFETIME_CLASSES], double part,
			    uint64_t *end)
{
	double within = 0;
	size_t class;

	if (end)
		*end = 0;
	if (!lifetimes_count(lifetimes))
		return 0;
	class = lifetimes_class_of(lifetimes, part, &within);
	if (end)
		*end = class == LIFETIME_CLASSES - 1 ? UINT64_MAX : lifetime_class_ns(class + 1);
	return lifetime_class_ns(class);
}

uint64_t lifetimes_outlived_ns(const uint64_t lifetimes[static LIFETIME_CLASSES], double samples)
{
	double within = 0;
	uint64_t ns;
	size_t class;

	if (samples < OUTLIVED_SAMPLES)
		return 0;
	class = lifetimes_class_of(lifetimes, OUTLIVED_PART, &within);
	if (class == LIFETIME_CLASSES - 1)
		return 0;
	ns = lifetime_class_ns(class + 1) * OUTLIVED_TIMES;
	return ns > OUTLIVED_LEAST ? ns : OUTLIVED_LEAST;
}
