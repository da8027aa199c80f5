package carrel.server;

import java.util.List;

/** What came of looking for a server. {@code tried} says in words what was looked at and wasn't taken. */
public sealed interface Located {
    List<String> tried();

    record Found(Launch launch, List<String> tried) implements Located {}

    record Missing(List<String> tried, String remedy) implements Located {
        /** The problem in one sentence. */
        public String problem() {
            return "Carrel found no server to start: " + String.join("; ", tried) + ".";
        }
    }
}
