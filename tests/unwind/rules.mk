# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The unwinder alone: a small BPF program around it, the harness that compares its stacks with backtrace()'s, and programs that
# allocate below every kind of frame, in all the ways that compilers lay frames out.

unwind_src := tests/unwind/targets
unwind_out := $(BUILD)/tests/unwind
unwind_obj := $(BUILD)/obj/tests/unwind

# What recurses without end for gcc ends by longjmp or never.
unwind_cflags := -D_GNU_SOURCE -std=gnu17 -g -Wall -Wextra -Werror -Wno-unknown-warning-option -Wno-infinite-recursion -pthread
unwind_link := -L$(unwind_out) -ltruth -ldl -Wl,-rpath,'$$ORIGIN'

# What clang is told when gcc is a cross compiler.
CROSS_CLANG ?=
unwind_clang := $(CLANG) $(CROSS_CLANG)

# NAME: flags of a build of shapes.c
unwind_O0 := -O0 -fomit-frame-pointer
unwind_O1 := -O1 -fomit-frame-pointer
unwind_O2 := -O2 -fomit-frame-pointer
unwind_O3 := -O3 -fomit-frame-pointer
unwind_Os := -Os -fomit-frame-pointer
unwind_fp := -O2 -fno-omit-frame-pointer
unwind_stripped := -O2 -fomit-frame-pointer -s
unwind_builds := O0 O1 O2 O3 Os fp stripped
ifeq ($(MACHINE),x86_64)
unwind_cet := -O2 -fomit-frame-pointer -fcf-protection
unwind_builds += cet
else
unwind_pac := -O2 -fomit-frame-pointer -mbranch-protection=standard
unwind_builds += pac
endif

UNWIND_PROGRAMS := $(unwind_out)/churn $(unwind_out)/libchurn_a.so $(unwind_out)/libchurn_b.so $(unwind_out)/children \
		   $(unwind_out)/harness $(unwind_out)/plugins $(unwind_out)/deep $(unwind_out)/deep-fp $(unwind_out)/libplugin_a.so \
		   $(unwind_out)/libplugin_b.so $(unwind_builds:%=$(unwind_out)/shapes-gcc-%) \
		   $(unwind_builds:%=$(unwind_out)/shapes-clang-%)
# NAME: compiler and flags of a build of cxx.cc. libc++ is the other standard library, with unwind tables by clang.
unwind_clangxx := $(subst clang,clang++,$(CLANG)) $(CROSS_CLANG)
unwind_cxx_gcc_O2 := $(CXX) -O2 -fomit-frame-pointer
unwind_cxx_gcc_O3 := $(CXX) -O3 -fomit-frame-pointer
unwind_cxx_gcc_Os := $(CXX) -Os -fomit-frame-pointer
unwind_cxx_gcc_fp := $(CXX) -O2 -fno-omit-frame-pointer
unwind_cxx_gcc_stripped := $(CXX) -O2 -fomit-frame-pointer -s
unwind_cxx_clang_O2 := $(unwind_clangxx) -O2 -fomit-frame-pointer
unwind_cxx_clang_Os := $(unwind_clangxx) -Os -fomit-frame-pointer
unwind_cxx_libcxx_O2 := $(unwind_clangxx) -O2 -fomit-frame-pointer -stdlib=libc++
unwind_cxx_libcxx_O3 := $(unwind_clangxx) -O3 -fomit-frame-pointer -stdlib=libc++
unwind_native := $(if $(CROSS_COMPILE),,yes)
unwind_cxx_builds := gcc_O2 gcc_O3 gcc_Os gcc_fp gcc_stripped
# What is not installed is not built, nor what there is no cross compiler for: the tests say so.
ifneq ($(shell command -v $(firstword $(unwind_clangxx))),)
unwind_cxx_builds += clang_O2 clang_Os
ifneq ($(and $(unwind_native),$(shell printf '\43include <vector>\n' | $(unwind_clangxx) -stdlib=libc++ -E -x c++ - 2>/dev/null | head -n 1)),)
unwind_cxx_builds += libcxx_O2 libcxx_O3
endif
endif
ifneq ($(and $(unwind_native),$(shell command -v rustc)),)
unwind_rust_builds := 0 2 s
endif
ifneq ($(and $(unwind_native),$(shell command -v musl-gcc),$(filter x86_64,$(MACHINE))),)
UNWIND_MUSL := $(unwind_out)/musl/shapes
endif
UNWIND_PROGRAMS += $(unwind_cxx_builds:%=$(unwind_out)/cxx-%) $(unwind_rust_builds:%=$(unwind_out)/rust-O%) $(UNWIND_MUSL)

TARGETS += $(UNWIND_PROGRAMS)

$(unwind_obj)/probe.bpf.o: tests/unwind/probe.bpf.c $(FLAGS_USED)
	@mkdir -p $(@D)
	$(say) CLANG $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(unwind_obj)/harness.bpf.o: $(BUILD)/obj/bpf/unwind.bpf.o $(unwind_obj)/probe.bpf.o
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/gen/harness.skel.h: $(unwind_obj)/harness.bpf.o
	@mkdir -p $(@D)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name harness_bpf >$@.tmp
	$(Q)mv $@.tmp $@

$(unwind_obj)/harness.o: | $(BUILD)/gen/harness.skel.h

$(unwind_out)/harness: $(unwind_obj)/harness.o $(LIB)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) $< $(LIB) $(LIBS) -o $@

# The frame of malloc itself must be there: no tail call from it.
$(unwind_out)/libtruth.so: $(unwind_src)/truth.c $(unwind_src)/truth.h tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fno-optimize-sibling-calls -fPIC -shared $< -o $@

$(unwind_out)/shapes-gcc-%: $(unwind_src)/shapes.c $(unwind_out)/libtruth.so
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) $(unwind_$*) $< $(unwind_link) -o $@

$(unwind_out)/shapes-clang-%: $(unwind_src)/shapes.c $(unwind_out)/libtruth.so
	$(say) TARGET $@
	$(Q)$(unwind_clang) $(unwind_cflags) $(unwind_$*) $< $(unwind_link) -o $@

$(unwind_out)/cxx-%: $(unwind_src)/cxx.cc $(unwind_out)/libtruth.so tests/unwind/rules.mk
	$(say) TARGET $@
	$(Q)$(unwind_cxx_$*) -std=c++17 -g -Wall -Wextra -Werror -pthread $< $(unwind_link) -o $@

$(unwind_out)/rust-O%: $(unwind_src)/rust.rs $(unwind_out)/libtruth.so tests/unwind/rules.mk
	$(say) TARGET $@
	$(Q)MAKEFLAGS= rustc --edition 2021 -C opt-level=$* -g $< -L $(unwind_out) -l truth -C link-arg=-Wl,-rpath,'$$ORIGIN' -o $@

# libgcc's unwinder is in libtruth.so, and finds tables by their segment, which musl-gcc does not ask for.
unwind_musl := musl-gcc $(unwind_cflags) -O2 -fomit-frame-pointer -Wl,--eh-frame-hdr

$(unwind_out)/musl/libtruth.so: $(unwind_src)/truth.c $(unwind_src)/truth.h $(unwind_src)/truth_musl.h tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(unwind_musl) -fno-optimize-sibling-calls -fPIC -shared $< -o $@

$(unwind_out)/musl/shapes: $(unwind_src)/shapes.c $(unwind_out)/musl/libtruth.so
	$(say) TARGET $@
	$(Q)$(unwind_musl) $< -L$(@D) -ltruth -Wl,-rpath,'$$ORIGIN' -o $@

$(unwind_out)/plugins: $(unwind_src)/plugins.c $(unwind_out)/libtruth.so
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 $< $(unwind_link) -o $@

$(unwind_out)/churn $(unwind_out)/children: $(unwind_out)/%: $(unwind_src)/%.c tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls $< -ldl -o $@

$(unwind_out)/libchurn_a.so: unwind_frame := 100
$(unwind_out)/libchurn_b.so: unwind_frame := 777
$(unwind_out)/libchurn_%.so: $(unwind_src)/churn_plugin.c tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fPIC -shared -DFRAME=$(unwind_frame) $< -o $@

$(unwind_out)/deep-fp: $(unwind_src)/deep.c tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls $< -o $@

$(unwind_out)/deep: $(unwind_src)/deep.c tests/unwind/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fomit-frame-pointer -fno-optimize-sibling-calls $< -o $@

$(unwind_out)/libplugin_a.so: unwind_frame := 100
$(unwind_out)/libplugin_b.so: unwind_frame := 777
$(unwind_out)/libplugin_%.so: $(unwind_src)/plugin.c $(unwind_out)/libtruth.so
	$(say) TARGET $@
	$(Q)$(CC) $(unwind_cflags) -O2 -fomit-frame-pointer -fPIC -shared -DFRAME=$(unwind_frame) $< $(unwind_link) -o $@

-include $(unwind_obj)/probe.bpf.d $(unwind_obj)/harness.d
