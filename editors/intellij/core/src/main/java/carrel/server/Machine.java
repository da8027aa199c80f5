package carrel.server;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The machine as the search for a server sees it, so that every case is tested without one. */
public interface Machine {
    boolean windows();

    /** The program of this name on PATH, without the extension that Windows needs. */
    Optional<Path> onPath(String name);

    /** Standard output of a program that ended well within some seconds. */
    Optional<String> output(List<String> command);
}
