// Inlined templates, lambdas and a clone, without any library. Made with make.sh beside it.
extern "C" {
volatile unsigned long sink;
}
namespace work {
template <class T> struct Accumulator {
  T total{};
  __attribute__((always_inline)) inline void add(T value) {
    total += value * 3;
    mix();
  }
  __attribute__((always_inline)) inline void mix() { total ^= total >> 7; }
};

template <class T, class F> inline void each(const T *first, const T *last, F body) {
  for (; first != last; ++first)
    body(*first);
}

__attribute__((noinline)) unsigned long run(const unsigned long *first, const unsigned long *last) {
  Accumulator<unsigned long> sum;
  each(first, last, [&](unsigned long value) { sum.add(value); });
  return sum.total;
}
} // namespace work

static __attribute__((noinline)) int helper(int count, int step) {
  int sum = 0;
  for (int i = 0; i < count; i += step)
    sum += i % 7;
  return sum;
}

extern "C" __attribute__((noinline)) int entry(int count) {
  static unsigned long table[64];
  for (int i = 0; i < 64; i++)
    table[i] = i;
  if (count < 0)
    __builtin_trap();
  sink = work::run(table, table + 64);
  return helper(count, 1) + helper(count + 1, 1);
}
