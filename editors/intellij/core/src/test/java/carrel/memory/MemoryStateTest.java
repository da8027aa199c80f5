package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.protocol.Messages.ModelInfo;
import carrel.protocol.Messages.SkippedFile;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.eclipse.lsp4j.WorkDoneProgressBegin;
import org.eclipse.lsp4j.WorkDoneProgressEnd;
import org.eclipse.lsp4j.WorkDoneProgressReport;
import org.eclipse.lsp4j.jsonrpc.messages.Either;
import org.junit.jupiter.api.Test;

public class MemoryStateTest {
    private static final Either<String, Integer> TOKEN = Either.forLeft("run");

    private final MemoryState state = new MemoryState();

    @Test
    void aRunIsShownFromItsBeginToItsEnd() {
        state.progress(TOKEN, begin());
        assertEquals(Optional.of(new Work("Indexing project", "", 0)), state.work());
        state.progress(TOKEN, report("3/10 files", 30));
        assertEquals(Optional.of(new Work("Indexing project", "3/10 files", 30)), state.work());
        assertTrue(state.indexing());
        state.progress(TOKEN, new WorkDoneProgressEnd());
        assertEquals(Optional.empty(), state.work());
        assertFalse(state.indexing());
    }

    @Test
    void reportsOutOfOrderNeitherGoBackNorBeginAgain() {
        state.progress(TOKEN, report("9/10 files", 90));
        state.progress(TOKEN, report("8/10 files", 80));
        assertEquals(90, state.work().orElseThrow().percentage());
        state.progress(TOKEN, new WorkDoneProgressEnd());
        state.progress(TOKEN, report("10/10 files", 100));
        state.progress(TOKEN, begin());
        assertEquals(Optional.empty(), state.work());
    }

    @Test
    void theNewestOfTwoRunsIsShown() {
        Either<String, Integer> other = Either.forRight(7);
        state.progress(TOKEN, report("1/10 files", 10));
        state.progress(other, report("2/20 files", 10));
        assertEquals("2/20 files", state.work().orElseThrow().message());
        assertEquals(List.of(TOKEN, other), List.copyOf(state.tokens()));
    }

    @Test
    void aBriefStatusKeepsTheSkippedFilesThatAreKnown() {
        var skipped = List.of(new SkippedFile("big.bin", "binary"));
        state.update(status(State.READY, 5, skipped), false);
        state.update(status(State.INDEXING, 6, List.of()), true);
        assertEquals(skipped, state.statuses().iterator().next().skipped());
        state.update(status(State.EMPTY, 0, List.of()), true);
        assertEquals(List.of(), state.statuses().iterator().next().skipped());
    }

    @Test
    void anIndexThatIsNotOpenYetIsNotTakenForNone() {
        state.update(new StatusResult("file:///project", "project", State.EMPTY, "closed", 0, 0, 0, null, new ModelInfo("model", 256), "/cache", null, null, null,
                null, 0, null, null, null, null, 0, 0, 0, 0, 0, null, 0, null, null), true);
        assertTrue(state.statuses().isEmpty());
    }

    @Test
    void aServerThatHasGoneLeavesNothing() {
        state.update(status(State.INDEXING, 5, List.of()), false);
        state.progress(TOKEN, begin());
        state.forget();
        assertTrue(state.statuses().isEmpty() && state.work().isEmpty() && !state.indexing());
    }

    private static WorkDoneProgressBegin begin() {
        var begin = new WorkDoneProgressBegin();
        begin.setTitle("Indexing project");
        return begin;
    }

    private static WorkDoneProgressReport report(String message, int percentage) {
        var report = new WorkDoneProgressReport();
        report.setMessage(message);
        report.setPercentage(percentage);
        return report;
    }

    static StatusResult status(State state, int files, List<SkippedFile> skipped) {
        return status(state, "writer", files, 0, skipped);
    }

    /** {@code unfinished}: how many files a cancelled run left. */
    public static StatusResult status(State state, String role, int files, int unfinished, List<SkippedFile> skipped) {
        return new StatusResult("file:///project", "project", state, role, files, 2 * files, 1_500, Map.of("python", files),
                new ModelInfo("model", 256), "/cache", null, null, null, null, 0, unfinished == 0, unfinished, skipped, null, 0, 0, 0, 0, 0, null, 0, null, null);
    }
}
