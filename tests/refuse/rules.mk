# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs a command as a kernel would that refuses one thing: tests/integration/refused.bats.

TARGETS += $(BUILD)/tests/refuse/refuse

$(BUILD)/tests/refuse/refuse: tests/refuse/refuse.c tests/refuse/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu17 -O2 -g -Wall -Wextra -Werror $< $(LIBS) -o $@
