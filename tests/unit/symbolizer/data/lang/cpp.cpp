#include <vector>
#include <cstdio>
#include <algorithm>
#include <numeric>
namespace work {
template <class T> struct Acc { T total{}; 
  __attribute__((always_inline)) inline void add(T v) { total += v * 3; mix(); }
  inline void mix() { total ^= total >> 7; } };
__attribute__((noinline)) unsigned long run(const std::vector<unsigned long>& v) {
  Acc<unsigned long> a;
  auto f = [&](unsigned long x) { a.add(x); };
  std::for_each(v.begin(), v.end(), f);
  return a.total; }
}
static int __attribute__((noinline)) helper(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
int main(int argc, char**argv) { std::vector<unsigned long> v(1000); std::iota(v.begin(), v.end(), argc);
 unsigned long t = 0; for (int i = 0; i < 400000*argc; i++) { v[i % 1000] += i; t += work::run(v) + helper(i & 63); } printf("%lu\n", t); }
