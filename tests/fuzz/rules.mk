# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make fuzz`: libFuzzer on what reads files of others, FUZZ_TIME seconds each. What it finds new stays in $(BUILD)/fuzz; a crash's
# input is left there as well, and belongs into tests/fuzz/corpus once it is mended.

fuzz_out := $(BUILD)/fuzz
FUZZ_TIME ?= 60

fuzz_recording_srcs := tests/fuzz/fuzz_recording.c $(wildcard user/model/*.c user/export/*.c user/analysis/*.c user/base/*.c)

# All in one: the sanitizers want everything compiled their way.
$(fuzz_out)/fuzz_recording: $(fuzz_recording_srcs) $(wildcard user/model/*.h user/export/*.h user/analysis/*.h) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) FUZZ $@
	$(Q)$(CLANG) $(ALL_CPPFLAGS) -std=gnu17 -O1 -g -Wall -Wextra -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined $(fuzz_recording_srcs) $(LIBS) -o $@

.PHONY: fuzz
fuzz: $(fuzz_out)/fuzz_recording
	@mkdir -p $(fuzz_out)/corpus/recording
	$(fuzz_out)/fuzz_recording -max_total_time=$(FUZZ_TIME) -rss_limit_mb=1024 -timeout=10 -max_len=65536 -close_fd_mask=2 \
		-artifact_prefix=$(fuzz_out)/ $(fuzz_out)/corpus/recording tests/fuzz/corpus/recording
