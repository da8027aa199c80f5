package carrel.panel;

import carrel.chat.Conversation;
import carrel.chat.Segment;
import carrel.chat.Transcript;
import carrel.memory.Labels;
import carrel.memory.Question;
import carrel.protocol.Messages.ActiveEditor;
import java.awt.BorderLayout;
import java.awt.Dimension;
import java.awt.KeyboardFocusManager;
import java.awt.event.ActionEvent;
import java.awt.event.FocusAdapter;
import java.awt.event.FocusEvent;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.swing.AbstractAction;
import javax.swing.BorderFactory;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JPanel;
import javax.swing.JScrollPane;
import javax.swing.JTextArea;
import javax.swing.KeyStroke;
import javax.swing.SwingUtilities;

/** A chat about the project with the model that Carrel's server is set to use. It shows what {@link Conversation} says. */
public final class ChatPanel extends JPanel {
    private static final String HOW = "Ask about this project. Enter sends, Shift+Enter begins a new line, Escape cancels. The model is the one that "
            + "models.chat in your settings names.";

    private final transient Conversation conversation;
    private final String folder;
    private final transient ChatHost host;
    private final TranscriptPane transcript;
    private final JScrollPane scroll;
    private final JTextArea words = new JTextArea(3, 20);
    private final JTextArea how = Components.text("how");
    private final JCheckBox withFront = new JCheckBox();
    private final JButton send = new JButton("Send");
    private final JButton cancel = new JButton("Cancel");
    private final JButton anew = new JButton("New Conversation");
    private final transient AtomicBoolean drawing = new AtomicBoolean();
    private final transient Runnable renewal = this::renewSoon;

    /** {@code folder}: the URI of the folder that questions are about. */
    public ChatPanel(Conversation conversation, String folder, ChatHost host) {
        super(new BorderLayout(0, 6));
        this.conversation = conversation;
        this.folder = folder;
        this.host = host;
        transcript = new TranscriptPane(this::follow);
        scroll = new JScrollPane(transcript);
        name();
        lay();
        listen();
        renew();
    }

    /** Where typing begins. */
    public JComponent focus() {
        return words;
    }

    /** Hear of the conversation while the panel is on screen; it goes on without. */
    @Override
    public void addNotify() {
        super.addNotify();
        conversation.onChange(renewal);
        renew();
    }

    @Override
    public void removeNotify() {
        conversation.forgetListener(renewal);
        super.removeNotify();
    }

    private void name() {
        words.setName("words");
        words.getAccessibleContext().setAccessibleName("Question");
        words.getAccessibleContext().setAccessibleDescription(HOW);
        words.setLineWrap(true);
        words.setWrapStyleWord(true);
        how.setText(HOW);
        how.setFocusable(false);
        withFront.setName("withFront");
        withFront.setSelected(true);
        withFront.setOpaque(false);
        PlainText.in(withFront);
        withFront.setToolTipText("What is selected in the editor is given first; of the file in front, what lies near it counts more");
        send.setName("send");
        cancel.setName("cancel");
        cancel.setToolTipText("Stop the answer (Escape)");
        anew.setName("new");
        anew.setToolTipText("Forget what was said here and begin a new conversation");
    }

    private void lay() {
        setBorder(BorderFactory.createEmptyBorder(8, 10, 8, 10));
        scroll.setMinimumSize(new Dimension(120, 80));
        var bottom = new JPanel(new BorderLayout(0, 4));
        bottom.setOpaque(false);
        bottom.add(withFront, BorderLayout.NORTH);
        bottom.add(new JScrollPane(words), BorderLayout.CENTER);
        bottom.add(Components.row(send, cancel, anew), BorderLayout.SOUTH);
        add(how, BorderLayout.NORTH);
        add(scroll, BorderLayout.CENTER);
        add(bottom, BorderLayout.SOUTH);
        // The order in which Tab visits them is that in which they stand.
        words.setFocusTraversalKeys(KeyboardFocusManager.FORWARD_TRAVERSAL_KEYS, null);
        words.setFocusTraversalKeys(KeyboardFocusManager.BACKWARD_TRAVERSAL_KEYS, null);
    }

    private void listen() {
        send.addActionListener(event -> send());
        cancel.addActionListener(event -> conversation.cancel());
        anew.addActionListener(event -> {
            conversation.forget();
            words.requestFocusInWindow();
        });
        bind("ENTER", this::send);
        bind("shift ENTER", () -> words.replaceSelection("\n"));
        getInputMap(WHEN_ANCESTOR_OF_FOCUSED_COMPONENT).put(KeyStroke.getKeyStroke("ESCAPE"), "cancel");
        getActionMap().put("cancel", new AbstractAction() {
            @Override
            public boolean isEnabled() {
                return conversation.isAnswering(); // else Escape is the IDE's
            }

            @Override
            public void actionPerformed(ActionEvent event) {
                conversation.cancel();
            }
        });
        words.addFocusListener(new FocusAdapter() {
            @Override
            public void focusGained(FocusEvent event) {
                nameFront();
            }
        });
    }

    /** What was typed stays while the last question is still being answered. */
    private void send() {
        var text = words.getText().strip();
        if (text.isEmpty()) {
            return;
        }
        nameFront();
        var front = withFront.isSelected() ? host.front() : null;
        var open = withFront.isSelected() ? host.open() : List.<String>of();
        if (conversation.ask(Question.of(folder, text, front, open))) {
            words.setText("");
        }
    }

    private void follow(Segment segment) {
        if (segment.kind() == Segment.Kind.RECEIPT) {
            host.showReceipts();
        } else {
            host.open(segment.uri(), segment.line());
        }
    }

    private void nameFront() {
        var front = host.front();
        withFront.setVisible(front != null);
        withFront.setText(front == null ? "" : "With " + place(front));
    }

    private String place(ActiveEditor front) {
        var path = Labels.within(folder, front.uri());
        var selection = front.selection();
        if (selection == null) {
            return path;
        }
        int first = selection.getStart().getLine() + 1;
        // Who selects whole lines ends at the beginning of the next one.
        boolean whole = selection.getEnd().getCharacter() == 0 && selection.getEnd().getLine() >= first;
        return Labels.place(path, first, selection.getEnd().getLine() + (whole ? 0 : 1));
    }

    /** One drawing shows all the pieces that came before it. */
    private void renewSoon() {
        if (drawing.compareAndSet(false, true)) {
            SwingUtilities.invokeLater(() -> {
                drawing.set(false);
                renew();
            });
        }
    }

    private void renew() {
        var bar = scroll.getVerticalScrollBar();
        boolean atEnd = bar.getValue() + bar.getVisibleAmount() >= bar.getMaximum() - transcript.getFontMetrics(transcript.getFont()).getHeight();
        var turns = conversation.turns();
        transcript.show(Transcript.of(turns));
        boolean answering = conversation.isAnswering();
        how.setVisible(turns.isEmpty());
        send.setEnabled(!answering);
        cancel.setEnabled(answering);
        anew.setEnabled(!turns.isEmpty());
        nameFront();
        if (atEnd) { // a person who reads further up stays there
            SwingUtilities.invokeLater(() -> bar.setValue(bar.getMaximum()));
        }
    }

    private void bind(String key, Runnable action) {
        words.getInputMap().put(KeyStroke.getKeyStroke(key), key);
        words.getActionMap().put(key, new AbstractAction() {
            @Override
            public void actionPerformed(ActionEvent event) {
                action.run();
            }
        });
    }
}
