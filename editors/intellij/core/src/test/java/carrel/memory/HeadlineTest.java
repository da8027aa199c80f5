package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import carrel.memory.Memory.View;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HeadlineTest {
    private static final ServerState RUNNING = new ServerState.Running("carrel");
    private static final StatusResult READY = MemoryStateTest.status(State.READY, 3, List.of());
    private static final StatusResult EMPTY = MemoryStateTest.status(State.EMPTY, 0, List.of());
    private static final StatusResult PARTIAL = MemoryStateTest.status(State.READY, "writer", 10, 5, List.of());

    @Test
    void aProjectThatNobodyIndexedIsWelcomed() {
        assertEquals(new Headline("not indexed yet", "Index", true), Headline.of(view(RUNNING, EMPTY), true));
        assertEquals(
                new Headline("on request; the first question or an index run starts it", "Index", true), Headline.of(view(new ServerState.Stopped(false)), false));
    }

    @Test
    void aStatusBarHasRoomForAFewWords() {
        assertEquals("Carrel: on request", Headline.of(view(new ServerState.Stopped(false)), false).inStatusBar());
        assertEquals("Carrel: 10 of 15 files: resume", Headline.of(view(RUNNING, PARTIAL), true).inStatusBar());
    }

    @Test
    void nothingIsSaidOfAnIndexThatIsBeingOpened() {
        assertEquals("opening", Headline.of(view(RUNNING), true).text());
        assertEquals("starting", Headline.of(view(new ServerState.Starting()), true).text());
    }

    @Test
    void aServerThatStoppedIsNotTakenForANewProject() {
        assertEquals(new Headline("stopped", "Index", false), Headline.of(view(new ServerState.Stopped(true)), true));
        assertEquals(false, Headline.of(view(new ServerState.Stopped(true)), false).welcome());
        assertEquals(new Headline("problem", "Index", false), Headline.of(view(new ServerState.Failed("no server", "install it")), false));
    }

    @Test
    void aPartOfAProjectIsResumed() {
        assertEquals(new Headline("10 of 15 files: resume", "Resume", false), Headline.of(view(RUNNING, READY, PARTIAL), false));
    }

    @Test
    void aRunIsToldBeforeTheStateOfWhatIsThere() {
        var view = new View(RUNNING, List.of(PARTIAL), Optional.of(new Work("Indexing", "1200/3005 files", 39)), true, List.of());
        assertEquals("indexing, 1,200 of 3,005 files", Headline.of(view, false).text());
    }

    @Test
    void oneFolderThatIsIndexedAnswers() {
        assertEquals(new Headline("ready", "Index", false), Headline.of(view(RUNNING, EMPTY, READY), true));
    }

    private static View view(ServerState server, StatusResult... statuses) {
        return new View(server, List.of(statuses), Optional.empty(), false, List.of());
    }
}
