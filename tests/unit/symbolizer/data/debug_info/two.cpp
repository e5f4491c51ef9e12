#include "work.hpp"
static __attribute__((noinline)) int helper(int count, int step) {
  int sum = 0;
  for (int i = 0; i < count; i += step)
    sum += work::clamp(i % 7, 5);
  return sum;
}
int later(const work::Shape &shape, int count) {
  work::Accumulator<int> all;
  all.add(shape.area());
  int part[4] = {count, 2, 3, 4};
  work::each(part, part + 4, [&](int value) { all.add(helper(value, 1)); });
  return all.total + helper(count + 1, 2);
}
