/* Calls of every kind, in a program that needs no library: make.sh traces every branch that it takes. */
typedef unsigned long word;
typedef word (*step)(word);

static inline word clamp(word value, word low, word high) {
  if (value < low) return low;
  return value > high ? high : value;
}

static inline __attribute__((always_inline)) word mix(word a, word b) {
  word t = a * 31 + b;
  return clamp(t & 0xffff, 10, 5000) ^ (t >> 3);
}

static __attribute__((noinline)) word odd(word x) { return clamp(x * 3 + 1, 7, 900); }
static __attribute__((noinline)) word even(word x) { return x / 2 ? mix(x, 3) : 5; }
static step steps[] = {even, odd};

__attribute__((noinline, cold, noreturn)) void never(word x) {
  for (;;) __asm__ volatile("syscall" : : "a"(60UL), "D"(x) : "rcx", "r11", "memory");
}
__attribute__((used)) static word idle(word x) { return mix(x, 9); }

__attribute__((noinline)) static word loops(word n) {
  word t = 0;
  for (word i = 0; i < n; i++)
    t += mix(i, n);
  return t;
}

__attribute__((noinline)) static word fall(word x) { return x < 2 ? x : fall(x - 1) + (x & 1); }

__attribute__((noinline)) static word turn(word x) {
  switch (x % 6) {
  case 0: return odd(x);
  case 1: x += 3; break;
  case 2: x ^= 7; break;
  case 3: return even(x);
  case 4: x = mix(x, x); break;
  default: if (x > 1UL << 40) never(mix(x, 1));
  }
  return x + 1;
}

__attribute__((noinline)) static word run(word n) {
  word t = 0;
  for (word i = 0; i < n; i++) {
    t += steps[i % 3 == 0](t & 1023); if (t & 4) t ^= i; else t += 2;
    t += turn(i) + loops(i % 4);
  }
  return t + fall(9);
}

void _start(void) {
  word t = run(40) + run(25);
  __asm__ volatile("syscall" : : "a"(60UL), "D"(t & 0) : "rcx", "r11", "memory");
  __builtin_unreachable();
}
