/* One thread that calls and computes, without a C library: what beginners record.
 *
 * gcc -O1 -nostdlib -static -fno-optimize-sibling-calls, and: right -fno-omit-frame-pointer, no_pointers
 * -fomit-frame-pointer, stripped as right with -s. */
#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

NOINLINE static void spin(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; i++) sink = sink * 5 + i;
}

NOINLINE static void step(unsigned long rounds) {
    spin(rounds);
    sink += 1; /* an addition after the call keeps it from being a jump */
}

NOINLINE static void work(unsigned long steps) {
    for (unsigned long i = 0; i < steps; i++) step(100000);
    sink += 1;
}

__attribute__((used)) void begin(void) {
    work(9000);
    __asm__ volatile("syscall" ::"a"(60), "D"(0));
}

__asm__(".globl _start\n_start: xor %ebp, %ebp\n call begin\n");
