/* Stacks that end in uncommon places, without more of a C library than its makecontext: coroutines of both kinds, the
   last instruction of a function as LLVM describes it, assembly that nothing describes, a deep recursion, a frame larger
   than the copy, the last call of a function that ends with it.

   ar x libc.a swapcontext.o makecontext.o getcontext.o setcontext.o __start_context.o
   g++ -O2 -g0 -std=c++20 -static -no-pie -nostdlib -fno-exceptions -fno-rtti -fno-stack-protector -fno-omit-frame-pointer
   -fno-optimize-sibling-calls -fcf-protection=none ends.cpp *.o -Wl,--eh-frame-hdr */

#include <coroutine>
#include <ucontext.h>

typedef unsigned long u64;

static long call(long number, long a, long b) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

extern "C" [[noreturn]] void exit(int status) {
    for (;;)
        call(60, status, 0);
}

/* for the C library's objects */
extern "C" thread_local int __libc_errno;
thread_local int __libc_errno;
extern "C" void __stack_chk_fail() { exit(1); }

static volatile u64 sink;
static const int ROUNDS = 12000000;

extern "C" [[gnu::noinline]] void spin(int rounds) {
    u64 sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += i * 7 ^ sum;
    sink = sink + sum;
}

static char heap[4096];
static u64 used;

void *operator new(u64 size) { return heap + (used += size + 15 & ~15UL) - (size + 15 & ~15UL); }
void operator delete(void *, u64) noexcept {}
void operator delete(void *) noexcept {}

struct Numbers {
    struct promise_type {
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int) { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] static Numbers numbers(int count) {
    for (int i = 0; i < count; i++) {
        spin(ROUNDS / 4);
        co_yield i;
    }
}

[[gnu::noinline]] static void resume_all(Numbers &generator) {
    while (!generator.handle.done())
        generator.handle.resume();
}

static ucontext_t caller, worker;
static char stack[16384] __attribute__((aligned(16)));

[[gnu::noinline]] static void body() {
    for (;;) {
        spin(ROUNDS / 4);
        swapcontext(&worker, &caller);
    }
}

[[gnu::noinline]] static void contexts() {
    getcontext(&worker);
    worker.uc_stack.ss_sp = stack;
    worker.uc_stack.ss_size = sizeof stack;
    worker.uc_link = &caller;
    makecontext(&worker, body, 0);
    for (int i = 0; i < 4; i++)
        swapcontext(&caller, &worker);
}

[[gnu::noinline]] static u64 deep(int depth) {
    if (depth == 0) {
        spin(ROUNDS);
        return 0;
    }
    return deep(depth - 1) + 1;
}

[[gnu::noinline]] static void large() {
    volatile char space[12000];
    space[11999] = 1;
    spin(ROUNDS);
    space[0] = 1;
}

__asm__(R"(
    .section .init, "ax"
    .globl first
    .type first, @function
first:                  # the first byte of the code's mapping
    ret
    .size first, . - first
    .text

    .globl epilogue     # int rounds; as LLVM describes functions: at the end only the CFA
    .type epilogue, @function
epilogue:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register 6
    pop %rbp
    .cfi_def_cfa 7, 8
1:  imul $7, %rdi, %rax
    dec %edi
    jnz 1b
    ret
    .cfi_endproc
    .size epilogue, . - epilogue

    .type nothing_describes, @function
    .globl nothing_describes
nothing_describes:      # int rounds, value, value: the frame pointer leads to these
    push %rbp
    push %rdx
    push %rsi
    mov %rsp, %rbp
1:  imul $7, %rdi, %rax
    dec %edi
    jnz 1b
    pop %rsi
    pop %rdx
    pop %rbp
    ret
    .size nothing_describes, . - nothing_describes

    .globl last_call
    .type last_call, @function
last_call:              # the return address is the next function's
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register 6
    call leave
    .cfi_endproc
    .size last_call, . - last_call
    .globl behind
    .type behind, @function
behind:
    .cfi_startproc
    ret
    .cfi_endproc
    .size behind, . - behind
)");

extern "C" {
void first();
void behind();
void epilogue(int rounds);
void nothing_describes(int rounds, u64 frame_pointer, u64 return_address);
void last_call();

[[noreturn, gnu::noinline, gnu::used]] void leave() {
    spin(ROUNDS);
    exit(0);
}

[[gnu::noinline]] int act() {
    Numbers generator = numbers(4);
    resume_all(generator);
    contexts();
    deep(150);
    large();
    epilogue(ROUNDS * 2);
    nothing_describes(ROUNDS * 2, 0, 0);
    nothing_describes(ROUNDS * 2, 0, (u64)first);
    nothing_describes(ROUNDS * 2, 0, (u64)nothing_describes);
    last_call();
    return 0;
}

static u64 thread_block[64];

void begin() {
    call(158, 0x1002, (long)(thread_block + 32));
    exit(act());
}
}

__asm__(".text\n.globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined 16\nxor %ebp, %ebp\n"
        "and $-16, %rsp\ncall begin\nhlt\n.cfi_endproc\n.size _start, . - _start\n");
