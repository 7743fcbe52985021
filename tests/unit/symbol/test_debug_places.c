// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the process that reads DWARF says of places comes back, and what it cannot have said is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/symbol/debug_places.h"

static void places_make(struct debug_places *places)
{
	memset(places, 0, sizeof(*places));
	places->count = 3;
	places->items[0].vaddr = 0x1234;
	places->items[0].line = 7;
	strcpy(places->items[0].file, "/src/a.c");
	places->items[1].line = UINT32_MAX;
	memset(places->items[2].file, 'x', sizeof(places->items[2].file) - 1);
}

static void test_come_back(void **state)
{
	static struct debug_places places, back;
	struct bytes_writer to = {.failed = false};
	struct bytes_reader from;

	(void)state;
	places_make(&places);
	debug_places_pack(&places, &to);
	assert_false(to.failed);
	from = (struct bytes_reader){.p = to.bytes, .end = to.bytes + to.len};
	assert_int_equal(debug_places_parse(&from, &back), 0);
	assert_int_equal(back.count, 3);
	assert_memory_equal(back.items, places.items, 3 * sizeof(places.items[0]));
	free(to.bytes);
}

static void test_refused(void **state)
{
	static struct debug_places places, back;
	struct bytes_writer to = {.failed = false};
	struct bytes_reader from;
	uint32_t many = DEBUG_PLACES_MAX + 1;

	(void)state;
	places_make(&places);
	debug_places_pack(&places, &to);
	for (size_t len = 0; len < to.len; len++) {
		from = (struct bytes_reader){.p = to.bytes, .end = to.bytes + len};
		assert_int_equal(debug_places_parse(&from, &back), -EBADMSG);
		assert_int_equal(back.count, 0);
	}
	/* More than there may be, and a file's name that is longer than any. */
	memcpy(to.bytes, &many, sizeof(many));
	from = (struct bytes_reader){.p = to.bytes, .end = to.bytes + to.len};
	assert_int_equal(debug_places_parse(&from, &back), -EBADMSG);
	memcpy(to.bytes, &(uint32_t){1}, sizeof(many));
	memcpy(to.bytes + 16, &(uint32_t){DEBUG_PLACE_TEXT}, sizeof(many));
	from = (struct bytes_reader){.p = to.bytes, .end = to.bytes + to.len};
	assert_int_equal(debug_places_parse(&from, &back), -EBADMSG);
	free(to.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_come_back),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
