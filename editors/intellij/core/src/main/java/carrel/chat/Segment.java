package carrel.chat;

/** A stretch of a transcript that looks alike. {@code uri} and {@code line} (1-based) are where a link leads; null and 0 elsewhere. */
public record Segment(Kind kind, String text, String uri, int line) {
    /** How a stretch looks and what it does. */
    public enum Kind {
        QUESTION,
        STEP,
        TEXT,
        CODE,
        /** Opens a place. */
        PLACE,
        /** A place that the answer can't rely on; opens it likewise. */
        UNVERIFIED,
        PROBLEM,
        /** Opens the receipts. */
        RECEIPT
    }

    static Segment of(Kind kind, String text) {
        return new Segment(kind, text, null, 0);
    }

    public boolean isLink() {
        return kind == Kind.RECEIPT || uri != null;
    }
}
