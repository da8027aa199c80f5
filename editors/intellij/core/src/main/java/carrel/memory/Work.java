package carrel.memory;

/** An index run that is going on. {@code message} holds numbers of files. */
public record Work(String title, String message, int percentage) {}
