/* Threads that compute and sleep by turns, and say when they slept (CLOCK_MONOTONIC, ns) and how much CPU time they used.
   gcc -O1 -g0 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o schedule sleepers.c -lpthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 12, THREADS = 3, MS = 1000000 };

static long now(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}

__attribute__((noinline)) static void compute(long ns) {
    volatile int steps = 0;
    long end = now(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (now(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int step = 0; step < 20000; step++) steps++;
}

static void *by_turns(void *number) {
    long slept[TURNS][2], born = now(CLOCK_MONOTONIC);
    for (int turn = 0; turn < TURNS; turn++) {
        compute(4 * MS);
        slept[turn][0] = now(CLOCK_MONOTONIC);
        usleep(10000 + 5000 * (long)number);
        slept[turn][1] = now(CLOCK_MONOTONIC);
    }
    long tid = syscall(SYS_gettid), cpu = now(CLOCK_THREAD_CPUTIME_ID), lived = now(CLOCK_MONOTONIC) - born;
    flockfile(stdout);
    printf("thread %ld lived %ld cpu %ld\n", tid, lived, cpu);
    for (int turn = 0; turn < TURNS; turn++) printf("slept %ld %ld %ld\n", tid, slept[turn][0], slept[turn][1]);
    funlockfile(stdout);
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long number = 0; number < THREADS; number++) pthread_create(&threads[number], 0, by_turns, (void *)number);
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], 0);
    return 0;
}
