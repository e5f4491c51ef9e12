/* A just-in-time compiler without a C library: it writes code, and a jitdump with call frame information as runtimes do.
   Trampolines lead from one C function to the next, as CPython's (-X perf_jit) do; none has a frame pointer to go by.

   gcc -O2 -g0 -static -nostdlib -fno-stack-protector -fomit-frame-pointer -fno-optimize-sibling-calls -mno-sse
   -fno-tree-loop-distribute-patterns -Wl,--eh-frame-hdr jit.c */

typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned char u8;
typedef u64 step_function(u64);
typedef u64 trampoline_function(u64, step_function *);

static long call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* sub $8, %rsp; call *%rsi; add $8, %rsp; ret: CPython up to 3.13 */
static const u8 plain[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3};
/* push %rbp; mov $-1, %rbp; call *%rsi; pop %rbp; ret: the frame pointer leads nowhere */
static const u8 saving[] = {0x55, 0x48, 0xc7, 0xc5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xd6, 0x5d, 0xc3};
/* sub $24, %rsp; mov $60000, %ecx; 1: dec %ecx; jnz 1b; add $24, %rsp; ret */
static const u8 looping[] = {0x48, 0x83, 0xec, 24, 0xb9, 0x60, 0xea, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 24, 0xc3};

/* CIE of CPython: version 1, zR, pcrel sdata4; of V8: version 3, zLR, no LSDA */
static const u8 cie[] = {0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0};
static const u8 cie_v8[] = {0x18, 0, 0, 0, 0, 0, 0, 0, 3, 'z', 'L', 'R', 0, 1, 0x78, 0x10,
                            2, 0xff, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0};
static const u8 plain_rules[] = {0x44, 0x0e, 16, 0x46, 0x0e, 8, 0};
static const u8 saving_rules[] = {0x41, 0x0e, 16, 0x86, 2, 0x4a, 0x0e, 8, 0xc6, 0, 0};
static const u8 looping_rules[] = {0x44, 0x0e, 32, 0x4d, 0x0e, 8, 0};

static u8 dump[4096];
static u64 filled, number;
static u8 *code;

static void put(const void *bytes, u64 size) {
    for (u64 i = 0; i < size; i++)
        dump[filled++] = ((const u8 *)bytes)[i];
}

static void put32(u32 value) { put(&value, 4); }
static void put64(u64 value) { put(&value, 8); }

static u64 now(void) {
    long time[2];
    call(228, 1, (long)time, 0, 0, 0, 0);
    return time[0] * 1000000000UL + time[1];
}

/* JIT_CODE_UNWINDING_INFO: the code's .eh_frame, and the header that perf inject --jit wants with it. */
static void unwinding(const u8 *common, u64 common_size, const u8 *rules, u64 rules_size, u64 code_size) {
    u64 entry = 4 + 4 + 4 + 1 + rules_size, fill = -entry & 3, frames = common_size + 4 + entry + fill;
    put32(4), put32(40 + frames + 20), put64(now());
    put64(frames + 20), put64(20), put64(frames + 20);
    put(common, common_size);
    put32(entry + fill), put32(common_size + 4);
    put32(-(u32)(common_size + 8 + ((code_size + 7) & ~7UL))), put32(code_size), put("", 1);
    put(rules, rules_size), put("\0\0\0", fill);
    put32(0x3b031b01), put32(-(u32)(frames + 4)), put32(1);
    put32(-(u32)(frames + ((code_size + 7) & ~7UL))), put32(-(u32)(frames - common_size));
}

static void *load(const char *name, const u8 *bytes, u64 size) {
    u8 *at = code;
    u64 length = 0;
    for (u64 i = 0; i < size; i++)
        at[i] = bytes[i];
    code += 0x200; /* in the files that perf inject --jit writes, more than the code is mapped there */
    while (name[length++])
        ;
    put32(0), put32(56 + length + size), put64(now());
    put32(call(39, 0, 0, 0, 0, 0, 0)), put32(call(186, 0, 0, 0, 0, 0, 0));
    put64((u64)at), put64((u64)at), put64(size), put64(number++);
    put(name, length), put(bytes, size);
    return at;
}

static void write_dump(void) {
    char path[32] = "/demo/jit-";
    long process = call(39, 0, 0, 0, 0, 0, 0), digits = 1, place = 10;
    while (process / digits >= 10)
        digits *= 10;
    for (; digits; digits /= 10)
        path[place++] = '0' + process / digits % 10;
    for (int i = 0; ".dump"[i]; i++)
        path[place++] = ".dump"[i];
    long file = call(2, (long)path, 0x242, 0644, 0, 0, 0);
    call(1, file, (long)dump, filled, 0, 0, 0);
    call(9, 0, 4096, 5, 2, file, 0);
}

static trampoline_function *trampolines[2];
static u64 (*loop)(void);

__attribute__((noinline)) u64 step(u64 depth) {
    volatile u64 room[6];
    room[depth % 6] = depth;
    return room[depth % 6] + (depth ? trampolines[depth % 2](depth - 1, step) : loop());
}

__attribute__((noinline)) void run(void) {
    u64 end = now() + 400000000;
    for (u64 round = 0; now() < end; round++)
        step(round % 4);
}

__attribute__((noinline, used)) void begin(void) {
    code = (u8 *)call(9, 0, 4096, 7, 0x22, -1, 0);
    put32(0x4a695444), put32(1), put32(40), put32(0), put32(0), put32(call(39, 0, 0, 0, 0, 0, 0)), put64(now()), put64(0);
    unwinding(cie, sizeof cie, plain_rules, sizeof plain_rules, sizeof plain);
    trampolines[0] = (trampoline_function *)load("py::plain:/demo/x.py", plain, sizeof plain);
    unwinding(cie, sizeof cie, saving_rules, sizeof saving_rules, sizeof saving);
    trampolines[1] = (trampoline_function *)load("py::saving:/demo/x.py", saving, sizeof saving);
    unwinding(cie_v8, sizeof cie_v8, looping_rules, sizeof looping_rules, sizeof looping);
    loop = (u64(*)(void))load("JS:*looping /demo/x.js:1:1", looping, sizeof looping);
    write_dump();
    run();
    call(231, 0, 0, 0, 0, 0, 0);
}

__asm__(".text\n.globl _start\n_start:\n.cfi_startproc\n.cfi_undefined rip\n xor %ebp, %ebp\n and $-16, %rsp\n"
        " call begin\n hlt\n.cfi_endproc\n");
