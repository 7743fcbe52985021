# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs that print their own ground truth, built into $(BUILD)/tests/targets. NAME keeps frame pointers, NAME.nofp is
# as distributions build. What a machine has no compiler for (musl, 32 bits) is left out; the tests that want it say so.

targets_src := tests/targets
targets_out := $(BUILD)/tests/targets
MUSL_CC ?= musl-gcc

# This machine's own compilers.
targets_native := $(if $(CROSS_COMPILE),,yes)
targets_have_musl := $(if $(targets_native),$(shell command -v $(MUSL_CC) 2>/dev/null))

targets_verdict := verdict_heap verdict_roots verdict_threads verdict_dl verdict_cxx verdict_fork verdict_scene
targets_names := ending bad_frees leaf calls mixed realloc threads million short family dl mmap pool misc busy noleak sandbox exceptions survey_scene paths $(targets_verdict)
targets_names += hangs holes lost_handle many children leaderless sizes clocked sharer ledger foreign callers figures scopes kept guarded sandboxed seldom kernel_keeps
TARGETS += $(targets_out)/soak $(targets_out)/many.static $(targets_out)/short.static $(targets_out)/brief $(targets_out)/brief.static
targets_portable := leaf calls realloc mixed verdict_heap verdict_roots verdict_threads figures

TARGETS += $(targets_names:%=$(targets_out)/%) $(targets_names:%=$(targets_out)/%.nofp) \
	   $(patsubst %,$(targets_out)/%.so,plugin_a plugin_b plugin_provider wrapper noop_free verdict_plugin signal_safe) \
	   $(targets_portable:%=$(targets_out)/%.static) $(targets_out)/leaf.static-pie $(targets_out)/noalloc
TARGETS += $(targets_out)/clock_jump.so $(targets_out)/runtimes.so $(targets_out)/exec_meanwhile.so $(targets_out)/two_heaps
ifneq ($(targets_native),)
# LeakSanitizer's verdicts on the same programs.
TARGETS += $(patsubst %,$(targets_out)/%.lsan,$(filter-out verdict_fork verdict_scene,$(targets_verdict)))
endif
ifneq ($(targets_have_musl),)
TARGETS += $(targets_portable:%=$(targets_out)/%.musl) $(targets_portable:%=$(targets_out)/%.musl-static)
endif
# Bugs with blocks of the heap, and AddressSanitizer on the same programs.
targets_heap_bugs := heap_bugs heap_bugs_freed heap_bugs_cxx
TARGETS += $(targets_heap_bugs:%=$(targets_out)/%.nofp)
ifneq ($(targets_native),)
TARGETS += $(targets_heap_bugs:%=$(targets_out)/%.asan)
endif
$(foreach name,$(targets_heap_bugs),$(targets_out)/$(name).nofp $(targets_out)/$(name).asan): $(targets_src)/heap_bugs.h
# With probes of their own, which a header makes that is the machine's own.
targets_have_sdt := $(if $(targets_native),$(wildcard /usr/include/sys/sdt.h /usr/include/$(MACHINE)-linux-gnu/sys/sdt.h))
ifneq ($(targets_have_sdt),)
targets_usdt := usdt usdt.nofp usdt.O0 usdt.static usdt.always
TARGETS += $(targets_usdt:%=$(targets_out)/%) $(targets_out)/plugin_usdt.so
$(targets_usdt:%=$(targets_out)/%) $(targets_out)/plugin_usdt.so: $(targets_src)/otel_memory.h
endif
comma := ,
# Linked with another allocator, which a command has from its first instruction: the libraries' own files, as Debian installs them.
targets_with_allocator := verdict_heap verdict_roots verdict_threads verdict_cxx
targets_library = $(if $(targets_native),$(wildcard /usr/lib/$(MACHINE)-linux-gnu/$(1)))
targets_jemalloc := $(call targets_library,libjemalloc.so.2)
targets_mimalloc := $(call targets_library,libmimalloc.so.2)
targets_tcmalloc := $(call targets_library,libtcmalloc_minimal.so.4)
TARGETS += $(foreach lib,jemalloc mimalloc tcmalloc,$(if $(targets_$(lib)),$(targets_with_allocator:%=$(targets_out)/%.$(lib))))
ifeq ($(MACHINE),x86_64)
TARGETS += $(targets_out)/noalloc.m32
endif

# One leak in many shapes: simple_leak.FRAME.OPTIMIZATION.LINK; lazily bound, bound at the start, and as distributions build.
targets_leak_frames := 1 24 72 136 264 520
targets_leak_levels := O0 O1 O2
targets_leak_links := lazy now hardened
targets_leaks := $(foreach f,$(targets_leak_frames),$(foreach o,$(targets_leak_levels),$(targets_leak_links:%=simple_leak.$(f).$(o).%)))
TARGETS += $(targets_leaks:%=$(targets_out)/%)
targets_leak_flags_lazy := -fno-pie -no-pie -Wl,-z,lazy
targets_leak_flags_now := -fpie -pie -Wl,-z,now
targets_leak_flags_hardened := -fpie -pie -Wl,-z,now,-z,relro -fstack-protector-strong -D_FORTIFY_SOURCE=2
# The words of the name that make is at.
targets_leak_word = $(word $(1),$(subst ., ,$(notdir $@)))

# With operators of its own, and with the library's.
TARGETS += $(targets_out)/own_new $(targets_out)/own_new.library

# Programs with one cause each.
TARGETS += $(targets_out)/causes.nofp $(targets_out)/causes_cxx.nofp

# The warnings left out are about what the targets do on purpose: calls that fail, blocks used as numbers after free.
targets_cflags := -D_GNU_SOURCE -std=gnu17 -O2 -g -Wall -Wextra -Werror -pthread -I.
targets_cflags += -Wno-use-after-free -Wno-unused-result -Wno-builtin-declaration-mismatch
targets_cxxflags := -std=gnu++17 -O2 -g -Wall -Wextra -Werror -pthread -Wno-mismatched-new-delete -Wno-free-nonheap-object -Wno-use-after-free
targets_fp := -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
targets_nofp := -fomit-frame-pointer
# As Debian builds since 13: return addresses are signed, and functions begin with bti.
targets_protected := $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard)
targets_nofp += $(targets_protected)

$(targets_leaks:%=$(targets_out)/%): $(targets_src)/simple_leak.c $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) -std=gnu17 -g -Wall -Wextra -Wno-cpp -DFRAME=$(call targets_leak_word,2) -$(call targets_leak_word,3) $(targets_leak_flags_$(call targets_leak_word,4)) $< -o $@

$(targets_out)/own_new $(targets_out)/own_new.library: $(targets_src)/own_new.cc $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CXX) $(targets_cxxflags) $(targets_nofp) -Wno-alloc-size-larger-than $(if $(filter %.library,$@),,-DOWN) $< -o $@

targets_headers := $(targets_src)/truth.h $(targets_src)/verdict.h $(targets_src)/verdict_thread.h $(targets_src)/waits.h $(targets_src)/ledger.h $(targets_src)/ledger_children.h $(targets_src)/ledger_signals.h

# A static program and its heap are where small numbers look like addresses: the text of a command ("all" is 0x6c6c61), or the bytes that glibc has mapped. What is
# said of each block has to be true, so the programs that say it are where nothing counts and no text ends. Their heap is behind them, if the kernel does not
# move it by up to 1 GiB, where INT_MAX is and much else: the tests start them by "setarch -R" (high() of tests/integration/lib.bash).
targets_high = $(if $(findstring /verdict_,$@),-Wl$(comma)-Ttext-segment=0x7e000000)

# $(call targets_rule,SUFFIX,SOURCE SUFFIX,COMPILER AND FLAGS)
define targets_rule
$(targets_out)/%$(1): $(targets_src)/%$(2) $(targets_headers) $(targets_src)/rules.mk
	@mkdir -p $$(@D)
	$$(say) TARGET $$@
	$$(Q)$(3) $$< -o $$@
endef

$(eval $(call targets_rule,.nofp,.c,$(CC) $(targets_cflags) $(targets_nofp)))
$(eval $(call targets_rule,.nofp,.cc,$(CXX) $(targets_cxxflags) $(targets_nofp)))
$(eval $(call targets_rule,.lsan,.c,gcc $(targets_cflags) $(targets_nofp) -fsanitize=leak))
$(eval $(call targets_rule,.lsan,.cc,g++ $(targets_cxxflags) $(targets_nofp) -fsanitize=leak))
$(eval $(call targets_rule,.asan,.c,gcc $(targets_cflags) $(targets_nofp) -fno-omit-frame-pointer -fsanitize=address -fsanitize-recover=address))
$(eval $(call targets_rule,.asan,.cc,g++ $(targets_cxxflags) $(targets_nofp) -fno-omit-frame-pointer -fsanitize=address -fsanitize-recover=address))
$(eval $(call targets_rule,.static,.c,$(CC) $(targets_cflags) $(targets_fp) -static $$(targets_high)))
$(eval $(call targets_rule,.static-pie,.c,$(CC) $(targets_cflags) $(targets_fp) -static-pie -fpie))
# Arguments in memory, and probes without semaphores.
$(eval $(call targets_rule,.O0,.c,$(CC) $(targets_cflags) -O0))
$(eval $(call targets_rule,.always,.c,$(CC) $(targets_cflags) $(targets_fp) -DNO_SEMAPHORES))
$(eval $(call targets_rule,.musl,.c,$(MUSL_CC) $(targets_cflags) $(targets_fp)))
$(eval $(call targets_rule,.musl-static,.c,$(MUSL_CC) $(targets_cflags) $(targets_fp) -static $$(targets_high)))
$(foreach lib,jemalloc mimalloc tcmalloc, \
	$(eval $(call targets_rule,.$(lib),.c,$(CC) $(targets_cflags) $(targets_nofp) -Wl$(comma)--no-as-needed $(targets_$(lib)))) \
	$(eval $(call targets_rule,.$(lib),.cc,$(CXX) $(targets_cxxflags) $(targets_nofp) -Wl$(comma)--no-as-needed $(targets_$(lib)))))
$(eval $(call targets_rule,.so,.c,$(CC) $(targets_cflags) $(targets_fp) $(targets_protected) -fPIC -shared))
$(eval $(call targets_rule,,.c,$(CC) $(targets_cflags) $(targets_fp)))
$(eval $(call targets_rule,,.cc,$(CXX) $(targets_cxxflags) $(targets_fp)))

# Its calls to its own malloc stay its own, and the compiler takes that for an ordinary function.
$(targets_out)/plugin_provider.so $(targets_out)/wrapper.so $(targets_out)/noop_free.so $(targets_out)/signal_safe.so: $(targets_out)/%.so: $(targets_src)/%.c $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) $(targets_protected) -fno-builtin -fPIC -shared -Wl,-Bsymbolic $< -o $@

# Linked with an allocator that comes before the C library's.
$(targets_out)/two_heaps: $(targets_src)/two_heaps.c $(targets_out)/signal_safe.so $(targets_headers)
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) $< -L$(@D) -Wl,--no-as-needed,-rpath,'$$ORIGIN' -l:signal_safe.so -o $@

$(targets_out)/noalloc.m32: targets_cflags += -m32
$(targets_out)/noalloc $(targets_out)/noalloc.m32: $(targets_src)/noalloc.c $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) -ffreestanding -fno-stack-protector -nostdlib -static -s $< -o $@

# A Go program that calls C, as go builds it, without DWARF, without that and symbols, and position-independent. The C of its standard library is
# compiled once more for each kind, which its cache has the next time.
targets_have_go := $(if $(targets_native),$(if $(filter x86_64,$(MACHINE)),$(shell command -v go 2>/dev/null)))
targets_go := leak_go leak_go.w leak_go.s leak_go.pie
ifneq ($(targets_have_go),)
TARGETS += $(targets_go:%=$(targets_out)/%) $(targets_out)/heap_go
endif
targets_go_flags_w := -ldflags=-w
# Its C finds its callers by frame pointers.
targets_go_env_w := CGO_CFLAGS='-g -O0 -fno-omit-frame-pointer'
targets_go_flags_s := -ldflags='-s -w'
targets_go_flags_pie := -buildmode=pie
$(targets_go:%=$(targets_out)/%): $(targets_src)/leak_go/main.go $(targets_src)/leak_go/go.mod $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)cd $(targets_src)/leak_go && env GOCACHE=$(abspath $(BUILD))/go/cache GOPATH=$(abspath $(BUILD))/go GOPROXY=off GOFLAGS=-buildvcs=false CGO_ENABLED=1 $(targets_go_env_$(subst .,,$(suffix $@))) \
		go build $(targets_go_flags_$(subst .,,$(suffix $@))) -o $(abspath $@) .

# Static and stripped, as images have them: it says what its heap is made of.
$(targets_out)/heap_go: tests/unit/inspect/go_side.go $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)env GOCACHE=$(abspath $(BUILD))/go/cache GOPATH=$(abspath $(BUILD))/go GOPROXY=off GO111MODULE=off GOFLAGS= CGO_ENABLED=0 \
		go build -ldflags='-s -w' -o $(abspath $@) $(abspath $<)

# Exports what an interpreter exports; of 3.10; of a version that nobody knows; not that it does; as a library; such a one that nobody knows; by a linker that packs segments.
targets_forged := forged_python forged_python.3_10 forged_python.new forged_python.hidden forged_python.so forged_python.newso
targets_have_lld := $(if $(targets_native),$(shell command -v ld.lld 2>/dev/null))
ifeq ($(MACHINE),x86_64)
TARGETS += $(targets_forged:%=$(targets_out)/%) $(targets_out)/forged_dl $(targets_out)/forged_java $(targets_out)/forged_perl $(targets_out)/forged_php $(targets_out)/forged_ruby $(targets_out)/forged_v8
ifneq ($(targets_have_lld),)
TARGETS += $(targets_out)/forged_python.lld
endif
endif
targets_forged_flags := -rdynamic
targets_forged_flags.new := -rdynamic -DFORGED_VERSION=0x040000f0
targets_forged_flags.hidden := -static
targets_forged_flags.so := -fPIC -shared -Wl,-Bsymbolic
targets_forged_flags.newso := $(targets_forged_flags.so) -DFORGED_VERSION=0x040000f0
targets_forged_flags.3_10 := -rdynamic -DFORGED_3_10
targets_forged_flags.lld := -rdynamic -fuse-ld=lld
$(targets_forged:%=$(targets_out)/%) $(targets_out)/forged_python.lld: $(targets_src)/forged_python.c $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) $(targets_forged_flags$(suffix $@)) $< -o $@

$(targets_out)/forged_java $(targets_out)/forged_perl $(targets_out)/forged_php $(targets_out)/forged_ruby $(targets_out)/forged_v8: $(targets_out)/%: $(targets_src)/%.c $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) -rdynamic $< -o $@

# A file for each version of CPython whose memory was recorded.
targets_recorded := $(patsubst tests/golden/python/%.h,$(targets_out)/recorded_python.%,$(wildcard tests/golden/python/*.h))
ifeq ($(MACHINE),x86_64)
TARGETS += $(targets_recorded)
endif
$(targets_recorded): $(targets_out)/recorded_python.%: $(targets_src)/recorded_python.c tests/golden/python/%.h $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) -rdynamic -DIMAGE_FILE='"$(abspath tests/golden/python/$*.h)"' $< -o $@

# The same of Java.
targets_recorded_java := $(patsubst tests/golden/java/%.h,$(targets_out)/recorded_java.%,$(wildcard tests/golden/java/*.h))
ifeq ($(MACHINE),x86_64)
TARGETS += $(targets_recorded_java)
endif
$(targets_recorded_java): $(targets_out)/recorded_java.%: $(targets_src)/recorded_java.c tests/golden/java/%.h $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)$(CC) $(targets_cflags) $(targets_fp) -rdynamic -DIMAGE_FILE='"$(abspath tests/golden/java/$*.h)"' $< -o $@

targets_have_java := $(if $(targets_native),$(shell command -v javac 2>/dev/null))
ifneq ($(targets_have_java),)
TARGETS += $(targets_out)/leak_java/LeakJava.class $(targets_out)/stacks_java/StacksJava.class
endif
$(targets_out)/leak_java/LeakJava.class: $(targets_src)/leak_java/LeakJava.java
$(targets_out)/stacks_java/StacksJava.class: $(targets_src)/stacks_java/StacksJava.java
$(targets_out)/leak_java/LeakJava.class $(targets_out)/stacks_java/StacksJava.class: $(targets_src)/rules.mk
	@mkdir -p $(@D)
	$(say) TARGET $@
	$(Q)javac --release 8 -Xlint:-options -d $(@D) $(filter %.java,$^)
