#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What holds a block: variables by their names, from symbol tables and separate debug files; without symbols by the address that nm had shown.
# bats file_tags=beside

load lib.bash

# A program and a library of which each block is held by one variable, known by the function that allocates it.
build_holders() {
	cat >"$D/held.c" <<-'EOF'
		#include <stdlib.h>
		static void *volatile shelf[8];
		void *volatile rack[4];
		void in_shelf(void) { shelf[2] = malloc(1000); }
		void in_rack(void) { rack[0] = malloc(1000); }
	EOF
	cat >"$D/holders.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static struct { long fill[2]; void *volatile entry; } cache;
		static void *volatile table[16] = {(void *)1};
		void in_shelf(void), in_rack(void);
		static void in_cache(void) { cache.entry = malloc(1000); }
		static void in_table(void) { table[3] = malloc(1000); }
		static void in_local(void) { static void *volatile kept[2]; kept[1] = malloc(1000); }
		int main(void)
		{
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			in_cache(), in_table(), in_local(), in_shelf(), in_rack();
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF
	gcc -g -O1 -fno-inline -shared -fPIC "$D/held.c" -o "$D/libheld.so"
	gcc -g -O1 -fno-inline "$D/holders.c" -o "$D/holders" -L"$D" -lheld -Wl,-rpath,"$D"
}

# holders_are PROGRAM EXPECTED [OPTION…]: "function holder" of each block, a line each, sorted; a function without a name by its module. MAIN stands
# for the first thread's number, N for another's.
holders_are() {
	local held

	start_target "$D/$1"
	attach --verdict --max-pause 1m "${@:3}"
	tell go
	snap
	held=$(jq -r '.stacks[] | select(.live.bytes == 1000) | "\(.frames[1].function // .frames[1].module) \(.held_by[0])"' <<<"$SNAP" |
		sed -E "s/thread $T_PID\\b/thread MAIN/; s/thread [0-9]+/thread N/; s/0x[0-9a-f]+ above/BYTES above/" | sort)
	[[ $held == "$2" ]] || fail "held by
$held
expected
$2"
	echo >&"$T_IN"
	tool_ends
	clean
}

NAMED='in_cache cache+0x10 (holders)
in_local kept+0x8 (holders)
in_rack rack (libheld.so)
in_shelf shelf+0x10 (libheld.so)
in_table table+0x18 (holders)'

@test "holders that are variables, static ones too, have their names" {
	build_holders
	holders_are holders "$NAMED"
}

@test "holders have names from separate debug files" {
	local file

	build_holders
	for file in holders libheld.so; do
		objcopy --only-keep-debug "$D/$file" "$D/$file.debug"
		strip --strip-all "$D/$file"
		objcopy --add-gnu-debuglink="$D/$file.debug" "$D/$file"
	done
	holders_are holders "$NAMED"
}

@test "no symbols: the object and the address in it" {
	local cache kept table

	build_holders
	address() {
		nm "$D/holders" | awk -v name="$1" '$3 == name || index($3, name ".") == 1 { print $1; exit }'
	}
	cache=$(printf '0x%x' $((0x$(address cache) + 16)))
	kept=$(printf '0x%x' $((0x$(address kept) + 8)))
	table=$(printf '0x%x' $((0x$(address table) + 24)))
	strip --strip-all "$D/holders"
	holders_are holders "$(sort <<<"holders data of holders+$cache
holders data of holders+$kept
holders data of holders+$table
in_rack rack (libheld.so)
in_shelf shelf+0x10 (libheld.so)")"
}

# Two threads with an array each, one of them below a thousand calls; nothing else has the pointers.
build_frames() {
	cat >"$D/frames.c" <<-'EOF2'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		#define NOINLINE __attribute__((noinline, noclone))
		/* Callers that are still there when malloc runs. */
		#define GET(name) NOINLINE void *name(void) { void *volatile block = malloc(1000); return block; }
		GET(in_main) GET(in_worker)
		NOINLINE void scrub(void)
		{
			volatile char stack[65536];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 0;
		}
		static NOINLINE int deep(int n, char *line)
		{
			volatile char pad[40];

			for (size_t i = 0; i < sizeof(pad); i++)
				pad[i] = 1;
			if (n)
				return deep(n - 1, line) + pad[n % 40];
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, 64, stdin);
		}
		static void *worker(void *up)
		{
			void *volatile kept[3] = {0};

			kept[1] = in_worker();
			scrub();
			pthread_barrier_wait(up);
			pause(); /* the worker's */
			return kept[1];
		}
		int main(void)
		{
			void *volatile kept[5] = {0};
			pthread_barrier_t up;
			pthread_t thread;
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			kept[2] = in_main();
			pthread_barrier_init(&up, NULL, 2);
			pthread_create(&thread, NULL, worker, &up);
			pthread_barrier_wait(&up);
			scrub();
			return deep(1000, line) > 1 && kept[2]; /* the main thread's */
		}
	EOF2
	gcc -g -O2 -pthread "$@" "$D/frames.c" -o "$D/frames"
}

@test "a thread's stack: the function whose frame it is" {
	build_frames
	line() {
		grep -n "$1" "$D/frames.c" | cut -d: -f1
	}
	holders_are frames "in_main main at frames.c:$(line "the main thread's") (frames), on the stack of thread MAIN
in_worker worker at frames.c:$(line "the worker's") (frames), on the stack of thread N"
}

@test "a stack that cannot be walked: the holder is a distance above the stack pointer" {
	build_frames -fno-omit-frame-pointer
	holders_are frames 'in_main the stack of thread MAIN, BYTES above its stack pointer
in_worker the stack of thread N, BYTES above its stack pointer' --stack fp
}

# Variables of which each thread has its own: of the program, of a library by both ways to find them, and of one that is opened late.
build_tls() {
	cat >"$D/tls_library.c" <<-'EOF2'
		#include <stdlib.h>
		static __thread long fill[3];
		static __thread void *volatile hidden[4];
		__attribute__((tls_model("initial-exec"))) __thread void *volatile early;
		void in_hidden(void) { hidden[fill[0] + 2] = malloc(1000); }
		void in_early(void) { early = malloc(1000); }
	EOF2
	cat >"$D/frames.c" <<-'EOF2'
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __thread struct { long fill[2]; void *volatile entry; } own;
		__thread void *volatile large[1000];
		void in_hidden(void), in_early(void);
		static void __attribute__((noinline)) in_own(void) { own.entry = malloc(1000); }
		static void __attribute__((noinline)) in_large(void) { large[999] = malloc(1000); }
		static pthread_barrier_t up;
		/* What the calls have left behind on the stack. */
		static void __attribute__((noinline)) scrub(void)
		{
			volatile char stack[65536];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 0;
		}
		static void *worker(void *unused)
		{
			in_large(), in_hidden();
			scrub();
			pthread_barrier_wait(&up);
			pause();
			return unused;
		}
		int main(void)
		{
			void *late = dlopen("liblate.so", RTLD_NOW);
			void (*in_opened)(void) = dlsym(late, "in_opened");
			pthread_t thread;
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			in_own(), in_early(), in_opened();
			scrub();
			pthread_barrier_init(&up, NULL, 2);
			pthread_create(&thread, NULL, worker, NULL);
			pthread_barrier_wait(&up);
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF2
	cat >"$D/late.c" <<-'EOF2'
		#include <stdlib.h>
		static __thread void *volatile opened[6];
		void in_opened(void) { opened[3] = malloc(1000); }
	EOF2
	gcc -g -O1 -shared -fPIC "$D/tls_library.c" -o "$D/libtls.so"
	gcc -g -O1 -shared -fPIC "$D/late.c" -o "$D/liblate.so"
	gcc -g -O1 -pthread "$D/frames.c" -o "$D/frames" -L"$D" -ltls -Wl,-rpath,"$D"
}

@test "holders that are thread-local variables have their names" {
	build_tls
	holders_are frames 'in_early early (libtls.so), thread-local data of thread MAIN
in_hidden hidden+0x10 (libtls.so), thread-local data of thread N
in_large large+0x1f38 (frames), thread-local data of thread N
in_opened opened+0x18 (liblate.so), thread-local data of thread MAIN
in_own own+0x10 (frames), thread-local data of thread MAIN'
}

@test "thread-local variables without symbols: whose they are" {
	build_tls
	strip --strip-all "$D/frames" "$D/libtls.so" "$D/liblate.so"
	holders_are frames 'frames thread-local data of thread MAIN (frames)
frames thread-local data of thread N (frames)
in_early early (libtls.so), thread-local data of thread MAIN
in_hidden thread-local data of thread N (libtls.so)
in_opened thread-local data of thread MAIN (liblate.so)'
}

# The newest block of "work" is in the hands of main() only, and copies of others are on its stack: what holds them all is the table.
build_owner() {
	cat >"$D/owner.c" <<-'EOF2'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		struct box { void *volatile inside; char fill[92]; };
		static void *volatile table[64];
		static struct box *volatile top;
		static void __attribute__((noinline)) in_box(void) { ((struct box *)top->inside)->inside = malloc(1000); }
		static void *__attribute__((noinline)) work(void) { void *volatile block = malloc(1000); return block; }
		int main(void)
		{
			void *volatile copies[64], *volatile in_flight = NULL;
			char line[64];

			top = calloc(1, sizeof(*top));
			top->inside = calloc(1, sizeof(*top));
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			in_box();
			for (int i = 0; i <= 64; i++) {
				in_flight = work();
				if (i < 64)
					copies[i] = table[i] = in_flight;
				/* Blocks have an age, in ticks of the kernel. */
				usleep(10000);
			}
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin) && copies[0] && in_flight;
		}
	EOF2
	gcc -g -O1 -fno-inline "$D/owner.c" -o "$D/owner"
}

@test "the holder is the owner, not the newest block's maker or a copy; also through blocks from before the attach" {
	local held

	build_owner
	start_target "$D/owner"
	attach --verdict --max-pause 1m
	tell go
	snap
	held=$(jq -c '.stacks[] | select(.frames[1].function == "work") | .held_by' <<<"$SNAP")
	[[ $held =~ ^\[\"table(\+0x[0-9a-f]+)?\ \(owner\)\"\]$ ]] || fail "work: $held"
	held=$(jq -c '.stacks[] | select(.frames[1].function == "in_box") | .held_by' <<<"$SNAP")
	[[ $held == '["top (owner)","a block of 104 B from before the attach","a block of 104 B from before the attach"]' ]] || fail "in_box: $held"
	echo >&"$T_IN"
	tool_ends
}

# A thread on a stack that the program allocated: the only pointers to that block, and to the one of 1,000 bytes, are on the stack itself.
build_own_stack() {
	cat >"$D/stacked.c" <<-'EOF2'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		#define STACK_BYTES (256 * 1024)
		static pthread_barrier_t up;
		static void *__attribute__((noinline)) on_stack(void) { void *volatile block = malloc(1000); return block; }
		static void *worker(void *stack)
		{
			void *volatile kept[2] = {stack};

			kept[1] = on_stack();
			pthread_barrier_wait(&up);
			pause();
			return kept[1];
		}
		static void __attribute__((noinline)) begin(void)
		{
			void *stack = aligned_alloc(4096, STACK_BYTES);
			pthread_attr_t attributes;
			pthread_t thread;

			pthread_attr_init(&attributes);
			pthread_attr_setstack(&attributes, stack, STACK_BYTES);
			pthread_create(&thread, &attributes, worker, stack);
			/* What has its address here goes. */
			memset(&attributes, 0, sizeof(attributes));
			memset(&thread, 0, sizeof(thread));
			__asm__ volatile("" : : "r"(&attributes), "r"(&thread) : "memory");
		}
		static void __attribute__((noinline)) scrub(void)
		{
			volatile char stack[65536];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 0;
		}
		int main(void)
		{
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			pthread_barrier_init(&up, NULL, 2);
			begin();
			pthread_barrier_wait(&up);
			scrub();
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF2
	gcc -g -O2 -pthread "$D/stacked.c" -o "$D/stacked"
}

@test "a block with a thread's stack is held by that thread's stack, in verdicts and inspections" {
	local held seconds TIMEFORMAT=%U

	build_own_stack
	start_target "$D/stacked"
	attach --verdict --max-pause 1m
	tell go
	snap
	held=$(jq -c '[.stacks[] | select(.live.bytes == 262144 or .live.bytes == 1000) | .held_by[1:], (.held_by[0] | test(", on the stack of thread [0-9]+$|^the stack of thread "))]' <<<"$SNAP")
	[[ $held == '[[],true,[],true]' ]] || fail "held by $held of $(jq -c '[.stacks[].held_by]' <<<"$SNAP")"
	stop_tool
	seconds=$({ time "$TOOL" inspect -p "$T_PID" -f json --max-pause 1m >"$D/inspection"; } 2>&1)
	# Processor time: a third of a second. A way that runs in a circle takes seven.
	[[ ${SANITIZE-} == 1 || -n ${VM_GUEST-} ]] || awk -v s="$seconds" 'BEGIN { exit !(s != "" && s + 0 < 3) }' || fail "an inspection took $seconds s"
	held=$(jq -c '[.groups[] | select(.held_by and .verdict.reachable.bytes >= 262144) | .held_by | length]' "$D/inspection")
	[[ $held == '[1]' ]] || fail "an inspection: $(jq -c .groups "$D/inspection")"
	echo >&"$T_IN"
}

# Memory that was mapped right behind the program's variables, in the same line of /proc/PID/maps, and a block that is held there.
build_behind() {
	cat >"$D/behind.c" <<-'EOF2'
		#define _GNU_SOURCE
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		#define BYTES (256 * 1024)
		extern char end[];
		static char variables[40000];
		static void *volatile in_variables;
		static void __attribute__((noinline)) in_memory(void **at) { *at = malloc(1000); }
		static void __attribute__((noinline)) in_variable(void) { in_variables = malloc(1000); }
		int main(int argc, char **argv)
		{
			char *place = (char *)(((uintptr_t)end + 4095) & ~4095ul), line[64];

			/* The heap may lie there: another time it does not. */
			if (mmap(place, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place)
				return execv("/proc/self/exe", argv);
			memset(variables, argc, sizeof(variables));
			memset(place, 0, BYTES);
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			in_memory((void **)(place + 0x8010));
			in_variable();
			printf("{\"phase\":\"%lx\",\n", (unsigned long)place + 0x8010);
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF2
	gcc -g -O1 "$D/behind.c" -o "$D/behind"
}

@test "memory that lies right behind a program's variables is none of them" {
	local held place parts

	build_behind
	start_target "$D/behind"
	attach --verdict --max-pause 1m
	echo >&"$T_IN"
	target_line '{"phase":"'
	place=$(grep -o '[0-9a-f]*",' <<<"$LINE")
	snap
	held=$(jq -r '.stacks[] | select(.live.bytes == 1000) | "\(.frames[1].function) \(.held_by[0])"' <<<"$SNAP" | sort)
	[[ $held == "in_memory memory at 0x${place%\",}
in_variable in_variables (behind)" ]] || fail "held by
$held"
	stop_tool
	"$TOOL" inspect -p "$T_PID" -f json --max-pause 1m >"$D/inspection"
	parts=$(jq -c '[.mappings[] | select(.resident_bytes >= 262144)] | length' "$D/inspection")
	[[ $parts == 1 ]] || fail "mappings: $(jq -c .mappings "$D/inspection")"
	jq -e ".memory.other_anonymous_bytes >= 262144" "$D/inspection" >/dev/null || fail "$(jq -c 'del(.groups)' "$D/inspection")"
	echo >&"$T_IN"
}
