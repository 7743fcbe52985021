// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A program without any allocator: static, stripped, no C library, so that it can be built for 32
 * bits wherever the compiler can. It reads standard input until that ends; or, with arguments, a
 * byte of it, and executes these then.
 */
static long sys(long number, long a, long b, long c)
{
	long result;
#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
#elif defined(__i386__)
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b, x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	result = x0;
#endif
	return result;
}

#if defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_EXIT = 60, SYS_EXECVE = 59 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
#elif defined(__i386__)
enum { SYS_READ = 3, SYS_WRITE = 4, SYS_EXIT = 1, SYS_EXECVE = 11 };
__asm__(".globl _start\n_start: mov %esp, %eax\n\tand $-16, %esp\n\tsub $12, %esp\n\tpush "
	"%eax\n\tcall begin\n");
#elif defined(__aarch64__)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_EXIT = 93, SYS_EXECVE = 221 };
__asm__(".globl _start\n_start: mov x0, sp\n\tbl begin\n");
#endif

void begin(long *stack);

/* What the kernel has put there: how many arguments, and these. */
void begin(long *stack)
{
	char **argv = (char **)(stack + 1);
	char c;

	sys(SYS_WRITE, 1, (long)"ready\n", 6);
	while (sys(SYS_READ, 0, (long)&c, 1) == 1) {
		if (stack[0] > 1)
			sys(SYS_EXECVE, (long)argv[1], (long)(argv + 1),
			    (long)(argv + stack[0] + 1));
	}
	sys(SYS_EXIT, 0, 0, 0);
	__builtin_unreachable();
}
