// Functions without linkage names: helpers of one name in namespaces, classes, a function and a template.
#define INLINE __attribute__((always_inline)) static inline
namespace app {
namespace {
struct A { INLINE double run(double x) {
  for (int i = 0; i < 9; i++) x = x * 3 + i;
  return x; } };
struct B { INLINE double run(double x) {
  for (int i = 0; i < 9; i++) x = x / 3 - i;
  return x; } };
INLINE double helper(double x) { return A::run(x) + B::run(x); }
}
namespace inner { INLINE double helper(double x) {
  for (int i = 0; i < 9; i++) x = x * x - i;
  return x; } }
template <class F> INLINE double each(double x, F f) {
  for (int i = 0; i < 9; i++) x += f(x);
  return x; }
double go(double x) {
  struct Local { INLINE double run(double y) {
    for (int i = 0; i < 9; i++) y += y * i;
    return y; } };
  return helper(x) + inner::helper(x) + Local::run(x) + each(x, [](double y) { return y * y / 7; });
}
}
INLINE double helper(double x) {
  for (int i = 0; i < 9; i++) x = x - x * i;
  return x; }
double work(double x) { return helper(x) + app::go(x); }
