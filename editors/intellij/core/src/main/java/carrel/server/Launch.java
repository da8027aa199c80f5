package carrel.server;

import java.util.ArrayList;
import java.util.List;

/**
 * How to start the server. {@code command} holds the program and what stands before {@code serve}; {@code description} says to
 * people what was chosen, and from where.
 */
public record Launch(List<String> command, String description) {
    public Launch {
        command = List.copyOf(command);
    }

    /** The whole command line of the language server. */
    public List<String> serve() {
        var line = new ArrayList<>(command);
        line.add("serve");
        return line;
    }
}
