package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.memory.Project;
import carrel.memory.RealServer;
import carrel.protocol.Messages.HitResult;
import java.nio.file.Path;
import java.util.ArrayList;
import javax.swing.JLabel;
import javax.swing.JList;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import javax.swing.KeyStroke;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class SearchPanelTest {
    @Test
    void whatIsTypedIsFoundShownAndOpened(@TempDir Path folder, @TempDir Path home) throws Exception {
        var opened = new ArrayList<String>();
        try (var server = new RealServer(Project.write(folder), home)) {
            var uri = folder.toUri().toString();
            try (var screen = new Screen(
                    () -> new SearchPanel(server.memory(), uri, (place, line) -> opened.add(place + "#" + line)), 720, 420)) {
                var words = screen.find(JTextField.class, "words");
                var hits = screen.find(JList.class, "hits");
                Screen.onEdt(() -> {
                    words.setText("cancel an order");
                    words.setText("session token that ends");
                    return null;
                });
                var best = (HitResult) screen.shows(hits::getSelectedValue, hit -> hit != null);
                assertEquals("src/accounts/tokens.py", best.path());
                assertEquals(best.text(), Screen.onEdt(screen.find(JTextArea.class, "preview")::getText));
                assertTrue(Screen.onEdt(screen.find(JLabel.class, "note")::getText).matches("\\d+ places?"));
                screen.picture("search-panel");

                Screen.onEdt(() -> {
                    words.getActionMap().get(words.getInputMap().get(KeyStroke.getKeyStroke("ENTER"))).actionPerformed(null);
                    return null;
                });
                assertTrue(opened.get(0).endsWith("/src/accounts/tokens.py#" + best.startLine()), opened.toString());

                Screen.onEdt(() -> {
                    words.setText("");
                    return null;
                });
                screen.shows(() -> hits.getModel().getSize(), size -> size == 0);
            }
        }
    }
}
