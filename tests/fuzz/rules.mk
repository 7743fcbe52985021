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
