# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs of the benchmark, built into $(BUILD)/tests/bench.

bench_out := $(BUILD)/tests/bench
BENCH_PROGRAMS := $(bench_out)/loop $(bench_out)/empty_probes $(bench_out)/make_recording $(bench_out)/tables $(bench_out)/crowd $(bench_out)/heap

# As distributions build: optimised, no frame pointers.
$(bench_out)/loop $(bench_out)/crowd $(bench_out)/heap: $(bench_out)/%: tests/bench/%.c tests/bench/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu17 -O2 -g -fomit-frame-pointer -Wall -Wextra -Werror -pthread $< -o $@

$(bench_out)/empty_probes $(bench_out)/make_recording $(bench_out)/tables: $(bench_out)/%: $(BUILD)/obj/tests/bench/%.o $(LIB)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) $< $(LIB) $(LIBS) -o $@

# The detector of growth; without root, and of no use to who does not change it.
$(bench_out)/trend: $(BUILD)/obj/tests/bench/trend.o $(regime_runs) $(BUILD)/rooms/regime.a $(BUILD)/rooms/base.a
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

.PHONY: bench-trend
bench-trend: $(bench_out)/trend
	$< cost
	$< alarms first 7 61 130
	$< alarms second 7 1 70
	$< delays first 21
	$< delays second 21
-include $(BUILD)/obj/tests/bench/trend.d

TARGETS += $(BENCH_PROGRAMS)
-include $(BUILD)/obj/tests/bench/empty_probes.d $(BUILD)/obj/tests/bench/make_recording.d $(BUILD)/obj/tests/bench/tables.d
