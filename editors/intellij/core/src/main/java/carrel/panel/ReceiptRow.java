package carrel.panel;

import carrel.memory.Place;
import carrel.memory.Receipt;

/** One row of the receipts: its text, what a hover tells, whose receipt it is in, and the place that it stands for; that may be null. */
record ReceiptRow(String text, String tooltip, Receipt receipt, Kind kind, Place place) {
    /** What a row's place is to the answer. */
    enum Kind {
        /** The row is no place. */
        WORDS,
        /** The answer holds it. */
        GIVEN,
        /** A person took it out. */
        REMOVED,
        /** Its file was pinned, and yet nothing of it was given. */
        MISSING
    }

    static ReceiptRow words(String text, String tooltip, Receipt receipt) {
        return new ReceiptRow(text, tooltip, receipt, Kind.WORDS, null);
    }

    /** Where its place begins. */
    int line() {
        return Math.max(1, place.startLine());
    }

    boolean is(Kind wanted) {
        return kind == wanted;
    }

    @Override
    public String toString() {
        return text;
    }
}
