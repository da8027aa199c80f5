package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.HeldChoices;
import carrel.memory.Memory;
import carrel.memory.MemoryStateTest;
import carrel.memory.Project;
import carrel.memory.RealServer;
import carrel.protocol.Messages.State;
import carrel.server.ServerUnavailable;
import java.awt.Component;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JLabel;
import javax.swing.JProgressBar;
import javax.swing.JSpinner;
import javax.swing.JTextArea;
import javax.swing.JTree;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The panel in a window, clicked, over the real server. */
@Timeout(90)
class MemoryPanelTest {
    @TempDir
    Path folder;

    @TempDir
    Path home;

    private RealServer server;
    private HeldChoices choices;
    private Memory memory;
    private Screen screen;
    private final RecordingPanelHost host = new RecordingPanelHost();

    @BeforeEach
    void open() throws Exception {
        server = new RealServer(Project.write(folder), home);
        choices = server.choices();
        memory = server.memory();
        screen = new Screen(() -> new MemoryPanel(memory, choices, host), 420, 680);
    }

    @AfterEach
    void close() {
        screen.close();
        server.close();
    }

    @Test
    void aPersonIndexesAsksAndReadsTheReceipt() throws Exception {
        assertEquals("not asked yet", value("State"));
        screen.click("enabled");
        assertTrue(choices.get().enabled());
        screen.find(JSpinner.class, "topK").setValue(3);
        assertEquals(3, choices.get().topK());

        screen.click("index");
        assertEquals("ready", screen.shows(() -> text("State"), "ready"::equals));
        assertEquals("5", screen.shows(() -> text("Files"), "5"::equals));
        assertTrue(Integer.parseInt(value("Pieces")) >= 5);
        assertTrue(value("Size").endsWith("KB") || value("Size").endsWith("MB"), value("Size"));
        assertEquals("built in, runs here", value("Search model"));
        screen.shows(this::note, text -> text.equals("5 files indexed, 0 files unchanged, 0 removed"));
        screen.shows(() -> screen.find(JProgressBar.class, "progress").isVisible(), visible -> !visible);

        memory.context(server.question("how is the password of a user checked?")).join();
        memory.context(server.question("who keeps the database connections?")).join();
        var tree = screen.find(JTree.class, "receipts");
        var rows = screen.shows(() -> Screen.rows(tree), lines -> lines.size() > 2);
        assertTrue(rows.get(0).matches("\\d+ tokens: who keeps the database connections\\?"), rows.get(0));
        assertTrue(rows.get(1).matches("[1-3] places?, \\d+ tokens \\(.* of 4,000 characters\\)"), rows.get(1));
        assertTrue(rows.get(2).startsWith("src/storage/Database.java:"), rows.get(2));

        Screen.onEdt(() -> {
            tree.setSelectionRow(2);
            return null;
        });
        screen.picture("memory-panel");
    }

    @Test
    void aNewProjectIsWelcomedWithOneButton() throws Exception {
        assertTrue(visible("welcome") && visible("index"));
        assertFalse(visible("cancel") || visible("clear") || visible("status.State") || visible("receipts"));
        assertEquals("Carrel: on request; the first question or an index run starts it", Screen.onEdt(this::headline));
        screen.picture("memory-panel-welcome");
        screen.click("index");
        screen.shows(this::headline, "Carrel: ready"::equals);
        screen.shows(() -> screen.find(Component.class, "welcome").isShowing(), showing -> !showing);
        assertTrue(visible("clear") && visible("status.State") && visible("receipts"));
    }

    @Test
    void nothingIsSwitchedOnInAProjectThatIsNotTrusted() throws Exception {
        host.trusted = false;
        memory.refresh().join();
        screen.shows(this::note, text -> text.startsWith("Switched off: this project isn't trusted."));
        for (var name : new String[] {"enabled", "autoIndex", "index"}) {
            assertFalse(Screen.onEdt(screen.find(Component.class, name)::isEnabled), name);
        }
        assertFalse(visible("welcome"), "it would tell to press Index");
        screen.picture("memory-panel-untrusted");
    }

    @Test
    void theIndexIsDeletedWhenThePersonIsSure() throws Exception {
        screen.click("index");
        screen.shows(() -> text("Files"), "5"::equals);
        screen.shows(() -> screen.find(JButton.class, "clear").isEnabled(), on -> on);
        screen.click("clear");
        assertEquals(List.of("Delete: Delete the index of this project? Your files stay as they are."), host.asked);
        assertEquals("5", value("Files"));
        host.agrees = true;
        screen.click("clear");
        screen.shows(this::note, text -> text.matches("The index is deleted, .*B freed"));
        assertEquals("not indexed yet", screen.shows(() -> text("State"), "not indexed yet"::equals));
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void anIndexThatAnotherProcessWritesIsToldWithTheRemedy() throws Exception {
        try (var writer = new RealServer(folder, home)) {
            writer.memory().index().join();
            screen.click("index");
            screen.shows(this::note, text -> text.equals("0 files indexed, 5 files unchanged, 0 removed"));
            Files.writeString(folder.resolve("refunds.txt"), "A refund is made the same day, whatever was paid.\n");
            writer.freeze();
            screen.click("index");
            screen.shows(this::note, text -> text.equals("Failed: Another Carrel process writes this index, and 1 changed file waits"
                    + " for it. Index there (an editor has a command for it), or close it and try again."));
            screen.picture("memory-panel-other-writer");
        }
    }

    @Test
    @EnabledOnOs({OS.LINUX, OS.MAC})
    void progressShowsFilesAndCancelStops() throws Exception {
        Project.writeMany(folder, 3_000);
        var bar = screen.find(JProgressBar.class, "progress");
        // Held as soon as it is seen: the run may be over before a busy machine looks again.
        bar.addPropertyChangeListener("string", change -> {
            if (String.valueOf(change.getNewValue()).matches("[\\d,]+ of 3,005 files")) {
                server.freeze();
            }
        });
        screen.click("index");
        screen.shows(bar::getString, text -> text.matches("[\\d,]+ of 3,005 files"));
        screen.shows(this::headline, text -> text.matches("Carrel: indexing, [\\d,]+ of 3,005 files"));
        assertFalse(Screen.onEdt(() -> screen.find(JButton.class, "index").isEnabled()));
        screen.picture("memory-panel-indexing");

        screen.click("cancel");
        server.thaw();
        screen.shows(this::note, text -> text.matches("cancelled, [\\d,]+ files? kept"));
        screen.shows(() -> screen.find(JButton.class, "index").isEnabled(), on -> on);
        assertFalse(Screen.onEdt(bar::isVisible));
    }

    @Test
    void aPartOfTheProjectIsToldAndResumed() throws Exception {
        memory.statusChanged(MemoryStateTest.status(State.READY, "writer", 18_445, 31_556, List.of()));
        screen.shows(this::headline, "Carrel: 18,445 of 50,001 files: resume"::equals);
        assertEquals("Resume", Screen.onEdt(screen.find(JButton.class, "index")::getText));
        assertTrue(visible("clear") && !visible("welcome"));
        screen.picture("memory-panel-partial");
    }

    @Test
    void aServerThatDiesIsToldAndStartsWithTheNextPress() throws Exception {
        screen.click("index");
        screen.shows(() -> text("State"), "ready"::equals);
        assertEquals("carrel, started by the tests", value("Server"));

        server.kill();
        screen.shows(this::note, text -> text.equals("The server stopped. It starts again with the next question or index run."));
        assertEquals("not asked yet", value("State"));
        assertEquals("–", value("Server"));

        screen.click("index");
        screen.shows(this::note, text -> text.equals("0 files indexed, 5 files unchanged, 0 removed"));
    }

    @Test
    void aServerThatIsMissingIsToldWithTheRemedy() throws Exception {
        var problem = "Carrel found no server to start: carrel is not on PATH; /usr/bin/python3 has no Carrel.";
        var remedy = "Install Carrel, or choose its program in Settings | Tools | Carrel.";
        memory.serverFailed(new ServerUnavailable(problem, remedy));
        screen.shows(this::note, text -> text.equals(problem + " " + remedy));
        var area = screen.find(JTextArea.class, "note");
        screen.shows(area::getHeight, height -> height > 2 * area.getFont().getSize()); // wrapped, and all lines to be seen
        screen.picture("memory-panel-missing");
    }

    @Test
    void aChoiceMadeElsewhereIsShown() {
        choices.set(choices.get().withAutoIndex(true).withTopK(9));
        screen.shows(() -> screen.find(JCheckBox.class, "autoIndex").isSelected(), on -> on);
        screen.shows(() -> screen.find(JSpinner.class, "topK").getValue(), value -> value.equals(9));
    }

    private String value(String row) {
        return Screen.onEdt(() -> text(row));
    }

    private String text(String row) {
        return screen.find(JLabel.class, "status." + row).getText();
    }

    private String headline() {
        return screen.find(JLabel.class, "headline").getText();
    }

    private boolean visible(String name) {
        return Screen.onEdt(screen.find(Component.class, name)::isShowing);
    }

    private String note() {
        return screen.find(JTextArea.class, "note").getText();
    }
}
