// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the kernel side sends of the functions that stacks are in, once for each stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/runtime_chains.h"

#define PLACE 0x80000000u

static void add_chain(struct runtime_chains *known, uint64_t hash, uint32_t count, bool cut)
{
	struct runtime_chain_event *event = test_calloc(1, sizeof(*event));

	event->hash = hash;
	event->count = count;
	event->cut = cut;
	for (size_t i = 0; i < RUNTIME_MAX_CALLS; i++)
		event->calls[i] =
			(struct runtime_call){.code = hash + i, .place = (uint32_t)i | PLACE};
	runtime_chains_add(known, event);
	test_free(event);
}

static void must_be_chain(const struct runtime_chains *known, uint64_t hash, uint32_t count,
			  bool cut)
{
	const struct runtime_chain *chain = runtime_chains_find(known, hash);

	assert_non_null(chain);
	assert_int_equal(chain->count, count);
	assert_int_equal(chain->cut, cut);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(chain->calls[i].code, hash + i);
		assert_int_equal(chain->calls[i].place, i | PLACE);
	}
}

static void chains(void **state)
{
	struct runtime_chains known = {0}, others = {0};

	(void)state;
	assert_null(runtime_chains_find(&known, 77));
	add_chain(&known, 77, 3, false);
	add_chain(&known, 78, RUNTIME_MAX_CALLS, true);
	add_chain(&others, 77, 5, false);
	must_be_chain(&known, 77, 3, false);
	must_be_chain(&known, 78, RUNTIME_MAX_CALLS, true);
	must_be_chain(&others, 77, 5, false);
	assert_null(runtime_chains_find(&others, 78));
	runtime_chains_clear(&known);
	assert_null(runtime_chains_find(&known, 77));
	assert_null(runtime_chains_find(&known, 78));
	must_be_chain(&others, 77, 5, false);
	runtime_chains_clear(&others);
}

/* Each stack that has it sends it, and takes it away; all may send it before the first has taken it. */
static void chains_are_taken_away(void **state)
{
	struct runtime_chains known = {0};

	(void)state;
	add_chain(&known, 77, 3, false);
	add_chain(&known, 78, 4, false);
	add_chain(&known, 77, 3, false);
	runtime_chains_drop(&known, 77);
	must_be_chain(&known, 77, 3, false);
	runtime_chains_drop(&known, 77);
	assert_null(runtime_chains_find(&known, 77));
	must_be_chain(&known, 78, 4, false);
	/* Nothing is there any more, or ever was. */
	runtime_chains_drop(&known, 77);
	runtime_chains_drop(&known, 79);
	/* And it may come back. */
	add_chain(&known, 77, 3, true);
	must_be_chain(&known, 77, 3, true);
	runtime_chains_drop(&known, 77);
	assert_null(runtime_chains_find(&known, 77));
	runtime_chains_clear(&known);
}

static void chains_of_any_length(void **state)
{
	struct runtime_chains known = {0};

	(void)state;
	add_chain(&known, 1, 0, false);
	must_be_chain(&known, 1, 0, false);
	add_chain(&known, 2, RUNTIME_MAX_CALLS + 1, true);
	must_be_chain(&known, 2, RUNTIME_MAX_CALLS, true);
	add_chain(&known, 3, UINT32_MAX, false);
	must_be_chain(&known, 3, RUNTIME_MAX_CALLS, false);
	runtime_chains_clear(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains),
		cmocka_unit_test(chains_are_taken_away),
		cmocka_unit_test(chains_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
