package carrel.memory;

import static carrel.memory.Eventually.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.protocol.Messages.ActiveEditor;
import carrel.protocol.Messages.ContextParams;
import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HistoryTurn;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import carrel.protocol.Messages.Trigger;
import carrel.server.ServerUnavailable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.eclipse.lsp4j.Position;
import org.eclipse.lsp4j.Range;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
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
        assertEquals("how is the password of a user checked?", receipt.question().text());
        assertEquals(pack, receipt.pack());
        var question = server.question("where is the pool of database connections?");
        var newest = memory.context(question).thenApply(answer -> memory.view().receipts().get(0).question()).join();
        assertEquals(question, newest, "the receipt comes before the answer");
    }

    @Test
    void theSelectionIsGivenOnceBeforeWhatIsFound() {
        memory.index().join();
        var tokens = folder.resolve("src/accounts/tokens.py").toUri().toString();
        var active = new ActiveEditor(tokens, new Range(new Position(8, 0), new Position(9, 20)));
        var pack = memory.context(Question.of(uri(), "where is the pool of database connections?", active, List.of(tokens))).join();
        var selected = pack.hits().get(0);
        assertTrue(selected.attached(), selected.toString());
        assertEquals("src/accounts/tokens.py", selected.path());
        assertEquals(2, pack.text().split("def is_expired", -1).length, pack.text());
        assertTrue(paths(pack).contains("src/storage/Database.java"), paths(pack).toString());
        assertEquals("You selected or attached these lines.", Why.sentence(selected, tokens, false));
    }

    @Test
    void aFollowUpIsSearchedForByTheQuestionsBeforeIt() {
        memory.index().join();
        memory.context(server.question("how does `Database` pool its connections?")).join();
        memory.context(server.question("how does `Database` pool its connections?")).join(); // repeated: one turn
        var asked = memory.afterEarlier(server.question("and who calls it?"));
        assertEquals(List.of(new HistoryTurn("user", "how does `Database` pool its connections?")), asked.history());
        var pack = memory.context(asked).join();
        assertEquals("and who calls `Database`?", pack.rewritten());
        assertEquals(asked.history(), asked.without(new Place("file:///a.py", "a.py", 1, 2)).history());
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

    @Test
    void aPlaceIsRemovedAndAllowedAgain() throws Exception {
        Project.writeLong(folder);
        var question = server.question("how is a parcel or a letter stamped by its weight?");
        var first = memory.context(question).join();
        var parcel = first.hits().stream().filter(hit -> hit.text().contains("stamp_parcel")).findFirst().orElseThrow();
        assertTrue(first.text().contains("stamp_letter"), first.text());

        var without = question.without(Place.of(parcel));
        var second = memory.context(without).join();
        assertFalse(second.text().contains("stamp_parcel"), second.text());
        assertTrue(second.text().contains("stamp_letter"), second.text());
        assertTrue(second.hits().stream().anyMatch(hit -> hit.uri().equals(parcel.uri())), "the rest of the file may answer");

        var third = memory.context(without.allowing(Place.of(parcel))).join();
        assertTrue(third.text().contains("stamp_parcel"), third.text());
        var fourth = memory.context(question.without(Place.of(parcel).wholeFile())).join();
        assertTrue(fourth.hits().stream().noneMatch(hit -> hit.uri().equals(parcel.uri())), "the whole file is out");
        assertEquals(4, memory.view().receipts().size());
    }

    @Test
    void aFileAtTheRootIsRemovedWithoutItsNamesakes() throws Exception {
        Files.writeString(Files.createDirectories(folder.resolve("shop")).resolve("notes.txt"), "The connection pool of the summer sale is larger.\n");
        var question = server.question("what about the connection pool and the summer sale?");
        var both = paths(memory.context(question).join());
        assertTrue(both.containsAll(List.of("notes.txt", "shop/notes.txt")), both.toString());

        var root = new Place(folder.resolve("notes.txt").toUri().toString(), "notes.txt", 0, 0);
        var one = paths(memory.context(question.without(root)).join());
        assertTrue(one.contains("shop/notes.txt") && !one.contains("notes.txt"), one.toString());
    }

    @Test
    void aPinnedFileIsInEveryAnswerUntilItIsLetGo() {
        memory.index().join();
        var orders = folder.resolve("docs/orders.md").toUri().toString();
        var question = server.question("where is the pool of database connections?");
        assertFalse(paths(memory.context(question).join()).contains("docs/orders.md"));
        server.choices().set(server.choices().get().withPinned(orders, true).withPinned(orders, true));
        assertTrue(paths(memory.context(question).join()).contains("docs/orders.md"));
        assertEquals(List.of(orders), memory.view().receipts().get(0).pinned());
        server.choices().set(server.choices().get().withPinned(orders, false));
        assertFalse(paths(memory.context(question).join()).contains("docs/orders.md"));
    }

    @Test
    void theIndexIsDeleted() {
        memory.index().join();
        assertTrue(memory.clear().join() > 0);
        assertEquals(State.EMPTY, status().state());
        assertEquals("5 files indexed, 0 files unchanged, 0 removed", memory.index().join().words());
    }

    @Test
    void anExcludedFolderIsNotFoundUntilItIsTakenInAgain() throws Exception {
        server.excludeFromTheStart(folder.resolve("src/accounts"));
        memory.index().join();
        assertEquals(List.of("docs/orders.md", "notes.txt", "src/storage/Database.java"), everything());
        var process = server.pid();

        server.exclude(folder.resolve("docs"));
        var withoutDocs = List.of("notes.txt", "src/accounts/login.py", "src/accounts/tokens.py", "src/storage/Database.java");
        eventually(this::everything, withoutDocs::equals);
        assertEquals("src/accounts/login.py", ask("how is the password of a user checked?").hits().get(0).path());

        server.exclude();
        eventually(this::everything, found -> found.size() == 5);
        assertEquals(process, server.pid(), "the server was started again");
    }

    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "elsewhere the settings file is where the system says")
    void aPersonsOwnSettingsTakeAnExcludedFolderIn() throws Exception {
        var own = Files.createDirectories(home.resolve("carrel")).resolve("settings.toml");
        Files.writeString(own, "exclude = [\"!/docs/\"]\n");
        server.excludeFromTheStart(folder.resolve("docs"), folder.resolve("src"));
        memory.index().join();
        assertEquals(List.of("docs/orders.md", "notes.txt"), everything());
    }

    /** As step 7 of TRY.md has a person do it. */
    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "elsewhere the settings file is where the system says")
    void aRemoteModelIsAskedForOnceAndARefusalStillGetsAnAnswer() throws Exception {
        var own = Files.createDirectories(home.resolve("carrel")).resolve("settings.toml");
        Files.writeString(own, """
                [models.embedder]
                provider = "openai"
                model = "text-embedding-3-small"
                baseUrl = "https://example.com/v1"
                key = "none"
                """);
        assertEquals("src/accounts/login.py", ask("how is the password of a user checked?").hits().get(0).path());
        var asked = eventually(server::asked, questions -> !questions.isEmpty()).get(0);
        assertEquals("Carrel: Allow Text to Be Sent to a Remote Model?", asked.title());
        assertTrue(asked.text().contains("openai") && asked.text().contains("example.com"), asked.text());
        ask("who keeps the database connections?");
        assertEquals(1, server.asked().size());
    }

    @Test
    void excludingTheProjectItselfExcludesNothing() {
        server.excludeFromTheStart(folder, folder.getParent());
        memory.index().join();
        assertEquals(5, status().files());
    }

    @Test
    void aNameThatCouldBeAGlobExcludesOnlyItself() throws Exception {
        assertOnlyTheseAreExcluded(List.of("[ab]", "{a,b}", "!a", "#a", "a%20b", "a b", "über"), List.of("a", "b", "x/[ab]"));
    }

    @Test
    @DisabledOnOs(value = OS.WINDOWS, disabledReason = "no folder can have such a name")
    void aNameThatWindowsForbidsExcludesOnlyItself() throws Exception {
        assertOnlyTheseAreExcluded(List.of("*", "a?", "a\\b", "blank "), List.of("ab", "blank"));
    }

    private void assertOnlyTheseAreExcluded(List<String> excluded, List<String> others) throws Exception {
        for (String name : Stream.concat(excluded.stream(), others.stream()).toList()) {
            Files.writeString(Files.createDirectories(folder.resolve(name)).resolve("part.py"), "def part():\n    return 'a pool'\n");
        }
        memory.index().join();
        assertEquals(excluded.size() + others.size(), parts().size(), "not all are found: " + parts());
        server.exclude(excluded.stream().map(folder::resolve).toArray(Path[]::new));
        eventually(this::parts, found -> found.equals(others.stream().map(name -> name + "/part.py").toList()));
    }

    private List<String> parts() {
        return everything().stream().filter(path -> path.endsWith("/part.py")).toList();
    }

    /** The paths of all files that can be found. */
    private List<String> everything() {
        var hits = memory.search(uri(), "connection pool, orders, session token, password, part", 50).join().hits();
        return hits.stream().map(HitResult::path).distinct().sorted().toList();
    }

    private static List<String> paths(ContextResult pack) {
        return pack.hits().stream().map(HitResult::path).toList();
    }

    private ContextResult ask(String question) {
        return memory.context(server.question(question)).join();
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
