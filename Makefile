# librelax: build, install, test. GNU make; one topic per section.
#
#   make                 the libraries, bin/relax and pkgconfig/*.pc
#   make demo            install what building needs, build, run the digits example
#   make check           install what testing needs, build, run every test
#   make check T=a/b     only the suites of test/a named b (or T=a for a whole room; T=a/b:case for golden cases)
#   make check-asan      the same suites under AddressSanitizer and UBSan
#   make check-long      the same suites with RELAX_LONG=1, and the long ones
#   make fuzz-rlx        FUZZ_SECONDS=600 of random compiled files (libFuzzer); fuzz-npy: of arrays and archives for the tool;
#                        fuzz-script, fuzz-relay: of texts
#   make bench           measurements; make bench-peers installs what they are compared with into build/peers; make abi / abi-baseline: regenerate the tracked ABI files
#   make install         (uninstall) DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, BINDIR, DATADIR, MANDIR are honoured; BUILT=1 compiles nothing before
#
# Variables: CC AR STRIP PKG_CONFIG CPPFLAGS CFLAGS LDFLAGS (ours first, yours after),
#   TSAN=1 builds under ThreadSanitizer (into build/tsan; test/manners/long_threads.sh runs what has threads),
#   V=1 shows commands, DEBUG=1 builds without optimisation and with internal checks (into build/debug),
#   O=DIR builds everything, libraries and tool included, under DIR instead of here,
#   ROOMS="base ir" takes these rooms of src alone: `make check T=base ROOMS=base O=DIR` while others do not compile.

MAJOR   := 0
MINOR   := 2
PATCH   := 0
VERSION := $(MAJOR).$(MINOR).$(PATCH)

# --- tools ---------------------------------------------------------------------------------------

# make's own default for AR and CC is overridable from the environment and the command line.
STRIP      ?= strip
PKG_CONFIG ?= pkg-config
# Debian's python3-numpy serves Debian's python3, whatever else is first on PATH.
PYTHON     ?= $(firstword $(wildcard /usr/bin/python3) python3)
SHELL      := /bin/sh
MAKEFLAGS  += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

# One short line per file, or the command itself.
ifeq ($(V),1)
  Q   :=
  say  = @:
else
  Q   := @
  say  = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),@:,@printf '  %-5s %s\n')
endif

# --- variants ------------------------------------------------------------------------------------
# Every variant has its own objects, so switching never mixes them. The plain build lands in lib/ and
# bin/; the others keep even these below build/, so that an installed or running one is not disturbed.

# Sections, so that the linker can drop what nothing calls; unwind tables would be a seventh of the library. Nothing is aligned
# and no loop vectorised but in the strips: elsewhere loops are short. A compiler gets what it knows of the alignments.
SECTIONS := -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections
takes     = echo 'int x;' | $(CC) -Werror $(1) -S -x c - -o /dev/null 2>/dev/null && echo $(1)
ALIGN    := -falign-functions=1 -falign-loops=1 -falign-jumps=1
ALIGN    := $(shell $(call takes,$(ALIGN)) || { $(foreach f,$(ALIGN),$(call takes,$f);) })
SMALL    := $(SECTIONS) $(ALIGN) -fno-tree-vectorize
OPT      := -O2 $(SMALL)
ifeq ($(SAN),1)
  VARIANT := asan
  OPT     := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -DRLX_DEBUG=1
else ifeq ($(FUZZ),1)
  VARIANT := fuzz
  OPT     := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=pointer-overflow \
             -fno-sanitize-recover=undefined -DRLX_DEBUG=1
else ifeq ($(TSAN),1)
  VARIANT := tsan
  OPT     := -O1 -fno-omit-frame-pointer -fsanitize=thread -DRLX_DEBUG=1
else ifeq ($(DEBUG),1)
  VARIANT := debug
  OPT     := -O0 -DRLX_DEBUG=1
else
  VARIANT := release
endif

ifdef O
  BUILD := $(O)/$(VARIANT)
  OUT   := $(BUILD)
else
  BUILD := build/$(VARIANT)
  OUT   := $(if $(filter release,$(VARIANT)),.,$(BUILD))
endif
GEN := $(if $(O),$(O),build)/gen

# --- sources -------------------------------------------------------------------------------------

ROOMS    := $(if $(ROOMS),$(ROOMS),*)
# What the run-only library has in place of the late compiler.
NO_LATE  := $(wildcard src/vm/no_late_compiler.c)
LIB_SRC  := $(sort $(filter-out src/cli/% $(NO_LATE),$(wildcard $(ROOMS:%=src/%/*.c))))
CLI_SRC  := $(sort $(wildcard src/cli/*.c))
RUN_ROOM := base format desc micro runtime vm
RUN_SRC  := $(filter $(RUN_ROOM:%=src/%/%) src/api/run_%,$(LIB_SRC)) $(NO_LATE)
TEST_SRC := $(sort $(wildcard test/*/test_*.c))
SUPPORT_SRC := $(sort $(wildcard test/support/*.c))
HEADERS  := $(sort $(wildcard include/relax/*.h))

# Headers that a rule makes during the build: list them here as $(GEN)/NAME and write a rule for
# $(GEN)/NAME in the section "generated files"; -I$(GEN) is on the include path.
GENERATED :=

obj      = $(1:%.c=$(BUILD)/%.o)
LIB_OBJ := $(call obj,$(LIB_SRC))
CLI_OBJ := $(call obj,$(CLI_SRC))
RUN_OBJ := $(call obj,$(RUN_SRC))
TEST_OBJ := $(call obj,$(TEST_SRC) $(SUPPORT_SRC))
TESTS   := $(TEST_SRC:%.c=$(BUILD)/%)

# --- flags ---------------------------------------------------------------------------------------
# Baseline of the architecture (no -march). No contraction: a kernel's numbers are the same on every
# machine. No strict aliasing: cells and tensor bytes are read through several types.

WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter
STD_FLAGS := -std=c11 -g $(WARN) -ffp-contract=off -fno-strict-aliasing -fPIC -fvisibility=hidden
INC_FLAGS := -Iinclude -Isrc -I$(GEN) -D_GNU_SOURCE
COMPILE    = $(CC) $(STD_FLAGS) $(OPT) $(INC_FLAGS) $(EXTRA) $(CPPFLAGS) $(CFLAGS)

# What runs once per function, pass or file, not once per binding or token, is built for size: the rooms with a file SIZE,
# and files that say /* built for size */ on a line. The strips of the kernel interpreter live on vectorised inner loops,
# twice as fast at -O3: /* built for speed */. A changed line is a changed file, so the record of the flags holds the rooms only.
# private: prerequisites, that record among them, do not inherit what is set for an object.
ifeq ($(VARIANT),release)
  # Without errno and traps of floats choices become selects; no number changes. What a loop of vectors leaves over is done element by
  # element: shorter vectors for it are a third of such a function, and less than a strip has is left once.
  ONE_END    := $(shell echo 'int x;' | $(CC) --param vect-epilogues-nomask=0 -x c - -c -o /dev/null 2>&1 | grep -q . || echo --param vect-epilogues-nomask=0)
  FAST_OPT   := -O3 -fno-math-errno -fno-trapping-math $(ONE_END) $(SECTIONS)
  SIZE_OPT   := -Os $(SMALL)
  SIZE_ROOMS := $(dir $(wildcard src/*/SIZE))
  says        = $(shell grep -lxF '/* built for $(1) */' $(LIB_SRC) /dev/null)
  FAST       := $(call says,speed)
  SIZE       := $(filter-out $(FAST),$(call says,size) $(filter $(SIZE_ROOMS:%=%%),$(LIB_SRC)))
  $(call obj,$(FAST)): private OPT := $(FAST_OPT)
  $(call obj,$(SIZE)): private OPT := $(SIZE_OPT)
  # Tight loops of some tens of bytes: where a function begins decides up to 8 % of their time, which no change elsewhere is to do;
  # not so of loops of tiles.
  $(call obj,$(filter-out %/set_amx.c,$(wildcard src/micro/set_*.c))): private OPT := $(OPT) $(shell $(call takes,-falign-functions=32))
  # And one of five instructions takes twice as long across two lines of a cache.
  $(call obj,src/micro/row.c): private OPT := $(FAST_OPT) $(shell $(call takes,-falign-loops=32))
  # Most test programs compile longer than they run. What they share, and what says so, is computed a lot.
  TEST_OPT   := -O0 $(SECTIONS)
  SLOW_TESTS := $(filter-out $(shell grep -lxF '/* built for speed */' $(TEST_SRC) /dev/null),$(TEST_SRC))
  $(call obj,$(SLOW_TESTS)): private OPT := $(TEST_OPT)
endif
# Tests see test/support; nothing else does.
$(TEST_OBJ): private EXTRA := -Itest/support

# -z defs: everything the library needs is named on its own link line. -Bsymbolic-functions: our calls
# are ours, whatever the host has loaded. --exclude-libs: archives linked in export nothing.
MAP      := $(wildcard lib/librelax.map)
LIBS     := -lm -lpthread -ldl
# Tables full of pointers need a relocation each: the packed form takes 1 bit instead of 24 bytes, where the linker has it.
PACKED   := $(shell echo 'int x;' | $(CC) -shared -x c - -o /dev/null -Wl,-z,pack-relative-relocs 2>&1 | grep -q . || echo -Wl,-z,pack-relative-relocs)
SO_FLAGS := -shared -Wl,-Bsymbolic-functions -Wl,--exclude-libs,ALL -Wl,-z,relro -Wl,--as-needed -Wl,--gc-sections $(PACKED)
ifeq ($(filter asan tsan,$(VARIANT)),)
  SO_FLAGS += -Wl,-z,defs
endif
# What bin/relax needs beyond librelax.
CLI_LIBS := -lz
CMOCKA_LIBS ?= -lcmocka

# --- products ------------------------------------------------------------------------------------

SONAME  := librelax.so.$(MAJOR).$(MINOR)
SO_FILE := librelax.so.$(VERSION)
SO      := $(OUT)/lib/$(SO_FILE)
SO_LINK := $(OUT)/lib/librelax.so
ARCHIVE := $(OUT)/lib/librelax.a
RUN_ARCHIVE := $(OUT)/lib/librelax-runtime.a
TOOL    := $(OUT)/bin/relax
PC      := $(OUT)/pkgconfig/relax.pc
RUN_PC  := $(OUT)/pkgconfig/relax-runtime.pc

.PHONY: all lib tests
all: lib $(TOOL) $(PC) $(RUN_PC)
	@:
lib: $(SO_LINK) $(ARCHIVE) $(RUN_ARCHIVE)
# With T=ROOM or T=ROOM/NAME[:CASE] only the programs that can match.
WANTED := $(firstword $(subst :, ,$(T)))
tests: $(if $(T),$(filter $(BUILD)/test/$(WANTED)/% $(BUILD)/test/$(subst /,/test_,$(WANTED)),$(TESTS)),$(TESTS))
	@:

# Products are made beside their place and moved in, so that a running program keeps its old file.
$(SO): $(LIB_OBJ) $(MAP) $(BUILD)/inputs
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) $(CFLAGS) $(SO_FLAGS) -Wl,-soname,$(SONAME) $(MAP:%=-Wl,--version-script,%) $(LDFLAGS) -o $@.new $(LIB_OBJ) $(LIBS)
	@mv -f $@.new $@

$(SO_LINK): $(SO)
	@ln -sfn $(SO_FILE) $(@D)/$(SONAME)
	@ln -sfn $(SONAME) $@

$(ARCHIVE): $(LIB_OBJ)
$(RUN_ARCHIVE): $(RUN_OBJ)
$(ARCHIVE) $(RUN_ARCHIVE): $(BUILD)/inputs
	$(say) AR $@
	@mkdir -p $(@D); rm -f $@.new
	$(Q)$(AR) rcs $@.new $(filter %.o,$^)
	@mv -f $@.new $@

$(TOOL): $(CLI_OBJ) $(SO_LINK) $(BUILD)/inputs
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) $(CFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib' -o $@.new $(CLI_OBJ) -L$(OUT)/lib -lrelax $(CLI_LIBS) -lm
	@mv -f $@.new $@

# In the tree the file finds its headers and libraries from its own place.
pc_file = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(1)|' -e 's|@LIBDIR@|$(2)|' -e 's|@INCLUDEDIR@|$(3)|' \
              -e 's|@LIBS_PRIVATE@|$(LIBS)|' pkgconfig/$(4)
$(PC) $(RUN_PC): $(OUT)/pkgconfig/%: pkgconfig/%.in Makefile
	@mkdir -p $(@D)
	@$(call pc_file,$${pcfiledir}/..,$${prefix}/lib,$(if $(filter .,$(OUT)),$${prefix}/include,$(CURDIR)/include),$(<F)) > $@

# --- compiling -----------------------------------------------------------------------------------

$(BUILD)/%.o: %.c $(BUILD)/flags | $(GENERATED)
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $< || { rm -f $(@:.o=); exit 1; } # not the program of before

$(BUILD)/test/%: $(BUILD)/test/%.o $(call obj,$(SUPPORT_SRC)) $(ARCHIVE)
	$(say) LINK $@
	$(Q)$(CC) $(OPT) $(CFLAGS) -Wl,--gc-sections $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVE) $(CMOCKA_LIBS) $(LIBS)

# Objects depend on the flags they were made with, products on the list of their inputs: a changed
# variable or a deleted source rebuilds what it should, and an unchanged one nothing. What is recorded is
# compared when make starts, so that `make -q` and `make -n` know as well.
.PHONY: FORCE
quote    = '$(subst ','\'',$(1))'
FLAGS   := $(strip $(CC) $(STD_FLAGS) $(OPT) $(INC_FLAGS) $(CPPFLAGS) $(CFLAGS) \
               / $(FAST_OPT) / $(SIZE_ROOMS) $(SIZE_OPT) / $(TEST_OPT))
INPUTS  := $(strip $(AR) $(LIB_OBJ) $(RUN_OBJ) $(CLI_OBJ) $(SO_FLAGS) $(LDFLAGS) $(LIBS) $(CLI_LIBS) $(MAP) $(VERSION))
is_not   = $(if $(shell printf '%s\n' $(call quote,$(2)) | cmp -s - $(1) || echo changed),FORCE)
remember = @mkdir -p $(@D); printf '%s\n' $(call quote,$(1)) > $@
$(BUILD)/flags: $(call is_not,$(BUILD)/flags,$(FLAGS))
	$(call remember,$(FLAGS))
$(BUILD)/inputs: $(call is_not,$(BUILD)/inputs,$(INPUTS))
	$(call remember,$(INPUTS))

.PRECIOUS: $(BUILD)/%.o
-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(TEST_OBJ) $(call obj,$(wildcard test/fuzz/*.c)))

# --- generated files -----------------------------------------------------------------------------
# One rule per file, for example:
#   $(GEN)/name.h: tool.py table.def
#   	@mkdir -p $(@D)
#   	$(Q)$(PYTHON) tool.py table.def > $@

# --- what must be installed ----------------------------------------------------------------------
# All are silent and use no network when nothing is missing.

.PHONY: deps deps-build deps-bench
deps:
	@CC='$(CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh check
deps-build:
	@CC='$(CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh build
# A comparison that cannot be made is left out of the table.
deps-bench: deps-build
	-@CC='$(CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh bench

# --- running -------------------------------------------------------------------------------------
# Recursive calls keep the order (install, build, run) under any -j, and use all cores when the caller
# gave no -j.

JOBS  = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))
AGAIN = $(MAKE) --no-print-directory $(JOBS)
RUN_ALL = CC='$(CC)' STRIP='$(STRIP)' PKG_CONFIG='$(PKG_CONFIG)' \
    $(PYTHON) test/tools/run_all.py --variant $(VARIANT) --build $(BUILD) --out $(OUT) $(if $(T),--only '$(T)')

.PHONY: demo check check-asan check-long check-tvm check-onnx bench bench-peers
DEMOS := digits adder
demo:
	@$(AGAIN) deps-build
	@$(AGAIN) all
	@$(AGAIN) $(DEMOS:%=$(BUILD)/examples/%_demo)
	@for d in $(DEMOS); do \
	    RELAX=$(TOOL) RELAX_DEMO=$(BUILD)/examples/$${d}_demo sh examples/$$d/run_demo.sh || exit 1; done
$(BUILD)/examples/%_demo: $(SO_LINK) FORCE
	@mkdir -p $(@D)
	$(Q)$(CC) $(OPT) $(CPPFLAGS) -std=c11 -D_GNU_SOURCE -Iinclude $(CFLAGS) -o $@ \
	    examples/$*/$*_demo.c -L$(OUT)/lib -Wl,-rpath,$(abspath $(OUT)/lib) -lrelax -lminizip -lm

# A test program that does not compile is a failed suite, not the end of the run.
check:
	@$(AGAIN) deps
	$(if $(LONG),-@CC='$(CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh long)
	@$(if $(filter *,$(ROOMS)),$(AGAIN) all)
	-@$(AGAIN) -k tests
	@$(RUN_ALL) $(if $(LONG),--long)
check-asan:
	@$(MAKE) --no-print-directory check SAN=1
check-long:
	@$(MAKE) --no-print-directory check LONG=1
# Texts for TVM 0.27 against that package, which is installed below the build folder, or TVM_PYTHON.
check-tvm: all
	@PYTHON='$(PYTHON)' sh test/tvm/install.sh '$(if $(O),$(O),build)/tvm' || [ -n '$(TVM_PYTHON)' ]
	@'$(or $(TVM_PYTHON),$(if $(O),$(O),build)/tvm/bin/python)' test/tvm/check_tvm.py $(TOOL) \
	    test/golden/*/*.test examples/*/*.py
# Suites of ONNX cases in the layout that test/onnx/run_suite.py describes: make check-onnx CASES='DIR...'
check-onnx: all
	@[ -n '$(CASES)' ] || { echo "make check-onnx CASES='DIR...'"; exit 2; }
	@RELAX=$(TOOL) $(PYTHON) test/onnx/run_suite.py $(CHECK_ONNX) $(CASES)
bench:
	@$(AGAIN) deps-bench
	@$(AGAIN) all
	@CC='$(CC)' STRIP='$(STRIP)' PYTHON='$(PYTHON)' OUT='$(OUT)' BENCH_BUILD='$(if $(O),$(O),build)/bench' sh bench/run.sh
# What is not installed leaves its column of the table empty.
bench-peers:
	-@CC='$(CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh peers
	@PYTHON='$(PYTHON)' sh bench/peers/install.sh '$(if $(O),$(O),build)/peers'

# --- fuzzing -------------------------------------------------------------------------------------
# Each target test/fuzz/fuzz_NAME.c begins with the kept files of test/fuzz/corpus/NAME; what it finds stays
# in build/fuzz/found. `make check` runs the kept files through the same target, without a fuzzer.

FUZZ_CC      ?= clang-14
FUZZ_SECONDS ?= 600
FUZZ_DIR     := $(if $(O),$(O),build)/fuzz
FUZZ_NAMES   := rlx npy script relay onnx
FUZZ_FLAGS   := -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
# Texts also begin with the programs of the tree, and with the words of the language.
fuzz-script: FUZZ_FLAGS += -max_len=8192 -dict=$(FUZZ_DIR)/script.dict
fuzz-script: FUZZ_SEEDS := $(FUZZ_DIR)/seeds/script
FUZZ_ALONE    = $(call obj,test/support/compiled_file.c) $(RUN_ARCHIVE)

.PHONY: $(FUZZ_NAMES:%=fuzz-%)
$(FUZZ_NAMES:%=fuzz-%): fuzz-%:
	@FUZZ_CC='$(FUZZ_CC)' PYTHON='$(PYTHON)' sh test/tools/deps.sh fuzz
	@$(AGAIN) FUZZ=1 CC='$(FUZZ_CC)' $(FUZZ_DIR)/fuzz_$*
	@mkdir -p $(FUZZ_DIR)/found/$* test/fuzz/corpus/$*
	@$(if $(FUZZ_SEEDS),$(PYTHON) test/fuzz/$*_seeds.py $(FUZZ_DIR))
	$(FUZZ_DIR)/fuzz_$* $(FUZZ_FLAGS) -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(FUZZ_DIR)/found/ \
	    $(FUZZ_DIR)/found/$* test/fuzz/corpus/$* $(FUZZ_SEEDS)

$(call obj,$(wildcard test/fuzz/fuzz_*.c)): private EXTRA := -Itest/support
$(FUZZ_DIR)/fuzz_rlx: $(FUZZ_ALONE)
$(FUZZ_DIR)/fuzz_script: $(call obj,test/support/text_case.c) $(ARCHIVE)
$(FUZZ_DIR)/fuzz_relay: $(ARCHIVE)
$(FUZZ_DIR)/fuzz_onnx: $(ARCHIVE)
$(FUZZ_DIR)/fuzz_npy: $(call obj,src/cli/npy.c src/cli/npz.c src/cli/zip.c src/cli/crc32.c) $(RUN_ARCHIVE)
$(FUZZ_DIR)/fuzz_%: $(BUILD)/test/fuzz/fuzz_%.o
	$(say) LINK $@
	$(Q)$(CC) $(OPT) -fsanitize=fuzzer $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(CLI_LIBS) $(LIBS)

# --- the ABI -------------------------------------------------------------------------------------
# The manifest, the symbol list and the version script come from the headers and are tracked: a changed
# promise is a changed file in a review. `make check` says when they are out of date. ops.h comes from the
# operator table of the library, which is built with the new export list first.

# abidiff knows by a type's location whether it stands in a public header: without one it misses changed structs. Those
# locations stay, by file alone, so that the baseline changes only with what it promises.
PUBLIC_PLACES := sed -E -e "/ filepath='include/! s/ filepath='[^']*' line='[0-9]+' column='[0-9]+'//" \
                        -e "s/ line='[0-9]+' column='[0-9]+'/ line='1' column='1'/"
.PHONY: abi abi-baseline man
abi:
	$(Q)$(PYTHON) test/abi/gen_api.py
	@$(AGAIN) lib
	$(Q)RELAX_LIB=$(SO) RELAX_VARIANT=$(VARIANT) $(PYTHON) test/tools/gen_ops.py
# the manual page, from what the tool says of itself
man: all
	$(Q)RELAX=$(TOOL) $(PYTHON) test/tools/gen_man.py
abi-baseline: all
	$(Q)abidw --headers-dir include --drop-private-types --exported-interfaces-only --no-corpus-path --no-comp-dir-path \
	    --out-file $(BUILD)/baseline.abi $(SO)
	$(Q)$(PUBLIC_PLACES) $(BUILD)/baseline.abi > test/abi/baseline.abi
	$(Q)$(PYTHON) test/abi/gen_api.py --baseline
	@echo "test/abi/baseline.abi and baseline_facts are now the promise of $(SO_FILE)"

# --- install -------------------------------------------------------------------------------------

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
to = $(DESTDIR)$(1)

# As pkg-config and CMake find it: from prefix, or from where their file lies, so that the whole may be moved.
from_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
way         = $(shell realpath -m --relative-to=$(1) $(2))
CMAKEDIR    = $(LIBDIR)/cmake/relax
DOCDIR      = $(DATADIR)/doc/relax
DOCUMENTS  := README.md LICENSE CHANGELOG.md doc/language.md doc/tvmscript.md doc/numbers.md doc/relay.md

.PHONY: install uninstall clean help
install: $(if $(BUILT),,all)
	install -d $(call to,$(INCLUDEDIR)/relax) $(call to,$(LIBDIR)/pkgconfig) $(call to,$(CMAKEDIR)) $(call to,$(BINDIR))
	install -m 644 $(HEADERS) $(call to,$(INCLUDEDIR)/relax)
	install -m 755 $(SO) $(call to,$(LIBDIR)/$(SO_FILE))
	ln -sfn $(SO_FILE) $(call to,$(LIBDIR)/$(SONAME))
	ln -sfn $(SONAME) $(call to,$(LIBDIR)/librelax.so)
	install -m 644 $(ARCHIVE) $(RUN_ARCHIVE) $(call to,$(LIBDIR))
	for f in relax relax-runtime; do \
	    $(call pc_file,$(PREFIX),$(call from_prefix,$(LIBDIR)),$(call from_prefix,$(INCLUDEDIR)),$$f.pc.in) \
	        > $(call to,$(LIBDIR)/pkgconfig/$$f.pc) || exit 1; done
	for f in relax-config relax-config-version; do \
	    sed -e 's|@VERSION@|$(VERSION)|' -e 's|@INCLUDE@|$(call way,$(CMAKEDIR),$(INCLUDEDIR))|' \
	        -e 's|@LIBS_LIST@|$(subst $() ,;,$(strip $(patsubst -l%,%,$(LIBS))))|' pkgconfig/$$f.cmake.in \
	        > $(call to,$(CMAKEDIR)/$$f.cmake) || exit 1; done
	install -d $(call to,$(DATADIR)/relax) $(call to,$(MANDIR)/man1) $(call to,$(DOCDIR))
	install -m 644 doc/relax.1 $(call to,$(MANDIR)/man1)
	install -m 644 test/abi/api.json $(call to,$(DATADIR)/relax)
	install -m 644 $(DOCUMENTS) $(call to,$(DOCDIR))
	@# linked once more: the way from BINDIR to LIBDIR may differ from that of the tree
	$(CC) $(OPT) $(CFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/$(call way,$(BINDIR),$(LIBDIR))' \
	    -o $(call to,$(BINDIR)/relax) $(CLI_OBJ) -L$(OUT)/lib -lrelax $(CLI_LIBS) -lm

# What install has put there, by the same variables; folders of ours that are empty then, no others.
uninstall:
	rm -f $(patsubst include/relax/%,$(call to,$(INCLUDEDIR))/relax/%,$(HEADERS)) $(call to,$(BINDIR)/relax) \
	    $(foreach f,$(SO_FILE) $(SONAME) librelax.so librelax.a librelax-runtime.a \
	        pkgconfig/relax.pc pkgconfig/relax-runtime.pc,$(call to,$(LIBDIR)/$(f))) \
	    $(call to,$(MANDIR)/man1/relax.1) $(call to,$(DATADIR)/relax/api.json) \
	    $(addprefix $(call to,$(CMAKEDIR))/,relax-config.cmake relax-config-version.cmake) \
	    $(addprefix $(call to,$(DOCDIR))/,$(notdir $(DOCUMENTS)))
	-rmdir $(wildcard $(call to,$(INCLUDEDIR)/relax) $(call to,$(CMAKEDIR)) $(call to,$(DATADIR)/relax) $(call to,$(DOCDIR)))

help:
	@sed -n '/^#   make/,/^$$/{/^# Var/,$$d;s/^# \{0,1\}//p}' Makefile

clean:
	rm -rf build bin pkgconfig/relax.pc pkgconfig/relax-runtime.pc lib/librelax.so* lib/librelax.a lib/librelax-runtime.a
