package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Memory;
import carrel.memory.Project;
import carrel.memory.RealServer;
import carrel.protocol.Messages.Contribution;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import javax.swing.JButton;
import javax.swing.JMenuItem;
import javax.swing.JTree;
import javax.swing.KeyStroke;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The receipts in a window, changed by a person, over the real server. */
@Timeout(90)
class ReceiptPanelTest {
    private static final String QUESTION = "how is a parcel or a letter stamped by its weight?";

    @TempDir
    Path folder;

    @TempDir
    Path home;

    private final RecordingPanelHost host = new RecordingPanelHost();
    private RealServer server;
    private Memory memory;
    private Screen screen;
    private JTree tree;

    @BeforeEach
    void open() throws Exception {
        Project.writeLong(Project.write(folder));
        server = new RealServer(folder, home);
        memory = server.memory();
        screen = new Screen(() -> new MemoryPanel(memory, server.choices(), host), 420, 820);
        tree = screen.find(JTree.class, "receipts");
        memory.context(server.question(QUESTION)).join();
        screen.shows(this::rows, rows -> rows.size() > 3);
    }

    @AfterEach
    void close() {
        screen.close();
        server.close();
    }

    @Test
    void nothingIsOfferedBeforeARowIsChosen() {
        for (String name : new String[] {"pin", "remove", "repeat", "copy"}) {
            assertFalse(isOffered(name), name);
        }
        select(row -> row.endsWith(": " + QUESTION));
        assertTrue(isOffered("repeat") && isOffered("copy"));
        assertFalse(isOffered("pin") || isOffered("remove"));
    }

    @Test
    void onePlaceIsRemovedAndAllowedAgainAndTheOldReceiptStays() throws Exception {
        var parcel = select(row -> row.contains("stamp_parcel"));
        var place = parcel.substring(0, parcel.indexOf("  "));
        screen.click("remove");
        screen.shows(this::rows, now -> now.contains("excluded by you: " + place));
        var rows = unfoldedLeftOut();
        assertTrue(rows.stream().noneMatch(row -> row.contains("stamp_parcel")), rows.toString());
        var pack = memory.view().receipts().get(0).pack();
        assertTrue(pack.text().contains("stamp_letter"), pack.text());
        assertTrue(rows.stream().noneMatch(row -> row.startsWith(place + ": ")), "told once: " + rows);
        assertEquals(2, rows.stream().filter(row -> row.endsWith(": " + QUESTION)).count());
        assertFalse(memory.view().receipts().get(0).pack().text().contains("stamp_parcel"));
        screen.picture("receipt-removed");

        select(row -> row.equals("excluded by you: " + place));
        assertEquals("Include Again", screen.shows(screen.find(JButton.class, "remove")::getText, "Include Again"::equals));
        screen.click("remove");
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.contains("stamp_parcel")));
    }

    @Test
    void aFileIsPinnedToEveryQuestion() throws Exception {
        select(row -> row.contains("stamp_parcel"));
        screen.click("pin");
        screen.shows(this::rows, now -> now.stream().filter(row -> row.endsWith(": " + QUESTION)).count() == 2); // it was asked again
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.contains("src/post.py") && row.endsWith("  pinned")));
        memory.context(server.question("when can an order be cancelled?")).join();
        screen.shows(this::rows, now -> now.get(0).endsWith("when can an order be cancelled?"));
        select(row -> row.contains("src/post.py") && row.endsWith("  pinned"));
        assertEquals("Unpin", screen.shows(screen.find(JButton.class, "pin")::getText, "Unpin"::equals));
        screen.picture("receipt-pinned");
        screen.click("pin");
        screen.shows(() -> server.choices().get().pinned(), List::isEmpty);
        screen.shows(this::rows, now -> now.stream().noneMatch(row -> row.endsWith("  pinned")));
    }

    @Test
    void aPinnedFileThatIsGoneCanBeLetGo() throws Exception {
        select(row -> row.contains("stamp_parcel"));
        screen.click("pin");
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.endsWith("  pinned")));
        Files.delete(folder.resolve("src/post.py"));
        memory.context(server.question("when can an order be cancelled?")).join();
        screen.shows(this::rows, now -> now.contains("pinned, not given: src/post.py"));
        select(row -> row.equals("pinned, not given: src/post.py"));
        screen.click("pin");
        screen.shows(() -> server.choices().get().pinned(), List::isEmpty);
    }

    @Test
    void aQuestionIsRepeatedAboutTheFilesAsTheyAreNowAndCopied() throws Exception {
        Files.writeString(folder.resolve("src/post.py"), "def stamp_letter(weight):\n    return 'stamped by moonlight, by its weight'\n");
        select(row -> row.endsWith(": " + QUESTION));
        screen.click("repeat");
        screen.shows(() -> memory.view().receipts().get(0).pack().text(), text -> text.contains("moonlight"));
        screen.shows(this::rows, now -> now.stream().filter(row -> row.endsWith(": " + QUESTION)).count() == 2);
        screen.click("copy"); // the repeated question took over the selection
        var copied = screen.shows(() -> host.copied, texts -> !texts.isEmpty()).get(0);
        assertTrue(copied.contains("moonlight") && copied.endsWith("\n\n" + QUESTION), copied);
    }

    @Test
    void theMenuAndTheKeysDoTheSame() {
        var parcel = select(row -> row.contains("stamp_parcel"));
        press("ENTER");
        assertTrue(host.opened.get(0).contains("/src/post.py#"), host.opened.toString());
        press("DELETE");
        screen.shows(this::rows, now -> now.contains("excluded by you: " + parcel.substring(0, parcel.indexOf("  "))));
        select(row -> row.startsWith("src/post.py:"));
        assertEquals(List.of("Open", "Pin", "Exclude", "Exclude the Whole File", "Search Again", "Copy"), Screen.onEdt(this::menu));
        Screen.onEdt(() -> {
            ((JMenuItem) tree.getComponentPopupMenu().getComponent(3)).doClick();
            return null;
        });
        screen.shows(this::rows, now -> now.contains("excluded by you: src/post.py"));
        assertFalse(memory.view().receipts().get(0).pack().text().contains("stamp_"));
    }

    @Test
    void itSaysWhereAQuestionWent() throws Exception {
        close();
        var notes = Files.createDirectory(home.resolve("notes"));
        Files.writeString(notes.resolve("restart.md"), "# Restart of the shop\n\nTake the host off the load balancer, then restart.\n");
        var settings = Files.createDirectories(home.resolve("carrel")).resolve("settings.toml");
        Files.writeString(settings, "[sources.ops]\nfolder = '%s'\n[sources.past]\nkind = 'git'\n".formatted(notes));
        open();
        select(row -> row.startsWith("searched: "));
        unfold();
        screen.shows(this::rows, now -> now.contains("past: not searched, nothing in the question speaks for it"));
        memory.context(server.question("restart the shop according to protocol")).join();
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.startsWith("searched: ops")));
    }

    @Test
    void aPlaceTellsInASentenceWhyAndItsScoreAsASumBehindADisclosure() throws Exception {
        var rows = Screen.onEdt(this::rows);
        assertTrue(rows.stream().anyMatch(row -> row.startsWith("Defines stamp_parcel") && row.contains("“stamped”")), rows.toString());
        assertTrue(rows.stream().noneMatch(row -> row.startsWith("+")), "folded at first: " + rows);
        assertTrue(rows.stream().anyMatch(row -> row.matches("confidence: 0\\.\\d\\d")), rows.toString());
        select(row -> row.equals("how the score adds up"));
        unfold();
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.matches("\\+\\d\\.\\d\\d  words of the question")));
        var hit = memory.view().receipts().get(0).pack().hits().get(0);
        double sum = hit.signals().contributions().stream().mapToDouble(Contribution::share).sum();
        assertEquals(hit.score(), sum, 0.011);
        screen.picture("receipt-why");
    }

    @Test
    void whatWasLeftOutIsNamedWithItsReason() throws Exception {
        var code = "def stamp_stamp(weight):\n    \"\"\"Stamp a parcel or a letter by its weight, from the table of rates.\"\"\"\n    return weight * 4\n";
        for (var version : new String[] {"v1", "v2"}) {
            Files.writeString(Files.createDirectories(folder.resolve("api/" + version)).resolve("rates.py"), code);
        }
        memory.index().join();
        memory.context(server.question(QUESTION)).join();
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.matches("left out: \\d+ places?")));
        select(row -> row.startsWith("left out: "));
        unfold();
        screen.shows(this::rows, now -> now.stream().anyMatch(row -> row.matches("api/v[12]/rates.py.*: .*api/v[12]/rates.py.*")));
        screen.picture("receipt-left-out");
    }

    @Test
    void aQuestionThatNothingFitsSaysSo() {
        memory.context(server.question("hello!")).join();
        screen.shows(this::rows, now -> now.contains("no place of the project goes with this question"));
    }

    private List<String> unfoldedLeftOut() {
        if (Screen.onEdt(this::rows).stream().anyMatch(row -> row.startsWith("left out: "))) {
            select(row -> row.startsWith("left out: "));
            unfold();
        }
        return Screen.onEdt(this::rows);
    }

    private void unfold() {
        Screen.onEdt(() -> {
            tree.expandPath(tree.getSelectionPath());
            return null;
        });
    }

    private void press(String key) {
        Screen.onEdt(() -> {
            tree.getActionMap().get(tree.getInputMap().get(KeyStroke.getKeyStroke(key))).actionPerformed(null);
            return null;
        });
    }

    private List<String> menu() {
        var texts = new ArrayList<String>();
        for (var item : tree.getComponentPopupMenu().getComponents()) {
            texts.add(((JMenuItem) item).getText());
        }
        return texts;
    }

    private boolean isOffered(String button) {
        return Screen.onEdt(screen.find(JButton.class, button)::isEnabled);
    }

    /** Select the first row like this; gives its text. */
    private String select(Predicate<String> wanted) {
        return Screen.onEdt(() -> {
            var rows = Screen.rows(tree);
            int row = 0;
            while (!wanted.test(rows.get(row))) {
                row++;
            }
            tree.setSelectionRow(row);
            return rows.get(row);
        });
    }

    private List<String> rows() {
        return Screen.rows(tree);
    }
}
