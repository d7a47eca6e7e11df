# SPDX-License-Identifier: ISC
# The core of the page as one wasm32 module, FOLDER/core.wasm, and the module that unpacks it,
# FOLDER/unpack.wasm: see tools/wasm.sh, which calls this.
# What runs for each event, each item of a frame or each row is compiled to be fast (-O2 would be
# no faster), the rest to be small: clang inlines no functions there by itself, as those that stay apart have
# more in common, so that LZMA packs them better.
HOT = $(addprefix src/base/,array.c keys.c sort.c) \
	$(addprefix src/read/thrum/,decode.c lane.c merge.c) \
	$(addprefix src/model/,append.c forget.c ids.c lanes.c model.c rows.c strings.c tasks.c) \
	$(addprefix src/timeline/index/,append.c ask.c blocks.c column.c times.c walk.c) \
	src/timeline/layout/% src/draw/list.c src/analyse/label.c src/analyse/why/peers.c
ROOMS = base format read world model analyse words timeline scene stage report
UNPACK = apps/web/unlzma.c apps/web/join.c
SOURCES := $(foreach room,$(ROOMS),$(wildcard \
		$(addprefix src/$(room)/,*.c */*.c */*/*.c))) \
	$(addprefix src/draw/,list.c cells.c list_print.c theme.c canvas.c svg.c) \
	$(filter-out $(UNPACK),$(wildcard apps/web/*.c))
OBJECTS = $(SOURCES:%.c=$(FOLDER)/%.o)

FLAGS = --target=wasm32-wasi -std=c11 -Wall -Wextra -Wno-unused-parameter \
	-Wno-missing-field-initializers $(if $(CI),-Werror) -Iinclude -Isrc \
	-mnontrapping-fptoint -msign-ext
# The stack lies first, so that what overflows it traps.
LINK = --target=wasm32-wasi -mexec-model=reactor -lc-printscan-no-floating-point \
	-Wl,--gc-sections,--strip-all,--compress-relocations,-O2,--stack-first \
	-Wl,-z,stack-size=1048576,--max-memory=4294967296

all: $(FOLDER)/core.wasm $(FOLDER)/unpack.wasm

$(FOLDER)/unpack.wasm: $(UNPACK) tools/wasm.mk
	clang --target=wasm32 -std=c11 -Wall -Wextra -Os -ffreestanding -nostdlib \
		-Wl,--no-entry,--strip-all,-z,stack-size=4096 $(UNPACK) -o $@

$(FOLDER)/core.wasm: $(OBJECTS)
	clang $(LINK) $^ -o $@

$(FOLDER)/%.o: %.c tools/wasm.mk
	@mkdir -p $(@D)
	clang $(FLAGS) $(if $(filter $(HOT),$<),-Os,-Oz -fno-inline-functions) -MMD -MP -c $< -o $@

-include $(OBJECTS:.o=.d)
