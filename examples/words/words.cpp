// Counts words, sorts them by number, and prints a digest: what examples/words/perf.data shows.
//
//   g++ -O2 -g -gz -std=c++20 -ffreestanding -nostdlib -static -fno-exceptions -fno-rtti -fno-stack-protector \
//       -fno-tree-loop-distribute-patterns -fno-ipa-cp -fno-ipa-sra -Wl,--build-id -o words words.cpp
//   perf record -N -k mono -e cpu-clock:u -F 999 --call-graph dwarf,4096 -z -o perf.data ./words
//
// It needs no library, so that the recording has a name for every frame.

namespace words {

constexpr unsigned kSlots = 1 << 15, kWords = 60000, kLongest = 12, kRounds = 700;

struct Word {
  char text[kLongest];
  unsigned length;
  unsigned count;
};

struct Random {
  unsigned state = 1;
  unsigned below(unsigned limit) {
    state = state * 1664525 + 1013904223;
    return (state >> 10) % limit;
  }
};

class Table {
 public:
  void clear() {
    for (Word& word : slots_) word.count = word.length = 0;
  }

  [[gnu::noinline]] void add(const char* text, unsigned length) {
    Word& word = find_or_insert(text, length);
    ++word.count;
  }

  [[gnu::noinline]] unsigned gather(Word* to) const {
    unsigned number = 0;
    for (const Word& word : slots_)
      if (word.count) to[number++] = word;
    return number;
  }

 private:
  static bool equal(const Word& word, const char* text, unsigned length) {
    if (word.length != length) return false;
    for (unsigned at = 0; at < length; ++at)
      if (word.text[at] != text[at]) return false;
    return true;
  }

  [[gnu::noinline]] static unsigned hash(const char* text, unsigned length) {
    unsigned sum = 2166136261;
    for (unsigned at = 0; at < length; ++at) sum = (sum ^ text[at]) * 16777619;
    return sum;
  }

  [[gnu::noinline]] Word& find_or_insert(const char* text, unsigned length) {
    unsigned slot = hash(text, length) % kSlots;
    while (slots_[slot].length && !equal(slots_[slot], text, length)) slot = (slot + 1) % kSlots;
    Word& word = slots_[slot];
    if (!word.length) {
      for (unsigned at = 0; at < length; ++at) word.text[at] = text[at];
      word.length = length;
    }
    return word;
  }

  Word slots_[kSlots];
};

template <typename Less>
[[gnu::noinline]] void sort(Word* first, Word* last, Less less) {
  while (last - first > 1) {
    const Word pivot = first[(last - first) / 2];
    Word *low = first, *high = last - 1;
    while (low <= high) {
      while (less(*low, pivot)) ++low;
      while (less(pivot, *high)) --high;
      if (low <= high) {
        const Word swapped = *low;
        *low++ = *high;
        *high-- = swapped;
      }
    }
    sort(first, high + 1, less);
    first = low;
  }
}

[[gnu::noinline]] unsigned read_text(char* text, Random& random) {
  unsigned size = 0;
  for (unsigned word = 0; word < kWords; ++word) {
    const unsigned which = random.below(130) * random.below(130);
    for (unsigned rest = which + 7; rest; rest /= 5) text[size++] = 'a' + rest % 23;
    text[size++] = ' ';
  }
  return size;
}

[[gnu::noinline]] void count_words(Table& table, const char* text, unsigned size) {
  const char* begin = text;
  for (const char* at = text; at < text + size; ++at)
    if (*at == ' ') {
      if (at > begin) table.add(begin, at - begin);
      begin = at + 1;
    }
}

[[gnu::noinline]] unsigned digest(const Word* sorted, unsigned number) {
  unsigned sum = 0;
  for (unsigned at = 0; at < number; ++at) sum = sum * 31 + sorted[at].count;
  return sum;
}

long system_call(long number, long one, long two, long three) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two), "d"(three) : "rcx", "r11", "memory");
  return result;
}

Table table;
Word found[kSlots];
char text[kWords * (kLongest + 1)];

}  // namespace words

[[gnu::noinline]] int main() {
  using namespace words;
  Random random;
  unsigned sum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    table.clear();
    const unsigned size = read_text(text, random);
    count_words(table, text, size);
    const unsigned number = table.gather(found);
    sort(found, found + number, [](const Word& one, const Word& other) {
      return one.count != other.count ? one.count > other.count : one.text[0] < other.text[0];
    });
    sum += digest(found, number);
  }
  char line[] = "00000000\n";
  for (unsigned at = 0; at < 8; ++at, sum /= 16) line[7 - at] = "0123456789abcdef"[sum % 16];
  system_call(1, 1, reinterpret_cast<long>(line), sizeof line - 1);
  return 0;
}

// The outermost frame: call frame information says that it has no caller.
asm(R"(
  .globl _start
  .type _start, @function
_start:
  .cfi_startproc
  .cfi_undefined rip
  xor %ebp, %ebp
  and $-16, %rsp
  call main
  mov %eax, %edi
  mov $60, %eax
  syscall
  .cfi_endproc
  .size _start, . - _start
)");
