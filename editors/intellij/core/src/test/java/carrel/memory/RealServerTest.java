package carrel.memory;

import static carrel.memory.Eventually.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.protocol.Messages.ContextParams;
import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import carrel.protocol.Messages.Trigger;
import carrel.server.ServerUnavailable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The memory against the server that ships. */
@Timeout(90)
class RealServerTest {
    @TempDir
    Path folder;

    @TempDir
    Path home;

    private RealServer server;
    private Memory memory;

    @BeforeEach
    void open() throws IOException {
        server = new RealServer(Project.write(folder), home);
        memory = server.memory();
    }

    @AfterEach
    void close() {
        server.close();
    }

    @Test
    void indexesAProjectAndShowsIt() {
        var messages = new CopyOnWriteArrayList<String>();
        memory.onChange(() -> memory.view().work().ifPresent(work -> messages.add(work.message())));

        var summary = memory.index().join();

        assertEquals("5 files indexed, 0 files unchanged, 0 removed", summary.words());
        assertTrue(messages.stream().anyMatch(message -> message.matches("\\d+/5 files")), "progress was " + messages);
        var status = status();
        assertEquals(State.READY, status.state());
        assertEquals(5, status.files());
        assertTrue(status.chunks() >= 5, "chunks: " + status.chunks());
        assertTrue(status.bytes() > 0 && status.model().dims() > 0);
        assertTrue(eventually(memory::view, view -> view.work().isEmpty()).statuses().size() == 1);
        assertEquals("0 files indexed, 5 files unchanged, 0 removed", memory.index().join().words());
    }

    @Test
    void aQuestionIndexesFirstAndLeavesAReceipt() {
        var pack = ask("how is the password of a user checked?");

        assertEquals("src/accounts/login.py", pack.hits().get(0).path());
        assertTrue(pack.text().contains("def authenticate_user"), pack.text());
        assertTrue(pack.tokens() > 0);
        var receipt = memory.view().receipts().get(0);
        assertEquals("how is the password of a user checked?", receipt.question());
        assertEquals(pack, receipt.pack());
    }

    @Test
    void searchGivesPlaces() {
        memory.index().join();
        HitResult best = memory.search(uri(), "pool of connections", 10).join().hits().get(0);
        assertEquals("src/storage/Database.java", best.path());
        assertEquals(best.startLine() - 1, best.range().getStart().getLine());
    }

    @Test
    void aChatGetsNothingUntilTheMemoryIsOn() {
        memory.index().join();
        assertEquals("", chat().text());
        server.choose(Choices.NONE.withEnabled(true).withTopK(2));
        var pack = eventually(this::chat, answer -> !answer.text().isEmpty());
        assertTrue(pack.hits().size() <= 2, "hits: " + pack.hits().size());
        server.choose(Choices.NONE.withEnabled(false));
        eventually(this::chat, answer -> answer.text().isEmpty());
    }

    @Test
    void aRunCanBeStoppedAndGoesOnLater() throws Exception {
        Project.writeMany(folder, 1_500);
        var run = memory.index();
        eventually(memory::view, view -> view.work().isPresent());
        memory.cancel();

        var summary = run.get(20, TimeUnit.SECONDS);
        assertTrue(summary.cancelled(), summary.toString());
        assertTrue(status().files() < 1_505, "files: " + status().files());
        eventually(memory::view, view -> !view.indexing());

        memory.index().join();
        assertEquals(1_505, status().files());
    }

    @Test
    void aServerThatDiesTakesItsStateAlongAndIsStartedByTheNextQuestion() throws Exception {
        Project.writeMany(folder, 1_500);
        var run = memory.index();
        eventually(memory::view, view -> view.work().isPresent());

        server.kill();

        var error = assertThrows(CompletionException.class, run::join);
        assertInstanceOf(ServerUnavailable.class, Memory.cause(error));
        var view = eventually(memory::view, now -> now.server() instanceof ServerState.Stopped);
        assertTrue(view.statuses().isEmpty() && view.work().isEmpty() && !view.indexing(), view.toString());

        assertNull(ask("how is the password of a user checked?").error());
        assertInstanceOf(ServerState.Running.class, memory.view().server());
    }

    @Test
    void autoIndexingIsSeenThoughNobodyAsked() {
        memory.refresh().join();
        assertEquals(State.EMPTY, status().state());
        server.choose(Choices.NONE.withAutoIndex(true));
        eventually(memory::view, view -> view.statuses().stream().anyMatch(one -> one.state() == State.READY && one.files() == 5));
    }

    private ContextResult ask(String question) {
        return memory.context(uri(), question, null, null).join();
    }

    private ContextResult chat() {
        return server.server().join().context(ContextParams.of(uri(), "how is the password checked?", Trigger.CHAT, null, null, null)).join();
    }

    private StatusResult status() {
        return memory.view().statuses().iterator().next();
    }

    private String uri() {
        return folder.toUri().toString();
    }
}
