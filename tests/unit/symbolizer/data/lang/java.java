import java.util.*;

public class java {
    static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static int sorted() {
        List<Integer> values = new ArrayList<>();
        for (int i = 0; i < 3000; i++) values.add((i * 7919) % 10007);
        Collections.sort(values);
        return values.get(7);
    }

    public static void main(String[] arguments) {
        long total = 0, end = System.currentTimeMillis() + 900;
        while (System.currentTimeMillis() < end) total += fib(20) + sorted();
        System.out.println(total);
    }
}
