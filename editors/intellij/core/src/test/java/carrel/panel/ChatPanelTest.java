package carrel.panel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.chat.Conversation;
import carrel.chat.PlayedModel;
import carrel.memory.Project;
import carrel.memory.RealServer;
import carrel.protocol.Messages.ActiveEditor;
import java.awt.event.ActionEvent;
import java.awt.event.MouseEvent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JTextArea;
import javax.swing.JTextPane;
import javax.swing.KeyStroke;
import org.eclipse.lsp4j.Position;
import org.eclipse.lsp4j.Range;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The chat in a window, over the real server with a chat model behind real HTTP. */
@Timeout(90)
@EnabledOnOs(value = OS.LINUX, disabledReason = "elsewhere the settings file is where the system says")
class ChatPanelTest {
    private static final String ANSWER = "`authenticate_user` does it (src/accounts/login.py:3-8). Not src/other.py:7.\n```python\nuser = find_user(name)\n```";

    @TempDir
    Path folder;

    @TempDir
    Path home;

    private final List<String> opened = new ArrayList<>();
    private PlayedModel model;
    private RealServer server;
    private Conversation conversation;
    private Screen screen;

    @BeforeEach
    void open() throws Exception {
        model = new PlayedModel().setIn(home);
        server = new RealServer(Project.write(folder), home);
        conversation = new Conversation(server.memory());
        screen = new Screen(() -> new ChatPanel(conversation, folder.toUri().toString(), new Host()), 420, 560);
    }

    @AfterEach
    void close() {
        screen.close();
        server.close();
        model.close();
    }

    @Test
    void aPersonAsksReadsOpensAPlaceAndBeginsAnew() throws Exception {
        screen.picture("chat-empty");
        model.searches("login").says(ANSWER).says(ANSWER).says("Nobody does, so far.");
        ask("how is the password of a user checked?");
        var text = screen.shows(this::text, now -> now.contains("Put before the question"));
        assertTrue(text.startsWith("how is the password of a user checked?\n> search_code: login\n> asked again\n`authenticate_user` does it"), text);
        assertEquals("", Screen.onEdt(words()::getText));
        ask("and who calls it?");
        screen.shows(this::text, now -> now.contains("Nobody does, so far."));
        screen.shows(screen.find(JButton.class, "send")::isEnabled, enabled -> enabled);
        screen.picture("chat");

        click(text.indexOf("src/accounts/login.py:3-8") + 4);
        assertEquals(1, opened.size(), opened.toString());
        assertTrue(opened.get(0).endsWith("/src/accounts/login.py#3"), opened.toString());
        click(text.indexOf("does it"));
        assertEquals(1, opened.size());
        click(text.indexOf("Put before") + 4);
        assertEquals("receipts", opened.get(1));
        Screen.onEdt(() -> {
            transcript().setCaretPosition(0);
            press(transcript(), JComponent.WHEN_FOCUSED, "alt DOWN");
            press(transcript(), JComponent.WHEN_FOCUSED, "ENTER");
            return null;
        });
        assertEquals(opened.get(0), opened.get(2));

        screen.click("new");
        assertEquals("", screen.shows(this::text, String::isEmpty));
        assertFalse(Screen.onEdt(screen.find(JButton.class, "new")::isEnabled));
    }

    @Test
    void escapeCancelsAndWhatWasTypedMeanwhileStays() throws Exception {
        var gate = new CountDownLatch(1);
        model.begins("It is ", gate);
        ask("how is the password of a user checked?");
        screen.shows(this::text, now -> now.endsWith("It is …\n"));
        screen.picture("chat-answering");
        ask("and this?");
        assertEquals("and this?", Screen.onEdt(words()::getText));
        Screen.onEdt(() -> {
            press((JComponent) words().getParent().getParent().getParent().getParent(), JComponent.WHEN_ANCESTOR_OF_FOCUSED_COMPONENT, "ESCAPE");
            return null;
        });
        screen.shows(this::text, now -> now.endsWith("\n> cancelled\n"));
        assertEquals("and this?", Screen.onEdt(words()::getText));
        gate.countDown();
    }

    @Test
    void shiftEnterBeginsALine() {
        Screen.onEdt(() -> {
            words().setText("first");
            press(words(), JComponent.WHEN_FOCUSED, "shift ENTER");
            return null;
        });
        assertEquals("first\n", Screen.onEdt(words()::getText));
        assertEquals(List.of(), conversation.turns());
    }

    @Test
    void whatGoesAlongIsNamedAndCanBeLeftOut() throws Exception {
        var box = screen.find(JCheckBox.class, "withFront");
        assertEquals("With src/accounts/tokens.py:9-10", Screen.onEdt(box::getText));
        model.says("An hour.").says("An hour.");
        ask("what does this do?");
        screen.shows(conversation::turns, turns -> turns.size() == 1 && !turns.get(0).answering());
        assertTrue(model.requests().get(0).get(0).contains("def is_expired"));
        screen.click("withFront");
        screen.click("new");
        ask("where is the pool of connections?");
        screen.shows(conversation::turns, turns -> turns.size() == 1 && !turns.get(0).answering());
        assertFalse(model.requests().get(1).get(0).contains("def is_expired"));
    }

    @Test
    void everyPartHasANameForAScreenReader() {
        for (JComponent part : List.of(words(), transcript(), screen.find(JButton.class, "send"), screen.find(JButton.class, "cancel"),
                screen.find(JButton.class, "new"), screen.find(JCheckBox.class, "withFront"))) {
            var name = Screen.onEdt(() -> part.getAccessibleContext().getAccessibleName());
            assertTrue(name != null && !name.isBlank(), part.getName());
        }
    }

    private void ask(String question) {
        Screen.onEdt(() -> {
            words().setText(question);
            press(words(), JComponent.WHEN_FOCUSED, "ENTER");
            return null;
        });
    }

    private static void press(JComponent at, int when, String key) {
        var action = at.getActionMap().get(at.getInputMap(when).get(KeyStroke.getKeyStroke(key)));
        assertTrue(action.isEnabled(), key);
        action.actionPerformed(new ActionEvent(at, ActionEvent.ACTION_PERFORMED, key));
    }

    private void click(int position) {
        Screen.onEdt(() -> {
            var pane = transcript();
            var place = pane.modelToView2D(position).getBounds();
            var event = new MouseEvent(pane, MouseEvent.MOUSE_CLICKED, 0, 0, place.x + 1, place.y + place.height / 2, 1, false, MouseEvent.BUTTON1);
            pane.dispatchEvent(event);
            return null;
        });
    }

    private JTextArea words() {
        return screen.find(JTextArea.class, "words");
    }

    private JTextPane transcript() {
        return screen.find(JTextPane.class, "transcript");
    }

    private String text() throws Exception {
        return transcript().getDocument().getText(0, transcript().getDocument().getLength());
    }

    private final class Host implements ChatHost {
        @Override
        public ActiveEditor front() {
            return new ActiveEditor(open().get(0), new Range(new Position(8, 0), new Position(10, 0)));
        }

        @Override
        public List<String> open() {
            return List.of(folder.resolve("src/accounts/tokens.py").toUri().toString());
        }

        @Override
        public void showReceipts() {
            opened.add("receipts");
        }

        @Override
        public void open(String uri, int line) {
            opened.add(uri + "#" + line);
        }
    }
}
