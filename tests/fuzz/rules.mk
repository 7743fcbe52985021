# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libFuzzer on all that reads what others wrote. `make fuzz` gives each harness FUZZ_TIME seconds; FUZZ="elf cfi" chooses. tests/fuzz/run does
# it, and has the other ways: `make test-nightly` calls it through tests/tools/fuzz.bats.

fuzz_out := $(BUILD)/fuzz
fuzz_names := $(sort $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c)))
fuzz_programs := $(fuzz_names:%=$(fuzz_out)/fuzz_%)
FUZZ_TIME ?= 60
FUZZ ?= $(fuzz_names)

fuzz_sanitize := address,undefined
fuzz_cflags := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined

# By day the harnesses go over their corpora in a unit test, each with a name of its own, compiled as the tool is.
fuzz_parts := $(fuzz_names:%=$(BUILD)/obj/tests/fuzz/part_%.o)
$(fuzz_parts): $(BUILD)/obj/tests/fuzz/part_%.o: tests/fuzz/fuzz_%.c $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DLLVMFuzzerTestOneInput=fuzz_$* -MMD -MP -c $< -o $@

$(BUILD)/obj/tests/unit/cli/test_corpus.o: tests/unit/cli/test_corpus.c $(fuzz_names:%=tests/fuzz/fuzz_%.c) $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DHARNESSES='$(foreach name,$(fuzz_names),HARNESS($(name)))' -MMD -MP -c $< -o $@

$(BUILD)/tests/unit/cli/test_corpus: $(fuzz_parts)

# The whole library the sanitizers' way, in a build directory of its own.
.PHONY: fuzz fuzz-build
$(fuzz_out)/libmemleakbpf.a: always
	$(Q)$(MAKE) --no-print-directory BUILD=$(fuzz_out) CC=$(CLANG) SANITIZE= WERROR= \
		CFLAGS='$(fuzz_cflags) -fsanitize=fuzzer-no-link,$(fuzz_sanitize)' lib

$(fuzz_programs): $(fuzz_out)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fuzz.h $(fuzz_out)/libmemleakbpf.a
	$(say) FUZZ $@
	$(Q)$(CLANG) $(ALL_CPPFLAGS) -std=gnu17 $(WARNINGS) $(fuzz_cflags) -fsanitize=fuzzer,$(fuzz_sanitize) $< $(fuzz_out)/libmemleakbpf.a \
		$(LIBS) -o $@

fuzz-build: $(fuzz_programs)

fuzz: fuzz-build
	BUILD=$(BUILD) tests/fuzz/run fuzz $(FUZZ_TIME) $(FUZZ)
