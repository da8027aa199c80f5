package carrel.memory;

import carrel.protocol.Messages.IndexResult;

/** What one press of Index did, over all folders. */
public record IndexSummary(int indexed, int unchanged, int removed, boolean cancelled) {
    static final IndexSummary NOTHING = new IndexSummary(0, 0, 0, false);
    static final IndexSummary CANCELLED = new IndexSummary(0, 0, 0, true);

    static IndexSummary of(IndexResult result) {
        return new IndexSummary(result.added() + result.changed(), result.unchanged(), result.removed(), false);
    }

    IndexSummary plus(IndexSummary other) {
        return new IndexSummary(
                indexed + other.indexed, unchanged + other.unchanged, removed + other.removed, cancelled || other.cancelled);
    }

    /** What a run that ended did, for people. */
    public String words() {
        return "%s indexed, %s unchanged, %d removed".formatted(Labels.count(indexed, "file"), Labels.count(unchanged, "file"), removed);
    }
}
