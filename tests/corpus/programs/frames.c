/* Frames of every kind without a C library: deep recursion, variable-length arrays, alloca, realigned stacks, large
   frames, callbacks, and signal handlers on the same stack and (with an argument) on an alternate one.

   gcc -O2 -g0 -static -nostdlib -fno-stack-protector -fomit-frame-pointer -fno-optimize-sibling-calls frames.c */

typedef unsigned long u64;

static long call(long number, long a, long b, long c, long d) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/* What a C library gives the kernel as sa_restorer; written so that nothing describes its frame. */
__asm__(".text\n.balign 16\nnop\nrestorer:\n mov $15, %rax\n syscall\n");
extern void restorer(void);

static volatile u64 sink;

__attribute__((noinline)) u64 spin(int rounds) {
    u64 sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += i * 7 ^ sum;
    sink += sum;
    return sum;
}

__attribute__((noinline)) u64 recurse(int depth) {
    if (depth == 0)
        return spin(20000);
    u64 result = recurse(depth - 1) + 1;
    if (depth % 5 == 0)
        result += spin(3000);
    return result ^ sink;
}

__attribute__((noinline)) u64 touch(volatile unsigned char *bytes, int count) {
    u64 sum = 0;
    for (int round = 0; round < 30; round++)
        for (int i = 0; i < count; i++)
            sum += bytes[i] += round;
    return sum;
}

__attribute__((noinline)) u64 with_alloca(int count) {
    unsigned char *bytes = __builtin_alloca(count);
    u64 result = touch(bytes, count);
    return result + bytes[0];
}

__attribute__((noinline)) u64 with_array(int count) {
    unsigned char bytes[count];
    u64 result = touch(bytes, count);
    return result + (count > 64 ? with_alloca(count / 2) : 0) + bytes[count - 1];
}

__attribute__((noinline)) u64 realigned(int count) {
    unsigned char bytes[128] __attribute__((aligned(64)));
    u64 result = touch(bytes, 128) + with_array(count);
    return result + bytes[3];
}

__attribute__((noinline)) u64 large_frame(int count) {
    volatile unsigned char bytes[600];
    u64 result = touch(bytes, 100) + realigned(count);
    return result + bytes[count % 600];
}

__attribute__((noinline)) u64 by_pointer(u64 (*function)(int), int argument) {
    return function(argument) + 1;
}

__attribute__((noinline)) void handler(int number) {
    spin(60000 + number);
    sink++;
}

struct action {
    void (*handler)(int);
    u64 flags;
    void (*restorer)(void);
    u64 mask;
};

static unsigned char other_stack[16384];

__attribute__((noinline)) void run(int alternate) {
    struct { void *start; int flags; u64 size; } stack = {other_stack, 0, sizeof other_stack};
    struct action action = {handler, 0x04000000 | (alternate ? 0x08000000 : 0), restorer, 0};
    long timer[4] = {0, 4000, 0, 4000}, now[2], start;
    if (alternate)
        call(131, (long)&stack, 0, 0, 0);
    call(13, 14, (long)&action, 0, 8);
    call(38, 0, (long)timer, 0, 0);
    call(228, 1, (long)now, 0, 0);
    start = now[0] * 1000 + now[1] / 1000000;
    for (int round = 0; now[0] * 1000 + now[1] / 1000000 < start + 600; round++) {
        recurse(round * 7 % 24);
        by_pointer(large_frame, 40 + round * 13 % 200);
        call(228, 1, (long)now, 0, 0);
    }
}

__attribute__((noinline, used)) void begin(long *stack) {
    run(stack[0] > 1);
    call(231, 0, 0, 0, 0);
}

__asm__(".text\n.globl _start\n_start:\n.cfi_startproc\n.cfi_undefined rip\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n"
        " call begin\n hlt\n.cfi_endproc\n");
