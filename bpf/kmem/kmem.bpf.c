// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Books of what the kernel has allocated and not freed, by raw tracepoints: arguments are plain
 * numbers there. One table has the live blocks by address. Sums are made of it in user space, so a
 * free is one deletion. Everything is preallocated: no program allocates.
 *
 * An object of its own: a trace of processes loads nothing of it.
 */
#include "bpf/kmem/kmem_abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define GFP_MOVABLE 8u /* __GFP_MOVABLE, unchanged since 2.6: pages of processes and files */
#define EEXIST	    17
#define ENOENT	    2
#define EBUSY	    16

const volatile struct kmem_program_config config = {};

uint64_t sample_bytes; /* 0: every allocation is recorded */
uint32_t own_tgid;     /* of the tool, whose own doing is left out */

/* How many live blocks have an address with this hash: most frees find 0, and are done. */
uint32_t filter[KMEM_FILTER];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, uint64_t);
	__type(value, struct kmem_live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KMEM_STACKS);
	__type(key, uint64_t);
	__type(value, struct kmem_stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KMEM_CACHES);
	__type(key, uint64_t);
	__type(value, struct kmem_cache_name);
} caches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KMEM_TARGETS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KMEM_COUNTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

/* A program that interrupts another one is of another kind, or finds the place taken. */
struct kmem_scratch {
	struct kmem_stack stack;
	uint32_t taken, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KMEM_KINDS);
	__type(key, uint32_t);
	__type(value, struct kmem_scratch);
} scratch SEC(".maps");

static __always_inline void count(uint32_t which)
{
	uint64_t *n = bpf_map_lookup_elem(&counts, &which);

	if (n)
		*n += 1;
}

/*
 * An argument of the event. The verifier wants a constant offset, so the compiler must not make one
 * load of several.
 */
#define ARGUMENT(ctx, n)                                                                  \
	({                                                                                \
		uint64_t value_;                                                          \
		asm volatile("%0 = *(u64 *)(%1 + 8 * " #n ")" : "=r"(value_) : "r"(ctx)); \
		value_;                                                                   \
	})

static __always_inline uint32_t hash_of(uint64_t at)
{
	return (uint32_t)((at >> 3) * 0x9e3779b97f4a7c15ull >> 48) & (KMEM_FILTER - 1);
}

/*
 * The key of a block: the address, turned round, so that nobody who scans the memory finds pointers
 * to blocks here. Per-CPU memory and areas have addresses of their own.
 */
static __always_inline uint64_t key_of(uint64_t at, uint32_t kind)
{
	return ~at ^ (uint64_t)(kind == KMEM_KMALLOC ? KMEM_CACHE : kind) << 56;
}

/* A sample is taken with probability bytes / sample_bytes, and stands for sample_bytes. */
static __always_inline uint64_t weight_of(uint64_t bytes)
{
	uint64_t rate = *(volatile uint64_t *)&sample_bytes;

	if (!rate || bytes >= rate)
		return bytes;
	return (uint64_t)bpf_get_prandom_u32() * rate < bytes << 32 ? rate : 0;
}

/* Was the block live? */
static __always_inline bool forget(uint64_t at, uint32_t kind, uint32_t order)
{
	uint32_t hash = hash_of(at);
	uint64_t key = key_of(at, kind);
	struct kmem_live *block;
	long err;

	if (!*(volatile uint32_t *)&filter[hash])
		return false;
	block = bpf_map_lookup_elem(&live, &key);
	if (!block)
		return false;
	if (order < block->order)
		count(KMEM_SPLIT);
	err = bpf_map_delete_elem(&live, &key);
	if (err) {
		/* Another processor was faster. */
		if (err != -ENOENT)
			count(KMEM_LOST_BUSY);
		return false;
	}
	__sync_fetch_and_add(&filter[hash], -1);
	return true;
}

static __always_inline uint64_t cgroup_of(struct task_struct *task)
{
	struct cgroup_subsys_state *css = NULL;
	struct css_set *set;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	set = BPF_CORE_READ(task, cgroups);
	bpf_probe_read_kernel(
		&css, sizeof(css),
		(char *)set + bpf_core_field_offset(struct css_set, subsys) +
			sizeof(css) * bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	return css ? BPF_CORE_READ(css, cgroup, kn, id) : 0;
}

static __always_inline uint64_t stack_of(void *ctx, uint32_t kind)
{
	struct kmem_scratch *s = bpf_map_lookup_elem(&scratch, &kind);
	uint64_t hash = 0xcbf29ce484222325ull;
	long len, err;

	if (!s)
		return 0;
	if (s->taken) {
		count(KMEM_LOST_BUSY);
		return 0;
	}
	s->taken = 1;
	len = bpf_get_stack(ctx, s->stack.frames, sizeof(s->stack.frames), 0);
	/* Where this program was called differs while the kernel counts run time. */
	for (int i = KMEM_OWN_FRAMES; i < KMEM_FRAMES && (i + 1) * 8 <= len; i++)
		hash = (hash ^ s->stack.frames[i]) * 0x9e3779b97f4a7c15ull ^ hash >> 29;
	hash = hash ?: 1;
	if (len <= 0) {
		hash = 0;
	} else if (!bpf_map_lookup_elem(&stacks, &hash)) {
		err = bpf_map_update_elem(&stacks, &hash, &s->stack, BPF_NOEXIST);
		if (err && err != -EEXIST)
			hash = 0;
	}
	s->taken = 0;
	if (!hash)
		count(KMEM_LOST_STACKS_FULL);
	return hash;
}

static __always_inline void meet_cache(uint64_t at)
{
	struct kmem_cache *cache = (void *)at;
	struct kmem_cache_name name = {};

	if (bpf_map_lookup_elem(&caches, &at))
		return;
	name.object_bytes = BPF_CORE_READ(cache, size);
	bpf_probe_read_kernel_str(name.name, sizeof(name.name), BPF_CORE_READ(cache, name));
	bpf_map_update_elem(&caches, &at, &name, BPF_NOEXIST);
}

static __always_inline bool is_wanted(uint32_t tgid)
{
	return tgid != *(volatile uint32_t *)&own_tgid &&
	       (!config.targets || bpf_map_lookup_elem(&targets, &tgid));
}

static __always_inline void remember(void *ctx, uint64_t at, struct kmem_live *block)
{
	uint64_t key = key_of(at, block->kind);
	uint32_t hash = hash_of(at);
	long err;

	block->time_ns = bpf_ktime_get_ns();
	block->cgroup = cgroup_of((struct task_struct *)bpf_get_current_task());
	bpf_get_current_comm(block->comm, sizeof(block->comm));
	block->stack = stack_of(ctx, block->kind);
	if (block->cache)
		meet_cache(block->cache);
	/* Raised first: a free that comes at once must not pass it by. */
	__sync_fetch_and_add(&filter[hash], 1);
	err = bpf_map_update_elem(&live, &key, block, BPF_NOEXIST);
	if (!err) {
		count(KMEM_SAMPLED);
		return;
	}
	__sync_fetch_and_add(&filter[hash], -1);
	count(err == -EBUSY ? KMEM_LOST_BUSY : KMEM_LOST_LIVE_FULL);
}

static __always_inline void allocated(void *ctx, uint64_t at, uint64_t bytes, uint64_t cache,
				      uint32_t order, uint32_t kind)
{
	struct kmem_live block = {.cache = cache, .bytes = bytes, .kind = kind, .order = order};

	if (!at)
		return;
	/* Whoever allocates it now, it was freed, and no event has told so. */
	if (forget(at, kind, order))
		count(KMEM_FREES_UNSEEN);
	block.tgid = bpf_get_current_pid_tgid() >> 32;
	if (!is_wanted(block.tgid))
		return;
	block.weight = weight_of(bytes);
	if (block.weight)
		remember(ctx, at, &block);
}

/* ---- objects ------------------------------------------------------------------------------ */

/* Before 6.1 of kmalloc_node as well. */
SEC("?raw_tp/kmalloc")
int kmem_kmalloc(uint64_t *ctx)
{
	uint64_t bytes;

	if (config.places.kmalloc_bytes == 4)
		bytes = ARGUMENT(ctx, 4);
	else
		bytes = ARGUMENT(ctx, 3);
	allocated(ctx, ctx[1], bytes, 0, 0, KMEM_KMALLOC);
	return 0;
}

/* Before 6.1 of kmem_cache_alloc_node as well. */
SEC("?raw_tp/kmem_cache_alloc")
int kmem_cache_allocated(uint64_t *ctx)
{
	uint64_t bytes = 0, cache = 0;

	if (config.places.cache) {
		cache = ARGUMENT(ctx, 2);
		bytes = BPF_CORE_READ((struct kmem_cache *)cache, size);
	} else if (config.places.cache_bytes == 4) {
		bytes = ARGUMENT(ctx, 4);
	} else {
		bytes = ARGUMENT(ctx, 3);
	}
	allocated(ctx, ctx[1], bytes, cache, 0, KMEM_CACHE);
	return 0;
}

SEC("?raw_tp/kfree")
int kmem_kfree(uint64_t *ctx)
{
	forget(ctx[1], KMEM_KMALLOC, 0);
	return 0;
}

SEC("?raw_tp/kmem_cache_free")
int kmem_cache_freed(uint64_t *ctx)
{
	forget(ctx[1], KMEM_CACHE, 0);
	return 0;
}

/* ---- pages -------------------------------------------------------------------------------- */

SEC("?raw_tp/mm_page_alloc")
int kmem_page_alloc(uint64_t *ctx)
{
	uint32_t order = ctx[1];

	if (!(ctx[2] & GFP_MOVABLE))
		allocated(ctx, ctx[0], (uint64_t)config.page_bytes << (order & 31), 0, order,
			  KMEM_PAGES);
	return 0;
}

SEC("?raw_tp/mm_page_free")
int kmem_page_free(uint64_t *ctx)
{
	forget(ctx[0], KMEM_PAGES, ctx[1]);
	return 0;
}

/* ---- per-CPU memory ----------------------------------------------------------------------- */

SEC("?raw_tp/percpu_alloc_percpu")
int kmem_percpu_alloc(uint64_t *ctx)
{
	uint64_t bytes, at;

	if (config.places.percpu_bytes == 3) {
		bytes = ARGUMENT(ctx, 3);
		at = ARGUMENT(ctx, 7);
	} else {
		bytes = ARGUMENT(ctx, 2);
		at = ARGUMENT(ctx, 6);
	}
	allocated(ctx, at, bytes * config.cpus, 0, 0, KMEM_PERCPU);
	return 0;
}

SEC("?raw_tp/percpu_free_percpu")
int kmem_percpu_free(uint64_t *ctx)
{
	forget(ctx[2], KMEM_PERCPU, 0);
	return 0;
}

/* ---- areas of addresses ------------------------------------------------------------------- */

SEC("?raw_tp/alloc_vmap_area")
int kmem_area_alloc(uint64_t *ctx)
{
	if (!(uint32_t)ctx[5])
		allocated(ctx, ctx[0], ctx[1], 0, 0, KMEM_VMALLOC);
	return 0;
}

SEC("?raw_tp/free_vmap_area_noflush")
int kmem_area_free(uint64_t *ctx)
{
	forget(ctx[0], KMEM_VMALLOC, 0);
	return 0;
}

/* ---- who we are --------------------------------------------------------------------------- */

/* Run by the tool itself, never attached: its number in the initial pid namespace. */
SEC("?raw_tp/sys_enter")
int kmem_who(void *ctx)
{
	(void)ctx;
	own_tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
