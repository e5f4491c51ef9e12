// Inlined templates, lambdas and namespaces, shared by several units. Needs no library; made with make.sh.
namespace work {
template <class T> struct Accumulator {
  T total{};
  inline __attribute__((always_inline)) void add(T value) {
    total += value * 3;
    mix();
  }
  inline __attribute__((always_inline)) void mix() { total ^= total >> 7; }
};
template <class T, class F> inline void each(const T *first, const T *last, F body) {
  for (; first != last; ++first)
    body(*first);
}
namespace {
inline __attribute__((always_inline)) int clamp(int value, int most) { return value > most ? most : value; }
} // namespace
struct Shape {
  int width, height;
  inline __attribute__((always_inline)) int area() const { return clamp(width * height, 1 << 20); }
  unsigned long sum(const unsigned long *first, const unsigned long *last) const;
};
} // namespace work
extern "C" volatile unsigned long sink;
