package carrel.memory;

import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.LinesParam;

/** Lines of a file, 1-based and inclusive; the whole file where they are 0. {@code path} is the file's name as the server writes it. */
public record Place(String uri, String path, int startLine, int endLine) {
    public static Place of(HitResult hit) {
        return new Place(hit.uri(), hit.path(), hit.startLine(), hit.endLine());
    }

    public Place wholeFile() {
        return new Place(uri, path, 0, 0);
    }

    public boolean isWholeFile() {
        return startLine == 0;
    }

    LinesParam lines() {
        return new LinesParam(uri, startLine, endLine);
    }

    /** A glob that means this one file: nothing in its path is special, and it stands at the folder's root. */
    String glob() {
        var literal = path.replaceAll("[\\[\\]{}*?,\\\\]", "[$0]");
        // The server takes a pattern without a slash as a name that may be anywhere.
        return path.contains("/") ? literal : "{%s,%s/}".formatted(literal, literal);
    }
}
