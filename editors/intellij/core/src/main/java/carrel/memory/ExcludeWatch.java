package carrel.memory;

import java.util.function.Supplier;

/** Notices when other folders are excluded than before. An IDE tells of changed roots often, and mostly for other reasons. */
public final class ExcludeWatch {
    private final Supplier<ExcludedFolders> excluded;
    private final Runnable changed;
    private ExcludedFolders known;

    /** {@code changed} is run for the first look too: what was sent before it isn't known here. */
    public ExcludeWatch(Supplier<ExcludedFolders> excluded, Runnable changed) {
        this.excluded = excluded;
        this.changed = changed;
    }

    /** Roots may have changed. Looks that overlap come one after the other, so that the last one sees the last state. */
    public void look() {
        synchronized (this) {
            var now = excluded.get();
            if (now.equals(known)) {
                return;
            }
            known = now;
        }
        changed.run();
    }
}
