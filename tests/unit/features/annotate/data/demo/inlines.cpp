// Inlined functions, recursion and branches, for listings of lines and instructions.
namespace {
volatile unsigned sink;

inline unsigned scramble(unsigned value) {
    value ^= value << 13;
    value ^= value >> 17;
    return value ^ value << 5;
}

inline unsigned twice(unsigned value) {
    return scramble(scramble(value));
}
}  // namespace

__attribute__((noinline)) unsigned walk(unsigned rounds) {
    unsigned state = rounds | 1, odd = 0;
    for (unsigned i = 0; i < rounds; i++) {
        state = twice(state + i);
        if (state & 1)
            odd += state % 7;
        else
            odd ^= i;
    }
    return odd;
}

__attribute__((noinline)) unsigned tree(unsigned depth, unsigned rounds) {
    if (depth == 0)
        return walk(rounds);
    unsigned left = tree(depth - 1, rounds);
    return scramble(left) + tree(depth - 1, rounds / 2);
}

int main() {
    for (int i = 0; i < 12; i++)
        sink = tree(3, 3000000 + i);
}
