package carrel.memory;

/** How the server's process is. */
public sealed interface ServerState {
    /** {@code ran}: it did run, and stopped. */
    record Stopped(boolean ran) implements ServerState {}

    record Starting() implements ServerState {}

    /** {@code description} says to people which program it is. */
    record Running(String description) implements ServerState {}

    /** It can't be had; the words are fit for people. */
    record Failed(String problem, String remedy) implements ServerState {}
}
