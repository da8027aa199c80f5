package carrel.panel;

import carrel.memory.Memory;
import carrel.memory.Labels;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.SearchResult;
import java.awt.BorderLayout;
import java.awt.Component;
import java.awt.Dimension;
import java.awt.Font;
import java.awt.event.ActionEvent;
import java.awt.event.KeyEvent;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import javax.swing.AbstractAction;
import javax.swing.BorderFactory;
import javax.swing.DefaultListCellRenderer;
import javax.swing.DefaultListModel;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JList;
import javax.swing.JPanel;
import javax.swing.JScrollPane;
import javax.swing.JSplitPane;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import javax.swing.KeyStroke;
import javax.swing.ListSelectionModel;
import javax.swing.SwingUtilities;
import javax.swing.Timer;
import javax.swing.event.DocumentEvent;
import javax.swing.event.DocumentListener;

/** A search: a list that follows what is typed, with a preview. Order and choice are the server's. */
public final class SearchPanel extends JPanel {
    private static final int REST_MS = 150;
    private static final int LIMIT = 30;

    private final Memory memory;
    private final String folder;
    private final Places places;
    private final JTextField words = new JTextField();
    private final JLabel note = new JLabel(" ");
    private final DefaultListModel<HitResult> hits = new DefaultListModel<>();
    private final JList<HitResult> list = new JList<>(hits);
    private final JTextArea preview = new JTextArea();
    private final Timer rest = new Timer(REST_MS, event -> search());
    private CompletableFuture<SearchResult> running = CompletableFuture.completedFuture(null);

    /** {@code folder}: the URI of the folder to search; {@code places} opens the chosen hit. */
    public SearchPanel(Memory memory, String folder, Places places) {
        super(new BorderLayout(0, 6));
        this.memory = memory;
        this.folder = folder;
        this.places = places;
        rest.setRepeats(false);
        lay();
        listen();
    }

    /** Where typing begins. */
    public JComponent focus() {
        return words;
    }

    @Override
    public void removeNotify() {
        rest.stop();
        running.cancel(true);
        super.removeNotify();
    }

    private void lay() {
        setBorder(BorderFactory.createEmptyBorder(8, 8, 8, 8));
        setPreferredSize(new Dimension(760, 460));
        words.setName("words");
        words.setToolTipText("Words, a question, or a name");
        words.getAccessibleContext().setAccessibleName("Words, a question, or a name");
        list.setName("hits");
        list.setSelectionMode(ListSelectionModel.SINGLE_SELECTION);
        list.setCellRenderer(new HitRenderer());
        preview.setName("preview");
        preview.setEditable(false);
        preview.setFont(new Font(Font.MONOSPACED, Font.PLAIN, words.getFont().getSize()));
        preview.setTabSize(4);
        add(words, BorderLayout.NORTH);
        var both = new JSplitPane(JSplitPane.VERTICAL_SPLIT, new JScrollPane(list), new JScrollPane(preview));
        both.setResizeWeight(0.5);
        both.setDividerLocation(180);
        both.setBorder(null);
        add(both, BorderLayout.CENTER);
        note.setName("note");
        PlainText.in(note);
        add(note, BorderLayout.SOUTH);
    }

    private void listen() {
        words.getDocument().addDocumentListener(new DocumentListener() {
            @Override
            public void insertUpdate(DocumentEvent event) {
                rest.restart();
            }

            @Override
            public void removeUpdate(DocumentEvent event) {
                rest.restart();
            }

            @Override
            public void changedUpdate(DocumentEvent event) {}
        });
        list.addListSelectionListener(event -> {
            var hit = list.getSelectedValue();
            preview.setText(hit == null ? "" : hit.text());
            preview.setCaretPosition(0);
        });
        list.addMouseListener(new MouseAdapter() {
            @Override
            public void mouseClicked(MouseEvent event) {
                if (event.getClickCount() == 2) {
                    open();
                }
            }
        });
        key(words, KeyEvent.VK_ENTER, this::open);
        key(list, KeyEvent.VK_ENTER, this::open);
        key(words, KeyEvent.VK_DOWN, () -> move(1));
        key(words, KeyEvent.VK_UP, () -> move(-1));
    }

    private void search() {
        running.cancel(true);
        var query = words.getText().strip();
        if (query.isEmpty()) {
            hits.clear();
            note.setText(" ");
            return;
        }
        note.setText("Looking …");
        var asked = memory.search(folder, query, LIMIT);
        running = asked;
        asked.whenComplete((result, error) -> SwingUtilities.invokeLater(() -> {
            if (asked == running) {
                show(result, error);
            }
        }));
    }

    private void show(SearchResult result, Throwable error) {
        hits.clear();
        if (error != null) {
            note.setText(Memory.isCancelled(error) ? " " : Memory.cause(error).getMessage());
            return;
        }
        result.hits().forEach(hits::addElement);
        list.setSelectedIndex(0);
        var places = result.hits().isEmpty() ? "Nothing in the project fits" : Labels.count(result.hits().size(), "place");
        note.setText(result.pending() > 0 ? "%s; %s not indexed yet".formatted(places, Labels.count(result.pending(), "file")) : places);
    }

    private void move(int by) {
        if (!hits.isEmpty()) {
            list.setSelectedIndex(Math.max(0, Math.min(hits.size() - 1, list.getSelectedIndex() + by)));
            list.ensureIndexIsVisible(list.getSelectedIndex());
        }
    }

    private void open() {
        var hit = list.getSelectedValue();
        if (hit != null) {
            places.open(hit.uri(), hit.startLine());
        }
    }

    private static void key(JComponent component, int key, Runnable action) {
        component.getInputMap().put(KeyStroke.getKeyStroke(key, 0), action);
        component.getActionMap().put(action, new AbstractAction() {
            @Override
            public void actionPerformed(ActionEvent event) {
                action.run();
            }
        });
    }

    private static final class HitRenderer extends DefaultListCellRenderer {
        HitRenderer() {
            PlainText.in(this);
        }

        @Override
        public Component getListCellRendererComponent(JList<?> list, Object value, int index, boolean selected, boolean focused) {
            var hit = (HitResult) value;
            var name = hit.symbol() == null ? "" : hit.symbol() + "   ";
            var text = "%s%s   %s".formatted(name, Labels.place(hit), String.format(Locale.US, "%.2f", hit.score()));
            return super.getListCellRendererComponent(list, text, index, selected, focused);
        }
    }
}
