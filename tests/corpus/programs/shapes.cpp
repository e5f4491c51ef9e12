// Names that need demangling: namespaces, templates, virtual functions, operators, a lambda, threads with names.
#include <cstdlib>
#include <pthread.h>
#include <sys/prctl.h>

#define NOINLINE __attribute__((noinline))

namespace geometry {

static volatile double sink;

template <typename Number> NOINLINE Number busy(Number rounds) {
    for (Number i = 0; i < rounds; i += 1) sink = sink * 1.0001 + double(i);
    return rounds;
}

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    NOINLINE double operator()(int times) const {
        double sum = 0;
        for (int i = 0; i < times; i++) sum += area();
        return sum;
    }
};

struct Square : Shape {
    NOINLINE double area() const override { return busy<int>(20000) + 1.0; }
};

template <int Sides> struct Polygon : Shape {
    NOINLINE double area() const override { return busy<long>(20000L) * Sides; }
};

}  // namespace geometry

static int rounds = 10;

template <typename Shape> NOINLINE static void *draw(void *name) {
    prctl(PR_SET_NAME, static_cast<const char *>(name));
    Shape shape;
    auto again = [&shape](int times) __attribute__((noinline)) { return shape(times); };
    for (int i = 0; i < rounds; i++) geometry::sink = geometry::sink + again(5);
    return nullptr;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = std::atoi(argv[1]);
    char first[] = "käfer", second[] = "two words";
    pthread_t threads[2];
    pthread_create(&threads[0], nullptr, draw<geometry::Square>, first);
    pthread_create(&threads[1], nullptr, draw<geometry::Polygon<6>>, second);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
}
