/* Threads that work, sleep and wait in a fixed pattern and print when: a recording's timeline can be held against it.
 * Each line: thread, name of the phase, CLOCK_MONOTONIC at its begin and end, CPU time of the thread at both (ns).
 * "late" and "long" share one CPU and preempt each other; "fed" waits until "late" has written to the pipe. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PHASES = 64 };

struct phase {
    const char *name;
    long long begin, end, cpu_begin, cpu_end;
};

struct task {
    pthread_t thread;
    long tid;
    int cpu, count;
    struct phase phases[PHASES];
};

static struct task late, longest, fed;
static int feed[2];

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct phase *begin(struct task *task, const char *name)
{
    struct phase *phase = &task->phases[task->count++];
    phase->name = name;
    phase->begin = now(CLOCK_MONOTONIC);
    phase->cpu_begin = now(CLOCK_THREAD_CPUTIME_ID);
    return phase;
}

static void end(struct phase *phase)
{
    phase->cpu_end = now(CLOCK_THREAD_CPUTIME_ID);
    phase->end = now(CLOCK_MONOTONIC);
}

static void count(void)
{
    for (volatile int step = 0; step < 100000; step++)
        ;
}

/* Work for so many milliseconds of CPU time. */
#define WORK(NAME)                                             \
    __attribute__((noinline)) static void NAME(struct task *task, int milliseconds) \
    {                                                          \
        struct phase *phase = begin(task, #NAME);              \
        long long until = phase->cpu_begin + milliseconds * 1000000LL; \
        while (now(CLOCK_THREAD_CPUTIME_ID) < until)           \
            count();                                           \
        end(phase);                                            \
    }

WORK(work_late)
WORK(work_long)
WORK(work_fed)

__attribute__((noinline)) static void nap(struct task *task, int milliseconds)
{
    struct phase *phase = begin(task, "nap");
    usleep(milliseconds * 1000);
    end(phase);
}

__attribute__((noinline)) static void hunger(struct task *task)
{
    char byte;
    struct phase *phase = begin(task, "hunger");
    if (read(feed[0], &byte, 1) != 1)
        phase->name = "broken";
    end(phase);
}

static void settle(struct task *task)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(task->cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
    task->tid = syscall(SYS_gettid);
}

static void *run_late(void *none)
{
    settle(&late);
    for (int round = 0; round < 6; round++) {
        work_late(&late, 12);
        if (write(feed[1], "", 1) != 1)
            return none;
        nap(&late, 8);
    }
    return none;
}

static void *run_long(void *none)
{
    settle(&longest);
    for (int round = 0; round < 4; round++) {
        work_long(&longest, 25);
        nap(&longest, 5);
    }
    return none;
}

static void *run_fed(void *none)
{
    settle(&fed);
    for (int round = 0; round < 6; round++) {
        hunger(&fed);
        work_fed(&fed, 7);
    }
    return none;
}

static void print(const struct task *task)
{
    for (int row = 0; row < task->count; row++) {
        const struct phase *phase = &task->phases[row];
        printf("%ld %s %lld %lld %lld %lld\n", task->tid, phase->name, phase->begin, phase->end, phase->cpu_begin,
               phase->cpu_end);
    }
}

int main(void)
{
    if (pipe(feed) != 0)
        return 1;
    fed.cpu = 1;
    pthread_create(&late.thread, NULL, run_late, NULL);
    pthread_create(&longest.thread, NULL, run_long, NULL);
    pthread_create(&fed.thread, NULL, run_fed, NULL);
    pthread_join(late.thread, NULL);
    pthread_join(longest.thread, NULL);
    pthread_join(fed.thread, NULL);
    print(&late);
    print(&longest);
    print(&fed);
    return 0;
}
