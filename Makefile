# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make help` lists the targets and options. Requires GNU make.

# The newest one that the change log is about. It is the version everywhere; packages also have its date.
VERSION := $(shell sed -n '/^\#\# /{ s/^\#\# \([0-9.]*\) .*/\1/p; q }' CHANGELOG.md)
ifeq ($(VERSION),)
$(error The newest heading of CHANGELOG.md is not a version and its date, as in 1.2.3 2030-01-31)
endif

help_text = \
	'make            build $(BUILD)/memleakbpf' \
	'make test-kernels  boot Debian kernels under QEMU, with the tool and its tests inside (KERNELS="5.10 6.1")' \
	'                (VM_MACHINE=aarch64 cross-compiles and emulates that)' \
	'make demo       install what is missing, build, and show a leak in a running program (root)' \
	'make quick      build, then what takes less than a minute: the unit tests, and as root the core of the integration tests' \
	'make test       install what is missing, build, and run the tests of everyday code' \
	'                (root for the integration tests; T="integration lifecycle" selects)' \
	'make test-nightly   the same with all attach modes, and what takes long:' \
	'                virtual machines, fuzzing, packages, Kubernetes, aarch64' \
	'make check      formatting, warnings of gcc and clang, static analysis, layer rules, Markdown' \
	'make bench      cost per malloc/free pair and memory per live allocation (root)' \
	'make fuzz       garbage into everything that reads what others wrote, FUZZ_TIME seconds each (60)' \
	'make soak       a busy program under two tools for SOAK_MINUTES (30); writes docs/reliability.md (root)' \
	'make soak-sampling   estimates by block size against the truth for SAMPLING_MINUTES (5); writes docs/reliability.md (root)' \
	'make soak-services   forty services under survey --keep for SERVICES_MINUTES (60); prints figures (root)' \
	'make soak-found      how long it takes until a guard finds a bug, beside what is expected (root)' \
	'make soak-guards     real programs with guarded blocks, each for GUARDS_MINUTES (10); prints what was told (root)' \
	'make lib unit targets   the library, the unit tests (ROOM=heap: of that folder of user/), the programs that the tests trace' \
	'make unit-heap  build and run the unit tests of one room' \
	'make static     $(BUILD)/static/memleakbpf, one file that needs no library of the machine it runs on (Debian and its like)' \
	'make deb rpm    packages of it, in $(BUILD)/package: of this distribution, and of Fedora and its like' \
	'make release    archives of it for x86_64 and aarch64, checksums and what is in them, in $(BUILD)/release (MACHINES="x86_64")' \
	'make install    into $$(DESTDIR)$$(PREFIX), by default /usr/local; make uninstall removes it' \
	'make clean      remove $(BUILD)/' \
	'make html       try again to get the libraries of -f html, where a build went without' \
	'' \
	'V=1             show the commands' \
	'HTML=0          build without -f html, and without npm' \
	'SANITIZE=1      AddressSanitizer and UndefinedBehaviorSanitizer, in build/sanitize' \
	'DEBUG=1         -O0' \
	'RELEASE=1       hardened, and reproducible, as packages are built' \
	'WERROR=1        warnings are errors' \
	'BUILD=DIR       build elsewhere' \
	'CROSS_COMPILE=aarch64-linux-gnu-   build for another machine'

# --- Options ---------------------------------------------------------------------------------------------------------------

PREFIX ?= /usr/local
SYSTEMD_DIR ?= $(PREFIX)/lib/systemd/system
UNITS := memleakbpf-survey.service memleakbpf-profiles.service
# Where zsh looks; distributions have another folder for what is not the administrator's.
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions
ifeq ($(SANITIZE),1)
BUILD ?= build/sanitize
else
BUILD ?= build
endif

ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin CXX),default)
CXX := $(CROSS_COMPILE)g++
endif
ifeq ($(origin AR),default)
AR := $(CROSS_COMPILE)ar
endif
CLANG ?= clang
BPFTOOL ?= bpftool

# bpftool is in sbin on Debian, which an ordinary user's PATH lacks.
export PATH := $(PATH):/usr/sbin:/sbin

# The machine the code is for, which is the compiler's and not always this one.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m)))
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))

ifeq ($(V),1)
say = @:
Q :=
else
say = @printf '  %-7s %s\n'
Q := @
endif

# --- Flags -----------------------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)
OPTIMIZE := $(if $(filter 1,$(DEBUG)),-O0,-O2)
ifeq ($(SANITIZE),1)
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif

# As packages have it: hardened, and the same bytes whatever the folder that it is built in.
ifeq ($(RELEASE),1)
RELEASE_CPPFLAGS := -D_FORTIFY_SOURCE=2
RELEASE_CFLAGS := -fPIE -fstack-protector-strong -fstack-clash-protection -ffile-prefix-map=$(CURDIR)=/usr/src/memleakbpf
RELEASE_LDFLAGS := -pie -Wl,-z,relro -Wl,-z,now
RELEASE_BPF_CFLAGS := -ffile-prefix-map=$(CURDIR)=/usr/src/memleakbpf
endif

CFLAGS ?= $(OPTIMIZE) -g
ALL_CPPFLAGS = -D_GNU_SOURCE -DMEMLEAKBPF_VERSION='"$(VERSION)"' -I. -I$(BUILD)/gen $(RELEASE_CPPFLAGS) $(CPPFLAGS)
ALL_CFLAGS = -std=gnu17 $(WARNINGS) $(RELEASE_CFLAGS) $(CFLAGS) $(SANITIZERS)
ALL_LDFLAGS = $(SANITIZERS) $(RELEASE_LDFLAGS) -Wl,--as-needed $(LDFLAGS)
LIBS := -lbpf -ldw -lelf -liberty -ljson-c -lcapstone -ldebuginfod -lmicrohttpd -lncursesw -ltinfo -llzma -lz -lm -lpthread

# No header of the kernel and no BTF of the build machine goes in: the kernel's types are in vmlinux/.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -D__bpf__ -I. \
	      $(shell pkg-config --cflags libbpf 2>/dev/null) $(RELEASE_BPF_CFLAGS) -Wall -Wextra -Werror

# --- Files -----------------------------------------------------------------------------------------------------------------

BPF_SRCS := $(sort $(wildcard bpf/*.bpf.c bpf/runtime/*.bpf.c))
BPF_OBJS := $(BPF_SRCS:%.c=$(BUILD)/obj/%.o)
BPF_LINKED := $(BUILD)/memleakbpf.bpf.o
# The same for kernels that lack what bpf/hold.h asks for.
BPF_NO_HOLD := $(BUILD)/gen/memleakbpf_no_hold.bpf.o
BPF_NO_HOLD_OBJS := $(BPF_OBJS:%/hold.bpf.o=%/hold_no_hold.bpf.o)
SKELETON := $(BUILD)/gen/memleakbpf.skel.h
# An object of its own, so that a survey loads nothing of the tracing one.
SURVEY_OBJ := $(BUILD)/obj/bpf/survey/survey.bpf.o
SURVEY_SKELETON := $(BUILD)/gen/survey.skel.h
# Likewise what looks at sleeping threads: not every kernel can load it.
SLEEPERS_OBJ := $(BUILD)/obj/bpf/sleepers/sleepers.bpf.o
SLEEPERS_SKELETON := $(BUILD)/gen/sleepers.skel.h
# Likewise what follows the kernel's own allocations.
KMEM_OBJ := $(BUILD)/obj/bpf/kmem/kmem.bpf.o
KMEM_SKELETON := $(BUILD)/gen/kmem.skel.h
# What the gate copies into targets: code that lies at 0, and a table of what is where in it.
GATE_BINS := $(if $(filter x86_64,$(MACHINE)),$(BUILD)/gen/gate_code.bin $(BUILD)/gen/gate_table.bin)
# What guard sampling copies, likewise.
GUARD_BINS := $(if $(filter x86_64,$(MACHINE)),$(BUILD)/gen/guard_code.bin $(BUILD)/gen/guard_table.bin)
GATE_STUB_CFLAGS := -std=gnu17 -O2 -fPIC -fvisibility=hidden -mgeneral-regs-only -ffreestanding -fno-stack-protector \
		    -fcf-protection=none -fasynchronous-unwind-tables
# The page of -f html, with its libraries inlined.
HTML_PAGE := $(BUILD)/gen/html_page.gen.h

MAIN_SRC := user/cli/main.c
# A folder of user/runtime for each language.
LIB_SRCS := $(filter-out $(MAIN_SRC),$(sort $(wildcard user/*/*.c user/runtime/*/*.c)))
LIB_OBJS := $(LIB_SRCS:%.c=$(BUILD)/obj/%.o)
MAIN_OBJ := $(MAIN_SRC:%.c=$(BUILD)/obj/%.o)
LIB := $(BUILD)/libmemleakbpf.a
PROGRAM := $(BUILD)/memleakbpf

# Which room may use which: room_NAME for each.
include tools/rooms.mk
ROOMS := $(sort $(notdir $(wildcard user/*)))
UNIT_SRCS := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_PROGRAMS := $(UNIT_SRCS:%.c=$(BUILD)/%)
DEMO := $(BUILD)/tests/demo/shop
STATIC := $(BUILD)/static
STATIC_PROGRAM := $(STATIC)/memleakbpf
TARGETS := # the folders' own rules.mk add to it

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# --- The program -----------------------------------------------------------------------------------------------------------

.PHONY: all lib objects unit targets
# Last, so that nobody misses it, and every time.
all: $(PROGRAM)
	@sed -n 's/^#define HTML_PAGE_MISSING "\(.*\)"$$/  NOTE    $(subst /,\/,$(PROGRAM)) has no -f html: \1/p' $(HTML_PAGE)
lib: $(LIB)
objects: $(LIB_OBJS) $(MAIN_OBJ)
# Those of ROOM only, if it is given.
unit: $(foreach room,$(or $(ROOM),$(ROOMS)),$(or $(filter $(BUILD)/tests/unit/$(room)/%,$(UNIT_PROGRAMS)),$(if $(ROOM),no-tests-of-$(room))))

# Names each missing package before anything is compiled, once per build directory and kind of goal. The unit tests of a room may need no BPF.
rooms_only := $(or $(ROOM),$(if $(filter-out unit-%,$(MAKECMDGOALS)),,$(MAKECMDGOALS)))
deps_groups := $(strip $(if $(rooms_only),user,build) $(if $(filter unit unit-% quick fuzz-build,$(MAKECMDGOALS)),unit) \
		       $(if $(filter quick targets bench fuzz-build,$(MAKECMDGOALS)),test) $(filter bench static,$(MAKECMDGOALS)))
empty :=
DEPS_CHECKED := $(BUILD)/.deps-checked-$(subst $(empty) $(empty),-,$(deps_groups))
$(DEPS_CHECKED): tools/deps
	@mkdir -p $(@D)
	@CC="$(CC)" tools/deps --check $(deps_groups)
	@touch $@

# Changes when the compiler or the flags do, so that objects of two kinds never mix.
FLAGS_USED := $(BUILD)/.flags
flags_now = $(MACHINE) $(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS) $(CLANG) $(BPF_CFLAGS)
.PHONY: always
$(FLAGS_USED): always | $(DEPS_CHECKED)
	@printf '%s\n' '$(subst ','\'',$(flags_now))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(flags_now))' >$@

$(BUILD)/obj/bpf/%.bpf.o: bpf/%.bpf.c $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) CLANG $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BPF_LINKED): $(BPF_OBJS)
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $(BPF_OBJS)

$(BUILD)/obj/bpf/hold_no_hold.bpf.o: bpf/hold.bpf.c $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) CLANG "$< (no hold)"
	$(Q)$(CLANG) $(BPF_CFLAGS) -DNO_HOLD -MMD -MP -c $< -o $@

$(BPF_NO_HOLD): $(BPF_NO_HOLD_OBJS)
	@mkdir -p $(@D)
	$(say) BPFLINK $@
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/obj/user/trace/skeleton.o: $(BPF_NO_HOLD)
$(BUILD)/obj/user/trace/skeleton.o: ALL_CFLAGS += -Wa,-I$(BUILD)/gen

$(SKELETON): $(BPF_LINKED)
	@mkdir -p $(@D)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name memleakbpf >$@.tmp
	$(Q)mv $@.tmp $@

$(SURVEY_SKELETON): $(SURVEY_OBJ)
	@mkdir -p $(@D)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name survey >$@.tmp
	$(Q)mv $@.tmp $@

$(SLEEPERS_SKELETON): $(SLEEPERS_OBJ)
	@mkdir -p $(@D)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name sleepers_bpf >$@.tmp
	$(Q)mv $@.tmp $@

$(KMEM_SKELETON): $(KMEM_OBJ)
	@mkdir -p $(@D)
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name kmem_bpf >$@.tmp
	$(Q)mv $@.tmp $@

# Of both the gate's code and the guards'.
stub_shared := user/gate/stub/macros_x86_64.S user/gate/stub/random.h

$(BUILD)/gen/gate.elf: user/gate/stub/fast_x86_64.S user/gate/stub/slow.c user/gate/stub/stub.lds user/gate/stub_layout.h $(stub_shared) $(FLAGS_USED)
	@mkdir -p $(@D)
	$(say) STUB $@
	$(Q)$(CC) -I. $(WARNINGS) -c user/gate/stub/fast_x86_64.S -o $@.fast.o
	$(Q)$(CC) -I. $(WARNINGS) $(GATE_STUB_CFLAGS) -c user/gate/stub/slow.c -o $@.slow.o
	$(Q)$(CC) -nostdlib -shared -Wl,-z,defs,-T,user/gate/stub/stub.lds,--build-id=none,--eh-frame-hdr,--hash-style=sysv $@.fast.o $@.slow.o -o $@

$(BUILD)/gen/gate_code.bin: $(BUILD)/gen/gate.elf
	$(Q)$(CROSS_COMPILE)objcopy --remove-section .table --strip-all $< $@

$(BUILD)/gen/gate_table.bin: $(BUILD)/gen/gate.elf
	$(Q)$(CROSS_COMPILE)objcopy --dump-section .table=$@ $< /dev/null

$(BUILD)/obj/user/gate/stub.o: $(GATE_BINS)
$(BUILD)/obj/user/gate/stub.o: ALL_CFLAGS += -Wa,-I$(BUILD)/gen

$(BUILD)/gen/guard.elf: user/guard/stub/guard_fast_x86_64.S user/guard/stub/guard_slow.c user/guard/stub/guard.lds \
	    user/guard/guard_layout.h user/gate/stub_layout.h $(stub_shared) $(FLAGS_USED)
	@mkdir -p $(@D)
	$(say) STUB $@
	$(Q)$(CC) -I. $(WARNINGS) -c user/guard/stub/guard_fast_x86_64.S -o $@.fast.o
	$(Q)$(CC) -I. $(WARNINGS) $(GATE_STUB_CFLAGS) -c user/guard/stub/guard_slow.c -o $@.slow.o
	$(Q)$(CC) -nostdlib -shared -Wl,-z,defs,-T,user/guard/stub/guard.lds,--build-id=none,--eh-frame-hdr,--hash-style=sysv $@.fast.o $@.slow.o -o $@

$(BUILD)/gen/guard_code.bin: $(BUILD)/gen/guard.elf
	$(Q)$(CROSS_COMPILE)objcopy --remove-section .table --strip-all $< $@

$(BUILD)/gen/guard_table.bin: $(BUILD)/gen/guard.elf
	$(Q)$(CROSS_COMPILE)objcopy --dump-section .table=$@ $< /dev/null

$(BUILD)/obj/user/guard/guard_stub.o: $(GUARD_BINS)
$(BUILD)/obj/user/guard/guard_stub.o: ALL_CFLAGS += -Wa,-I$(BUILD)/gen

$(HTML_PAGE): $(wildcard user/export/html/*) tools/html-page
	@mkdir -p $(@D)
	$(say) HTML $@
	$(Q)tools/html-page $(BUILD)/html $@ $(HTML)

.PHONY: html
html:
	$(Q)rm -f $(HTML_PAGE)
	$(Q)$(MAKE) --no-print-directory all

$(filter $(BUILD)/obj/user/export/html_page.o,$(LIB_OBJS)): | $(HTML_PAGE)

# The skeletons must exist before the first compilation; from then on the .d files know who includes them.
$(filter $(BUILD)/obj/user/trace/%,$(LIB_OBJS)): | $(SKELETON)
$(filter $(BUILD)/obj/user/capture/%,$(LIB_OBJS)): | $(SLEEPERS_SKELETON)
$(filter $(BUILD)/obj/user/look/%,$(LIB_OBJS)): | $(SURVEY_SKELETON)
$(filter $(BUILD)/obj/user/kmem/%,$(LIB_OBJS)): | $(KMEM_SKELETON)
$(BUILD)/obj/tests/unit/trace/test_verifier.o: | $(SKELETON) $(SLEEPERS_SKELETON) $(SURVEY_SKELETON) $(KMEM_SKELETON)
$(filter $(BUILD)/obj/tests/unit/trace/%,$(UNIT_SRCS:%.c=$(BUILD)/obj/%.o)): | $(SKELETON) $(SLEEPERS_SKELETON)

$(BUILD)/obj/%.o: %.c $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJS)
	$(say) AR $@
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJS)

$(PROGRAM): $(MAIN_OBJ) $(LIB)
	$(say) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) $(MAIN_OBJ) $(LIB) $(LIBS) -o $@

# --- The static program ----------------------------------------------------------------------------------------------------

# STATIC_ARCHIVES=DIR has archives that come before the compiler's own: a cross compiler brings a C library that may be older than the distribution's.
# The same objects, but for linkage.o: what comes first in the link keeps the archive's member out. A warning would be of a function that loads libraries.
static_zstd := $(filter /%,$(shell $(CC) -print-file-name=libzstd.a))
STATIC_LDFLAGS = -static-pie -s -Wl,-z,relro -Wl,-z,now -Wl,--wrap=dlopen -Wl,--fatal-warnings -Wl,-Map=$(STATIC)/memleakbpf.map \
		 $(if $(STATIC_ARCHIVES),-B$(STATIC_ARCHIVES) -L$(STATIC_ARCHIVES)) $(LDFLAGS)
STATIC_LIBS = -Wl,--start-group $(filter-out -ldebuginfod,$(LIBS)) -lbz2 $(static_zstd) -Wl,--end-group

.PHONY: static
static: $(STATIC_PROGRAM)

$(STATIC)/left_out.c: tools/static $(FLAGS_USED) | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) STATIC $@
	$(Q)tools/static left-out $(CC) >$@

$(STATIC)/left_out.o: $(STATIC)/left_out.c
	$(say) CC $<
	$(Q)$(CC) -O2 -w -c $< -o $@

$(STATIC)/terminals: tools/static | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(say) STATIC $@
	$(Q)tools/static terminals >$@

# One file is for all machines of the same byte order.
$(STATIC)/LC_CTYPE: /usr/lib/locale/C.utf8/LC_CTYPE | $(DEPS_CHECKED)
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(STATIC)/linkage.o: user/base/linkage.c $(STATIC)/terminals $(STATIC)/LC_CTYPE $(FLAGS_USED) | $(DEPS_CHECKED)
	$(say) CC "$< (static)"
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -DMEMLEAKBPF_STATIC -Wa,-I$(STATIC) -MMD -MP -c $< -o $@

$(STATIC_PROGRAM): $(MAIN_OBJ) $(STATIC)/linkage.o $(STATIC)/left_out.o $(LIB)
	$(say) LD $@
	$(Q)$(CC) $(STATIC_LDFLAGS) $^ $(STATIC_LIBS) -o $@

# --- Tests -----------------------------------------------------------------------------------------------------------------

# A room and what it may use, and nothing else, is what its unit tests are linked with; then they need not build what the others need.
define room_rules
$(BUILD)/rooms/$(1).a: $(filter $(BUILD)/obj/user/$(1)/%,$(LIB_OBJS))
	@mkdir -p $$(@D)
	$$(say) AR $$@
	$$(Q)rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT_PROGRAMS)): $(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(patsubst %,$(BUILD)/rooms/%.a,$(1) $(room_$(1)))
	@mkdir -p $$(@D)
	$$(say) LD $$@
	$$(Q)$$(CC) $$(ALL_LDFLAGS) $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(LIBS) -lcmocka -o $$@

# No make of their own: several at once would make the same files.
.PHONY: unit-$(1)
unit-$(1): $(or $(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT_PROGRAMS)),no-tests-of-$(1))
	BUILD=$(BUILD) tests/run unit $(1)/
endef
$(foreach room,$(ROOMS),$(eval $(call room_rules,$(room))))

# The corpus, which the benchmark of the detector has too.
regime_runs := $(BUILD)/obj/tests/unit/regime/regime_corpus.o $(BUILD)/obj/tests/unit/regime/regime_kinds.o $(BUILD)/obj/tests/unit/regime/regime_kinds_second.o $(BUILD)/obj/tests/unit/regime/regime_runs.o
$(BUILD)/tests/unit/regime/test_regime: $(regime_runs)

# A C++ program's part, which the test loads beside each allocator.
$(BUILD)/tests/unit/gate/test_allocators: | $(BUILD)/tests/unit/gate/throws.so
$(BUILD)/tests/unit/gate/throws.so: tests/unit/gate/throws.cc
	@mkdir -p $(@D)
	$(say) CXX $<
	$(Q)$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Wno-alloc-size-larger-than -fPIC -shared $< -o $@

# A program of another C library, where there is a compiler for it.
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
$(BUILD)/tests/unit/gate/test_musl: | $(BUILD)/tests/unit/gate/musl_side
endif
$(BUILD)/tests/unit/gate/musl_side: tests/unit/gate/musl_side.c tests/unit/gate/musl_side.h tests/unit/gate/books.h tests/unit/gate/hook.h user/gate/stub_layout.h
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)musl-gcc -std=gnu17 -O2 -g -Wall -Wextra -fno-builtin -D_GNU_SOURCE -I. $< -o $@

# A program whose blocks are looked for, with each C library that there is a compiler for.
blocks_sides := $(BUILD)/tests/unit/heap/blocks_side
ifneq ($(shell command -v musl-gcc 2>/dev/null),)
blocks_sides += $(BUILD)/tests/unit/heap/blocks_side.musl $(BUILD)/tests/unit/heap/blocks_side.musl-static
endif
$(BUILD)/tests/unit/heap/test_blocks: | $(blocks_sides)
$(BUILD)/tests/unit/heap/blocks_side: blocks_compile := $(CC)
$(BUILD)/tests/unit/heap/blocks_side.musl: blocks_compile := musl-gcc
$(BUILD)/tests/unit/heap/blocks_side.musl-static: blocks_compile := musl-gcc -static
$(blocks_sides): tests/unit/heap/blocks_side.c tests/unit/heap/blocks_side.h
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(blocks_compile) -std=gnu17 -O2 -g -Wall -Wextra -fno-builtin -D_GNU_SOURCE -I. $< -pthread -o $@

no-tests-of-%:
	@printf 'tests/unit has no tests of a room %s; there are: %s\n' '$*' '$(sort $(notdir $(patsubst %/,%,$(dir $(UNIT_SRCS)))))' >&2; exit 2

$(DEMO): tests/demo/shop.cpp
	@mkdir -p $(@D)
	$(say) CXX $<
	$(Q)$(CXX) -std=c++17 -O2 -g -fomit-frame-pointer -Wall -Wextra -pthread -fdebug-prefix-map=$(CURDIR)=. $< -o $@

# tests/targets/rules.mk and the like: a folder with needs of its own says there what to build, and adds it to TARGETS.
include $(sort $(wildcard tests/*/rules.mk))
$(TARGETS): | $(DEPS_CHECKED)
targets: $(TARGETS)

.PHONY: quick test test-nightly test-kernels demo bench check
quick: all unit targets
	BUILD=$(BUILD) tests/run quick

test:
	tools/deps build unit test vm static
	$(MAKE) --no-print-directory -j$$(nproc) all unit targets
	SANITIZE=$(SANITIZE) BUILD=$(BUILD) tests/run $(T)

# The fuzzers have the whole library compiled once more.
test-nightly:
	tools/deps build unit test vm static
	$(MAKE) --no-print-directory -j$$(nproc) all unit targets fuzz-build
	SANITIZE=$(SANITIZE) BUILD=$(BUILD) tests/run nightly $(T)

demo:
	tools/deps build demo
	$(MAKE) --no-print-directory -j$$(nproc) all $(DEMO)
	BUILD=$(BUILD) tests/demo/run

test-kernels:
	tools/deps build unit test vm
	$(MAKE) --no-print-directory -j$$(nproc) all unit targets
	BUILD=$(BUILD) tests/vm/run $(if $(VM_MACHINE),--machine $(VM_MACHINE)) $(KERNELS)

bench: all targets
	BUILD=$(BUILD) tests/bench/run

check:
	tools/check

# --- Installation and housekeeping -----------------------------------------------------------------------------------------

.PHONY: install uninstall clean help
install: all
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/memleakbpf
	install -D -m 644 docs/memleakbpf.1 $(DESTDIR)$(PREFIX)/share/man/man1/memleakbpf.1
	install -D -m 644 tools/completion/memleakbpf.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/memleakbpf
	install -D -m 644 tools/completion/_memleakbpf $(DESTDIR)$(ZSH_DIR)/_memleakbpf
	install -D -m 644 tools/completion/memleakbpf.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/memleakbpf.fish
	install -D -m 644 tools/prometheus/memleakbpf.rules.yml $(DESTDIR)$(PREFIX)/share/memleakbpf/memleakbpf.rules.yml
	install -d $(DESTDIR)$(PREFIX)/share/memleakbpf/schema $(DESTDIR)$(SYSTEMD_DIR)
	install -m 644 docs/schema/*.json $(DESTDIR)$(PREFIX)/share/memleakbpf/schema
	for unit in $(UNITS); do sed 's|@PREFIX@|$(PREFIX)|' tools/systemd/$$unit >$(DESTDIR)$(SYSTEMD_DIR)/$$unit && chmod 644 $(DESTDIR)$(SYSTEMD_DIR)/$$unit || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/memleakbpf $(DESTDIR)$(PREFIX)/share/man/man1/memleakbpf.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/memleakbpf $(DESTDIR)$(ZSH_DIR)/_memleakbpf \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/memleakbpf.fish \
		$(DESTDIR)$(PREFIX)/share/memleakbpf/memleakbpf.rules.yml $(addprefix $(DESTDIR)$(SYSTEMD_DIR)/,$(UNITS)) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/memleakbpf/schema/,$(notdir $(wildcard docs/schema/*.json)))
	-rmdir $(DESTDIR)$(PREFIX)/share/memleakbpf/schema $(DESTDIR)$(PREFIX)/share/memleakbpf 2>/dev/null

.PHONY: deb rpm
deb rpm: $(HTML_PAGE)
	tools/deps build $@
	VERSION=$(VERSION) HTML_LIBRARIES=$(BUILD)/html tools/package/build $@ $(BUILD)/package

.PHONY: release
release: $(HTML_PAGE)
	tools/deps build static release
	VERSION=$(VERSION) HTML_LIBRARIES=$(BUILD)/html VM_BUILD=$(BUILD) tools/release/build $(BUILD)/release

clean:
	rm -rf $(BUILD)

help:
	@printf '%s\n' $(help_text)

# Object files of the unit tests would otherwise be removed as intermediate ones, and their .d files left alone.
.SECONDARY:

-include $(fuzz_parts:.o=.d) $(BPF_OBJS:.o=.d) $(BPF_NO_HOLD_OBJS:.o=.d) $(SURVEY_OBJ:.o=.d) $(SLEEPERS_OBJ:.o=.d) $(KMEM_OBJ:.o=.d) $(LIB_OBJS:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_SRCS:%.c=$(BUILD)/obj/%.d) $(regime_runs:.o=.d) $(STATIC)/linkage.d
