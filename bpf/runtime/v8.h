/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The JavaScript functions that a walk comes through: the interface of bpf/runtime/v8.bpf.c to the unwinder and the probe programs. Every
 * word comes from the target: an object is known by its type, and strings are cut.
 */
#ifndef MEMLEAKBPF_BPF_V8_H
#define MEMLEAKBPF_BPF_V8_H

#include "bpf/runtime/v8_abi.h"
#include "bpf/runtime/runtime_maps.h"

#define V8_SCOPE_HEAD 6 /* words of a ScopeInfo: its map and what is in front of the variables */
#define V8_SCOPE_TAIL 6 /* and behind them */

/* So many words of an object are read at once: all that is looked at is in them. */
#define V8_CODE_WORDS 8
#define V8_HEAD_WORDS 9

#define V8_FUNCTION_WORDS 5
#define V8_FUNCTION_MAPS  8

/* What is known of a function in a frame. */
struct v8_found {
	uint64_t shared, name, script; /* objects */
	uint64_t data;		       /* its bytecodes, or Code */
	uint64_t bytecodes;	       /* 0: it has none that are known */
	uint64_t code;		       /* 0: no baseline code */
	uint64_t code_words[2];
	uint64_t script_words[3]; /* from script_source on */
	uint64_t scope_name, scope_inferred;
	uint64_t hash;
	int32_t start, end;
	uint32_t source_length;
	uint8_t has_script, has_scope;
	uint8_t pad[2];
};

/* A Code. */
struct v8_code {
	uint64_t object, start, id;
	uint32_t kind, size;
};

/* A function as it was when it was found out what it is (bpf/runtime/v8_known.bpf.c). */
struct v8_known {
	uint64_t object; /* SharedFunctionInfo */
	uint64_t words[V8_SHARED_WORDS];
	uint64_t hash, bytecodes, code; /* as struct v8_found has them */
	uint32_t script;		/* its number there */
	uint32_t epoch;
};

struct v8_known_script {
	uint64_t object;
	uint64_t words[V8_SCRIPT_WORDS];
	uint32_t number;
	uint32_t walk; /* in which these have been seen last */
};

/* A return address, and the optimised code that it was in; 0: in none. */
struct v8_known_place {
	uint64_t pc, code;
	uint32_t epoch, pad;
};

#define V8_KNOWN_BITS	7
#define V8_SCRIPTS_BITS 6
#define V8_PLACES_BITS	7

/* What is remembered of a thread, and its scratch; see struct python_thread. */
struct v8_thread {
	struct v8_row row;  /* of v8_rows, as it was at row_epoch */
	uint32_t row_epoch; /* of struct shared; 0: unknown */
	uint32_t target_id; /* whose it is */
	uint32_t noted;	    /* frames of this walk that may be JavaScript's */
	uint32_t count;	    /* that are */
	uint32_t failure;   /* enum v8_failure, the first of this walk */
	uint32_t pad;
	uint64_t hash; /* over them */
	uint64_t failed_at;
	uint64_t maps[V8_KINDS];		  /* of each kind the last one that was seen */
	uint64_t function_maps[V8_FUNCTION_MAPS]; /* likewise: they have many */
	uint32_t epoch;				  /* of what is remembered; 0: nothing is */
	uint32_t walk, script_numbers;		  /* so many there have been */
	uint32_t shared_script; /* of shared_words; 0: these cannot be remembered */
	struct v8_known known[1 << V8_KNOWN_BITS];
	struct v8_known_script scripts[1 << V8_SCRIPTS_BITS];
	struct v8_known_place places[1 << V8_PLACES_BITS];
	uint64_t pcs[RUNTIME_MAX_CALLS], fps[RUNTIME_MAX_CALLS];
	uint64_t codes[RUNTIME_MAX_CALLS];   /* of the chain's calls: optimised code; 0: other */
	uint8_t baseline[RUNTIME_MAX_CALLS]; /* in baseline code */
	uint64_t frame[V8_FRAME_WORDS];
	uint64_t words[V8_HEAD_WORDS]; /* how a function, or an array, begins */
	uint64_t shared_words[V8_SHARED_WORDS], script_words[V8_SCRIPT_WORDS];
	uint64_t code_words[V8_CODE_WORDS]; /* of `code` */
	uint64_t head[V8_SCOPE_HEAD], tail[V8_SCOPE_TAIL + 1], text[4];
	struct {
		uint64_t data;
		uint32_t length, width;
	} flat; /* a string's characters */
	struct v8_found found;
	struct v8_code
		code; /* the last one that was read; in v8_find_shared() the function's baseline code */
	struct runtime_chain_event chain;
	uint32_t inlined_count;
	uint32_t own_cookie;		 /* of the function that has them inlined */
	uint32_t literals, literals_pad; /* of the code */
	struct v8_inlined inlined[V8_INLINED_MAX];
	/* One after the other. */
	union {
		struct v8_function_event function;
		struct v8_code_event optimised;
	};
};

RUNTIME_MAPS(v8)

/* Before a walk, in which hotspot_look()'s like takes down each frame that may be JavaScript's. */
static __always_inline void v8_begin(struct v8_thread *v8)
{
	v8->noted = 0;
	v8->count = 0;
	v8->failure = 0;
	v8->walk++;
	v8->hash = 0;
	v8->chain.hash = 0;
}

/* All that was remembered was of another target. */
static __always_inline void v8_forget(struct v8_thread *v8)
{
	__builtin_memset(v8->maps, 0, sizeof(v8->maps));
	__builtin_memset(v8->function_maps, 0, sizeof(v8->function_maps));
	v8->epoch++;
}

/*
 * After it, where `flags` has TARGET_V8, else nothing: found->v8 over the functions that it has come through; 0: through none. What
 * failed is counted, and told once. 0. With config.task_storage. The programs call it and v8_tell() by themselves: a function between
 * them would take stack from what kernels before 6.8 allow for all.
 */
int v8_end(struct runtime_hashes *found, uint32_t flags);

/* Where found->of[RUNTIME_V8] is not 0: sends the chain, and those functions of it that have not been sent yet. 0, or not all could be sent. */
int v8_tell(struct runtime_hashes *found);

RUNTIME_FORKS(v8, LOST_V8)

#endif
