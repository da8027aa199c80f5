package carrel.memory;

/** How the server's process is. */
public sealed interface ServerState {
    record Stopped() implements ServerState {}

    record Starting() implements ServerState {}

    record Running() implements ServerState {}

    /** It can't be had; the words are fit for people. */
    record Failed(String problem, String remedy) implements ServerState {}
}
