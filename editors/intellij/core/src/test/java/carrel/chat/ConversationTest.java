package carrel.chat;

import static carrel.memory.Eventually.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Memory;
import carrel.memory.Project;
import carrel.memory.Question;
import carrel.memory.RealServer;
import carrel.protocol.CarrelServer;
import carrel.protocol.Messages.ActiveEditor;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.eclipse.lsp4j.Position;
import org.eclipse.lsp4j.Range;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A conversation over the real server with a chat model behind real HTTP. */
@Timeout(90)
@EnabledOnOs(value = OS.LINUX, disabledReason = "elsewhere the settings file is where the system says")
class ConversationTest {
    private static final String HOW = "how is the password of a user checked?";
    private static final String GOOD = "`authenticate_user` does it (src/accounts/login.py:3-8).";

    @TempDir
    Path folder;

    @TempDir
    Path home;

    private PlayedModel model;
    private RealServer server;
    private Conversation conversation;

    @BeforeEach
    void open() throws IOException {
        model = new PlayedModel();
        server = new RealServer(Project.write(folder), home);
        conversation = new Conversation(server.memory());
    }

    @AfterEach
    void close() {
        server.close();
        model.close();
    }

    @Test
    void aConnectionThatRefusesTheQuestionAtOnceEndsTheAnswer() {
        var server = (CarrelServer) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {CarrelServer.class}, (proxy, method, values) -> {
            throw new IllegalStateException("The connection is closed.");
        });
        var broken = new Conversation(new Memory(() -> CompletableFuture.completedFuture(server), List::of, List::of));
        assertTrue(broken.ask(Question.of(folder.toUri().toString(), HOW, null, List.of())));
        assertFalse(broken.isAnswering());
        assertEquals(List.of("The connection is closed."), broken.turns().get(0).problems());
    }

    @Test
    void anAnswerStreamsInWithItsToolsAndEndsWithCheckedPlacesAndAReceipt() throws Exception {
        var bad = GOOD + " Not src/other.py:7.";
        model.setIn(home).searches("login").says(bad).says(bad); // asked again, since a place doesn't hold
        var texts = new CopyOnWriteArrayList<String>();
        conversation.onChange(() -> texts.add(conversation.turns().get(0).text()));

        var turn = answered(HOW);

        assertEquals(List.of("search_code: login", "asked again"), turn.steps());
        assertTrue(texts.contains("Let me ") && texts.contains("`authenticate_user` does "), "pieces were " + texts);
        assertTrue(turn.text().startsWith(GOOD), turn.text());
        var places = turn.places();
        assertEquals(List.of("src/accounts/login.py", "src/other.py"), places.stream().map(one -> one.path()).toList());
        assertTrue(places.get(0).ok() && !places.get(1).ok());
        assertEquals(folder.resolve("src/accounts/login.py"), Path.of(URI.create(places.get(0).uri())));
        assertEquals("the file was not given", places.get(1).reason());
        assertEquals(List.of(), turn.problems());
        var receipt = server.memory().view().receipts().get(0);
        assertEquals(turn.pack(), receipt.pack());
        assertEquals(HOW, receipt.question().text());
    }

    @Test
    void aFollowUpIsAskedAfterWhatWasSaidUntilAPersonBeginsAnew() throws Exception {
        model.setIn(home).says(GOOD).says("Nobody.").says("An hour.");
        answered(HOW);
        answered("and who calls it?");
        var second = model.requests().get(1);
        assertEquals(3, second.size(), second.toString());
        assertTrue(second.get(0).endsWith(HOW) && second.get(1).equals(GOOD) && second.get(2).endsWith("and who calls it?"), second.toString());

        conversation.forget();
        assertEquals(List.of(), conversation.turns());
        answered("how long does a session last?");
        assertEquals(1, model.requests().get(2).size());
        assertEquals(1, conversation.turns().size());
    }

    @Test
    void whatIsSelectedIsGiven() throws Exception {
        model.setIn(home).says("An hour.");
        var tokens = folder.resolve("src/accounts/tokens.py").toUri().toString();
        var active = new ActiveEditor(tokens, new Range(new Position(8, 0), new Position(9, 20)));
        conversation.ask(Question.of(folder.toUri().toString(), "what does this do?", active, List.of(tokens)));
        var turn = eventually(this::last, one -> !one.answering());
        assertTrue(turn.pack().hits().get(0).attached(), turn.toString());
        assertTrue(model.requests().get(0).get(0).contains("def is_expired"), model.requests().toString());
    }

    @Test
    void aQuestionIsTakenBackAndNoOtherIsAskedMeanwhile() throws Exception {
        var gate = new CountDownLatch(1);
        model.setIn(home).begins("It is ", gate).says(GOOD);
        assertTrue(conversation.ask(server.question(HOW)));
        eventually(this::last, turn -> turn.text().equals("It is "));
        assertFalse(conversation.ask(server.question("and this?")));
        assertEquals(1, conversation.turns().size());

        conversation.cancel();
        assertEquals(new Turn(HOW, List.of(), "", List.of(), List.of("cancelled"), null, false), last());
        gate.countDown();
        answered("and now?");
        assertEquals(1, model.requests().get(1).size(), "a question without an answer is no part of the conversation");
        assertEquals(List.of("cancelled"), conversation.turns().get(0).problems());
    }

    @Test
    void withoutAModelItSaysHowToSetOne() {
        var problem = answered(HOW).problems().get(0);
        assertTrue(problem.startsWith("No chat model is set") && problem.contains("carrel models set chat "), problem);
        assertFalse(conversation.isAnswering());
    }

    @Test
    void aServerThatDiesEndsTheAnswer() throws Exception {
        model.setIn(home).begins("It is ", new CountDownLatch(1)).says(GOOD);
        conversation.ask(server.question(HOW));
        eventually(this::last, turn -> turn.text().equals("It is "));
        server.kill();
        var problems = eventually(this::last, turn -> !turn.answering()).problems();
        assertEquals(List.of("Carrel's server stopped before it answered. Ask again: it starts when it is asked."), problems);
        assertEquals(GOOD, answered(HOW).text());
    }

    @Test
    void aModelThatIsAwayIsNamed() throws Exception {
        model.setIn(home).close();
        var problem = answered(HOW).problems().get(0);
        assertTrue(problem.contains("ollama") || problem.contains("127.0.0.1"), problem);
    }

    private Turn answered(String question) {
        assertTrue(conversation.ask(server.question(question)));
        return eventually(this::last, turn -> !turn.answering());
    }

    private Turn last() {
        var turns = conversation.turns();
        return turns.get(turns.size() - 1);
    }
}
