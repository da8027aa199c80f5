package carrel.server;

import java.util.List;

/** What came of looking for a server. */
public sealed interface Located {
    record Found(Launch launch) implements Located {}

    /** {@code tried} says in words what was looked at and wasn't taken. */
    record Missing(List<String> tried, String remedy) implements Located {
        /** The problem in one sentence. */
        public String problem() {
            return "Carrel found no server to start: " + String.join("; ", tried) + ".";
        }
    }
}
