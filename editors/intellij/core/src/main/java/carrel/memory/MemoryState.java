package carrel.memory;

import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.eclipse.lsp4j.WorkDoneProgressBegin;
import org.eclipse.lsp4j.WorkDoneProgressEnd;
import org.eclipse.lsp4j.WorkDoneProgressNotification;
import org.eclipse.lsp4j.WorkDoneProgressReport;
import org.eclipse.lsp4j.jsonrpc.messages.Either;

/** What is known of a project's memory: each folder's status, and the index runs that are going on. Not thread-safe. */
final class MemoryState {
    private static final int REMEMBERED_TOKENS = 100;

    private final Map<String, StatusResult> statuses = new LinkedHashMap<>();
    private final Map<Either<String, Integer>, Work> works = new LinkedHashMap<>();
    private final Set<Either<String, Integer>> ended = new LinkedHashSet<>();

    /**
     * A brief status leaves the skipped files out, so those known stay; and of an index that isn't open yet it doesn't know whether
     * there is one.
     */
    void update(StatusResult status, boolean brief) {
        if (brief && "closed".equals(status.role()) && status.state() == State.EMPTY) {
            return;
        }
        var known = statuses.get(status.workspaceFolder());
        boolean keep = brief && known != null && status.files() > 0;
        statuses.put(status.workspaceFolder(), keep ? status.withFilesOf(known) : status);
    }

    /** Editors may hand over notifications out of order: what comes after a run's end is not begun again. */
    void progress(Either<String, Integer> token, WorkDoneProgressNotification progress) {
        if (progress instanceof WorkDoneProgressEnd) {
            works.remove(token);
            ended.add(token);
            if (ended.size() > REMEMBERED_TOKENS) {
                ended.remove(ended.iterator().next());
            }
        } else if (!ended.contains(token)) {
            var before = works.getOrDefault(token, new Work("Indexing", "", 0));
            if (progress instanceof WorkDoneProgressBegin begin) {
                works.put(token, new Work(begin.getTitle(), or(begin.getMessage(), before.message()), before.percentage()));
            } else if (progress instanceof WorkDoneProgressReport report) {
                int percentage = Math.max(before.percentage(), or(report.getPercentage(), 0));
                works.put(token, new Work(before.title(), or(report.getMessage(), before.message()), percentage));
            }
        }
    }

    /** The server has gone, and what it knew with it. The index on disk is as it was. */
    void forget() {
        works.clear();
        ended.clear();
        statuses.clear();
    }

    Collection<StatusResult> statuses() {
        return List.copyOf(statuses.values());
    }

    Collection<Either<String, Integer>> tokens() {
        return List.copyOf(works.keySet());
    }

    /** The newest run. */
    Optional<Work> work() {
        var all = new ArrayList<>(works.values());
        return all.isEmpty() ? Optional.empty() : Optional.of(all.get(all.size() - 1));
    }

    boolean indexing() {
        return !works.isEmpty() || statuses.values().stream().anyMatch(status -> status.state() == State.INDEXING);
    }

    private static <T> T or(T value, T otherwise) {
        return value == null ? otherwise : value;
    }
}
