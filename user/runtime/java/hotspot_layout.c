// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * src/hotspot/share/runtime/vmStructs.cpp says what is in the tables. 8, 11, 17, 21 and 25 to 28
 * were tried. The names of members in other versions are from their sources. 8 has one heap of
 * code, and no array of heaps. From 9 to 22 nmethods have a superclass CompiledMethod and the
 * address of their code. Before that, and from 23 on, they have an offset to it.
 */
#include "user/runtime/java/hotspot_layout.h"

#include <errno.h>
#include <string.h>

#include "user/base/util.h"

#define LAYOUT_ENTRIES 8192
#define LAYOUT_STRIDE  256
#define LAYOUT_NAME    48   /* what is looked for is shorter */
#define LAYOUT_MEMBER  4096 /* no member of those is further behind */

struct layout_name {
	const char *type, *field;
	size_t member;
	bool is_static;
};

#define AT(m) offsetof(struct hotspot_layout, m)
#define FIELD(t, f, m)               \
	{                            \
#t, #f, AT(m), false \
	}
#define VARIABLE(t, f, m)           \
	{                           \
#t, #f, AT(m), true \
	}

/* Of those with the same member the first that is there counts. */
static const struct layout_name layout_names[] = {
	VARIABLE(CodeCache, _heaps, heaps),
	VARIABLE(CodeCache, _heap, heap),
	VARIABLE(AbstractInterpreter, _code, interpreter),
	VARIABLE(Abstract_VM_Version, _vm_major_version, major),
	VARIABLE(JVMFlag, flags, flags),
	VARIABLE(JVMFlag, numFlags, flag_count),
	FIELD(GrowableArrayBase, _len, list_length),
	FIELD(GenericGrowableArray, _len, list_length),
	{"GrowableArray<int>", "_data", AT(list_data), false},
	FIELD(CodeHeap, _memory, heap_memory),
	FIELD(CodeHeap, _segmap, heap_segments),
	FIELD(CodeHeap, _log2_segment_size, heap_shift),
	FIELD(VirtualSpace, _low_boundary, space_low),
	FIELD(VirtualSpace, _high_boundary, space_high),
	FIELD(StubQueue, _stub_buffer, queue_buffer),
	FIELD(StubQueue, _buffer_limit, queue_limit),
	FIELD(CodeBlob, _name, blob_name),
	FIELD(CodeBlob, _frame_size, blob_frame_size),
	FIELD(CodeBlob, _code_begin, blob_code_begin),
	FIELD(CodeBlob, _code_offset, blob_code_offset),
	FIELD(CodeBlob, _data_offset, blob_data_offset),
	FIELD(CodeBlob, _mutable_data, blob_mutable),
	FIELD(CodeBlob, _relocation_size, blob_relocation_size),
	FIELD(nmethod, _compile_id, compile_id),
	FIELD(nmethod, _method, nmethod_method),
	FIELD(CompiledMethod, _method, nmethod_method),
	FIELD(nmethod, _metadata_offset, metadata_offset),
	FIELD(nmethod, _scopes_pcs_offset, pcs_offset),
	FIELD(nmethod, _dependencies_offset, pcs_end_offset),
	FIELD(CompiledMethod, _scopes_data_begin, scopes_begin),
	FIELD(nmethod, _scopes_data_begin, scopes_begin),
	FIELD(nmethod, _scopes_data_offset, scopes_offset),
	FIELD(nmethod, _immutable_data, immutable),
	FIELD(PcDesc, _pc_offset, pc_offset),
	FIELD(PcDesc, _scope_decode_offset, pc_scope),
	FIELD(Method, _constMethod, method_const),
	FIELD(ConstMethod, _constants, const_pool),
	FIELD(ConstMethod, _constMethod_size, const_whole),
	FIELD(ConstMethod, _code_size, const_code_size),
	FIELD(ConstMethod, _name_index, const_name),
	FIELD(ConstMethod, _signature_index, const_signature),
	FIELD(ConstMethod, _flags, const_flags),
	{"ConstMethod", "_flags._flags", AT(const_flags), false},
	FIELD(ConstantPool, _pool_holder, pool_holder),
	FIELD(ConstantPool, _source_file_name_index, pool_source),
	FIELD(InstanceKlass, _source_file_name_index, class_source),
	FIELD(Klass, _name, class_name),
	FIELD(Symbol, _length, symbol_length),
	FIELD(Symbol, _body, symbol_body),
	{"Symbol", "_body[0]", AT(symbol_body), false},
	FIELD(JVMFlag, _name, flag_name),
	FIELD(JVMFlag, _addr, flag_address),
};

static const struct layout_name layout_types[] = {
	{"HeapBlock", NULL, AT(block_size), false},   {"ConstMethod", NULL, AT(const_size), false},
	{"ConstantPool", NULL, AT(pool_size), false}, {"PcDesc", NULL, AT(pc_size), false},
	{"JVMFlag", NULL, AT(flag_size), false},
};

/* Without one of these there are no frames. */
static const struct {
	size_t member;
	const char *what;
} layout_needed[] = {
	{AT(heap_memory), "CodeHeap::_memory"},
	{AT(heap_segments), "CodeHeap::_segmap"},
	{AT(heap_shift), "CodeHeap::_log2_segment_size"},
	{AT(space_low), "VirtualSpace::_low_boundary"},
	{AT(space_high), "VirtualSpace::_high_boundary"},
	{AT(blob_name), "CodeBlob::_name"},
	{AT(blob_frame_size), "CodeBlob::_frame_size"},
	{AT(compile_id), "nmethod::_compile_id"},
	{AT(nmethod_method), "nmethod::_method"},
	{AT(method_const), "Method::_constMethod"},
	{AT(const_pool), "ConstMethod::_constants"},
	{AT(const_whole), "ConstMethod::_constMethod_size"},
	{AT(const_code_size), "ConstMethod::_code_size"},
	{AT(const_name), "ConstMethod::_name_index"},
	{AT(const_signature), "ConstMethod::_signature_index"},
	{AT(pool_holder), "ConstantPool::_pool_holder"},
	{AT(class_name), "Klass::_name"},
	{AT(symbol_length), "Symbol::_length"},
	{AT(symbol_body), "Symbol::_body"},
	{AT(block_size), "HeapBlock"},
	{AT(const_size), "ConstMethod"},
	{AT(pool_size), "ConstantPool"},
};

static uint64_t *layout_at(struct hotspot_layout *layout, size_t member)
{
	return (uint64_t *)((char *)layout + member);
}

bool hotspot_read(const struct hotspot_memory *m, uint64_t address, void *to, size_t size)
{
	return m->read(m->ctx, address, to, size) == size;
}

bool hotspot_read_word(const struct hotspot_memory *m, uint64_t address, uint64_t *word)
{
	return hotspot_read(m, address, word, sizeof(*word));
}

static bool layout_read_name(const struct hotspot_memory *m, uint64_t address,
			     char name[static LAYOUT_NAME])
{
	memset(name, 0, LAYOUT_NAME);
	/* At the end of what can be read a shorter one. */
	for (size_t size = LAYOUT_NAME - 1; size; size /= 2) {
		if (m->read(m->ctx, address, name, size) == size)
			return true;
	}
	return false;
}

/* Of the first of its names that is there. */
static void layout_take(struct hotspot_layout *out, const struct layout_name *name, uint64_t value)
{
	uint64_t *to = layout_at(out, name->member);

	if (*to == HOTSPOT_NOWHERE && (name->is_static || value < LAYOUT_MEMBER))
		*to = value;
}

static void layout_field(const struct hotspot_memory *m, const struct hotspot_symbols *at,
			 uint64_t entry, const char *type, uint64_t field_at,
			 struct hotspot_layout *out)
{
	char field[LAYOUT_NAME] = "";
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(layout_names); i++) {
		const struct layout_name *name = &layout_names[i];

		if (strcmp(type, name->type))
			continue;
		if (!*field && !layout_read_name(m, field_at, field))
			return;
		if (!strcmp(field, name->field) &&
		    hotspot_read_word(m, entry + (name->is_static ? at->address : at->offset),
				      &value))
			layout_take(out, name, value);
	}
}

static void layout_fields(const struct hotspot_memory *m, const struct hotspot_symbols *at,
			  struct hotspot_layout *out)
{
	char type[LAYOUT_NAME];

	for (size_t i = 0; i < LAYOUT_ENTRIES; i++) {
		uint64_t entry = at->table + i * at->stride, name, field;

		/* The last one has no names. */
		if (!hotspot_read_word(m, entry + at->type_name, &name) || !name ||
		    !hotspot_read_word(m, entry + at->field_name, &field))
			break;
		if (layout_read_name(m, name, type))
			layout_field(m, at, entry, type, field, out);
	}
}

static void layout_sizes(const struct hotspot_memory *m, const struct hotspot_symbols *at,
			 struct hotspot_layout *out)
{
	char type[LAYOUT_NAME];

	for (size_t i = 0; i < LAYOUT_ENTRIES; i++) {
		uint64_t entry = at->types + i * at->types_stride, name, size;

		if (!hotspot_read_word(m, entry + at->types_name, &name) || !name ||
		    !hotspot_read_word(m, entry + at->types_size, &size))
			break;
		if (!layout_read_name(m, name, type))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(layout_types); k++) {
			if (!strcmp(type, layout_types[k].type))
				layout_take(out, &layout_types[k], size);
		}
	}
}

int hotspot_layout_read(const struct hotspot_symbols *symbols, uint64_t bias,
			const struct hotspot_memory *memory, struct hotspot_layout *out,
			char reason[static REASON_MAX])
{
	struct hotspot_symbols at;
	int32_t major;

	memset(out, 0xff, sizeof(*out));
	if (!hotspot_symbols_read(symbols, bias, memory->read, memory->ctx, &at))
		return -EAGAIN;
	/* The library's constructors write them, which a look amid its loading may come before. */
	if (!at.stride || !at.types_stride)
		return -EAGAIN;
	/* The loader maps the whole file first: other bytes stand there until its data is in place. */
	if (at.stride > LAYOUT_STRIDE || at.types_stride > LAYOUT_STRIDE)
		return refuse(reason, -EAGAIN, "its tables have no form that is known");
	layout_fields(memory, &at, out);
	layout_sizes(memory, &at, out);
	/* They are relocated as the library is loaded: nothing of them is right before. */
	if (out->heaps == HOTSPOT_NOWHERE && out->heap == HOTSPOT_NOWHERE)
		return -EAGAIN;
	for (size_t i = 0; i < ARRAY_SIZE(layout_needed); i++) {
		if (*layout_at(out, layout_needed[i].member) == HOTSPOT_NOWHERE)
			return refuse(reason, -ENOTSUP, "its tables do not have %s",
				      layout_needed[i].what);
	}
	/* 8 says nothing before it begins, and 25 then. */
	out->version = out->heaps == HOTSPOT_NOWHERE ? 8 : 0;
	if (!out->version && out->major != HOTSPOT_NOWHERE &&
	    hotspot_read(memory, out->major, &major, sizeof(major)) && major > 0 && major < 1000)
		out->version = (uint32_t)major;
	if (!out->version)
		return refuse(reason, -ENOTSUP, "it does not say its version");
	return 0;
}

/* ---- the row -------------------------------------------------------------------------------- */

static bool row_heap(const struct hotspot_layout *l, const struct hotspot_memory *m, uint64_t heap,
		     struct hotspot_heap *out, int32_t *shift)
{
	return hotspot_read_word(m, heap + l->heap_memory + l->space_low, &out->start) &&
	       hotspot_read_word(m, heap + l->heap_memory + l->space_high, &out->end) &&
	       hotspot_read_word(m, heap + l->heap_segments + l->space_low, &out->segments) &&
	       hotspot_read(m, heap + l->heap_shift, shift, sizeof(*shift)) && out->start &&
	       out->start < out->end && out->end - out->start <= HOTSPOT_HEAP_MAX &&
	       *shift >= HOTSPOT_SHIFT_MIN && *shift <= HOTSPOT_SHIFT_MAX;
}

/* For the programs, which look as long as user space has not. */
static void row_where_heaps(const struct hotspot_layout *l, struct hotspot_row *out)
{
	bool one = l->heaps == HOTSPOT_NOWHERE;

	out->heaps_at = one ? l->heap : l->heaps;
	out->list_length = one ? HOTSPOT_NO_LIST : (uint16_t)l->list_length;
	out->list_data = (uint16_t)l->list_data;
	out->heap_low = (uint16_t)(l->heap_memory + l->space_low);
	out->heap_high = (uint16_t)(l->heap_memory + l->space_high);
	out->heap_segments = (uint16_t)(l->heap_segments + l->space_low);
	out->heap_shift = (uint16_t)l->heap_shift;
}

static void row_forget_heaps(struct hotspot_row *row)
{
	memset(row->heaps, 0, sizeof(row->heaps));
	row->segment_shift = 0;
}

/* -EAGAIN: there is none yet. */
static int row_heaps(const struct hotspot_layout *l, const struct hotspot_memory *m,
		     struct hotspot_row *out, char reason[static REASON_MAX])
{
	uint64_t list, data, heap;
	int32_t length, shift = 0, first = 0;

	if (l->heaps == HOTSPOT_NOWHERE) {
		if (!hotspot_read_word(m, l->heap, &heap) || !heap ||
		    !row_heap(l, m, heap, &out->heaps[0], &first))
			return -EAGAIN;
		out->segment_shift = (uint8_t)first;
		return 0;
	}
	if (!hotspot_read_word(m, l->heaps, &list) || !list ||
	    !hotspot_read(m, list + l->list_length, &length, sizeof(length)) || length <= 0 ||
	    !hotspot_read_word(m, list + l->list_data, &data))
		return -EAGAIN;
	if (length > HOTSPOT_HEAPS)
		return refuse(reason, -ENOTSUP, "it has %d heaps of code", length);
	for (int32_t i = 0; i < length; i++) {
		if (!hotspot_read_word(m, data + 8 * (uint64_t)i, &heap) ||
		    !row_heap(l, m, heap, &out->heaps[i], &shift))
			return -EAGAIN;
		if (i && shift != first)
			return refuse(reason, -ENOTSUP,
				      "its heaps of code have different segments");
		first = shift;
	}
	out->segment_shift = (uint8_t)first;
	return 0;
}

/* Without it the interpreter is known by its name, which takes longer. */
static void row_interpreter(const struct hotspot_layout *l, const struct hotspot_memory *m,
			    struct hotspot_row *out)
{
	uint64_t queue, buffer;
	int32_t limit;

	if (l->interpreter == HOTSPOT_NOWHERE || l->queue_buffer == HOTSPOT_NOWHERE ||
	    l->queue_limit == HOTSPOT_NOWHERE || !hotspot_read_word(m, l->interpreter, &queue) ||
	    !queue || !hotspot_read_word(m, queue + l->queue_buffer, &buffer) ||
	    !hotspot_read(m, queue + l->queue_limit, &limit, sizeof(limit)) || limit <= 0)
		return;
	out->interpreter = buffer;
	out->interpreter_end = buffer + (uint64_t)limit;
}

/* The members lie in what the programs read of a thing. */
static bool row_fits(const struct hotspot_layout *l)
{
	const uint64_t blob[] = {l->blob_name, l->blob_frame_size, l->compile_id};
	const uint64_t const_method[] = {l->const_pool, l->const_whole, l->const_code_size,
					 l->const_name, l->const_signature};

	for (size_t i = 0; i < ARRAY_SIZE(blob); i++) {
		if (blob[i] > HOTSPOT_BLOB_BYTES - 8 || blob[i] % 4)
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(const_method); i++) {
		if (const_method[i] > l->const_size - 2 || const_method[i] % 2)
			return false;
	}
	return l->blob_name % 8 == 0 && l->const_pool % 8 == 0 && l->const_size >= 16 &&
	       l->const_pool <= l->const_size - 8 && l->const_size <= HOTSPOT_CONST_BYTES &&
	       l->block_size <= 64;
}

int hotspot_row_read(const struct hotspot_layout *l, const struct hotspot_memory *memory,
		     struct hotspot_row *out, char reason[static REASON_MAX])
{
	uint64_t last = l->blob_name > l->compile_id ? l->blob_name : l->compile_id;
	int err;

	*out = (struct hotspot_row){0};
	if (!row_fits(l))
		return refuse(reason, -ENOTSUP,
			      "its structures are larger than any that are known");
	if (l->blob_frame_size > last)
		last = l->blob_frame_size;
	out->blob_bytes = (uint16_t)((last & ~7ull) + 8);
	out->blob_name = (uint16_t)l->blob_name;
	out->blob_frame_size = (uint16_t)l->blob_frame_size;
	out->compile_id = (uint16_t)l->compile_id;
	out->method_const = (uint16_t)l->method_const;
	out->const_bytes = (uint16_t)l->const_size;
	out->const_pool = (uint16_t)l->const_pool;
	out->const_code_size = (uint16_t)l->const_code_size;
	out->const_name = (uint16_t)l->const_name;
	out->const_signature = (uint16_t)l->const_signature;
	out->const_whole = (uint16_t)l->const_whole;
	out->pool_holder = (uint16_t)l->pool_holder;
	out->klass_name = (uint16_t)l->class_name;
	out->symbol_length = (uint16_t)l->symbol_length;
	out->symbol_body = (uint16_t)l->symbol_body;
	out->block_header = (uint8_t)l->block_size;
	/* Below the frame pointer: before 9 there was one word less between. */
	out->bcp_word = l->version < 9 ? 1 : 0;
	if (l->heaps != HOTSPOT_NOWHERE &&
	    (l->list_length == HOTSPOT_NOWHERE || l->list_data == HOTSPOT_NOWHERE))
		return refuse(reason, -ENOTSUP, "its tables do not have GrowableArray");
	row_where_heaps(l, out);
	row_interpreter(l, memory, out);
	err = row_heaps(l, memory, out, reason);
	if (err)
		row_forget_heaps(out);
	return err;
}
