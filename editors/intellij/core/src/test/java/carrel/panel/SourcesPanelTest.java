package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Project;
import carrel.memory.RealServer;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.swing.JButton;
import javax.swing.JList;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(90)
class SourcesPanelTest {
    @Test
    void aSourceIsAskedAboutBeforeItIsAdded(@TempDir Path folder, @TempDir Path home, @TempDir Path runbooks) throws Exception {
        Files.writeString(runbooks.resolve("restart.md"), "# Restart\n\nTake the host off the load balancer first.\n");
        try (var server = new RealServer(Project.write(folder), home);
                var screen = new Screen(() -> new SourcesPanel(server.memory(), folder.toUri().toString()), 760, 560)) {
            var list = screen.find(JList.class, "sources");
            var note = screen.find(JTextArea.class, "note");
            screen.shows(() -> list.getModel().getSize(), size -> size == 1);
            screen.shows(screen.find(JTextArea.class, "models")::getText, words -> words.contains("nothing is sent"));
            assertFalse(Screen.onEdt(screen.find(JButton.class, "Remove")::isEnabled), "the workspace stays");

            type(screen, "runbooks", runbooks.resolve("missing"));
            screen.shows(note::getText, words -> words.contains("is no folder"));
            assertEquals(0, server.asked().size(), "nobody is asked about what can't be");

            type(screen, "runbooks", runbooks);
            screen.shows(note::getText, words -> words.contains("carrel sources add runbooks"));
            var asked = server.asked().get(0);
            assertTrue(asked.title().contains("Change What Is Searched"), asked.title());
            assertTrue(asked.text().contains(runbooks.toString()), asked.text());
            assertEquals(1, (int) Screen.onEdt(() -> list.getModel().getSize()), "who doesn't allow it has no source");

            server.allow();
            type(screen, "runbooks", runbooks);
            screen.shows(() -> list.getModel().getSize(), size -> size == 2);
            Screen.onEdt(() -> {
                list.setSelectedIndex(1);
                return null;
            });
            screen.shows(screen.find(JTextArea.class, "details")::getText, words -> words.contains(runbooks.toString()));
            screen.picture("sources-panel");
            Screen.onEdt(() -> {
                screen.find(JButton.class, "Remove").doClick();
                return null;
            });
            screen.shows(() -> list.getModel().getSize(), size -> size == 1);
        }
    }

    private static void type(Screen screen, String id, Path place) throws Exception {
        Screen.onEdt(() -> {
            screen.find(JTextField.class, "id").setText(id);
            screen.find(JTextField.class, "place").setText(place.toString());
            screen.find(JButton.class, "Add").doClick();
            return null;
        });
    }
}
