package carrel.memory;

import static org.junit.jupiter.api.Assertions.fail;

import java.util.function.Predicate;
import java.util.function.Supplier;

/** Waits for what comes by itself. */
public final class Eventually {
    private static final long PATIENCE_MS = 20_000;

    private Eventually() {}

    public static <T> T eventually(Supplier<T> now, Predicate<T> wanted) {
        long end = System.currentTimeMillis() + PATIENCE_MS;
        T value = now.get();
        while (!wanted.test(value)) {
            if (System.currentTimeMillis() > end) {
                fail("still " + value);
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                fail("interrupted");
            }
            value = now.get();
        }
        return value;
    }
}
