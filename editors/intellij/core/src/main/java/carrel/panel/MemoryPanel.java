package carrel.panel;

import carrel.memory.ChoiceStore;
import carrel.memory.Choices;
import carrel.memory.Memory;
import carrel.memory.ServerState;
import java.awt.BorderLayout;
import java.awt.Component;
import java.awt.Dimension;
import java.awt.FlowLayout;
import java.awt.Font;
import javax.swing.BorderFactory;
import javax.swing.Box;
import javax.swing.BoxLayout;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JProgressBar;
import javax.swing.JScrollPane;
import javax.swing.JSpinner;
import javax.swing.JTextArea;
import javax.swing.SpinnerNumberModel;
import javax.swing.SwingUtilities;
import javax.swing.UIManager;

/** The Memory panel: the choices, the index and its progress, the last questions. It shows what {@link Memory} says. */
public final class MemoryPanel extends JPanel {
    private static final String HOW = """
            Your files are cut along functions and classes and indexed on this machine; nothing leaves it.
            A question finds the places that fit, and they are put in front of it within the budget.
            The list above shows for each question what was sent, from where, and what was left out.""";

    private final Memory memory;
    private final ChoiceStore choices;
    private final JCheckBox enabled = new JCheckBox("Put context before chats");
    private final JCheckBox autoIndex = new JCheckBox("Index when the project opens");
    private final JSpinner topK =
            new JSpinner(new SpinnerNumberModel(Choices.TOP_K_BY_DEFAULT, Choices.LEAST_TOP_K, Choices.MOST_TOP_K, 1));
    private final JButton index = new JButton("Index");
    private final JButton cancel = new JButton("Cancel");
    private final JProgressBar progress = new JProgressBar(0, 100);
    private final JTextArea note = text("note");
    private final StatusGrid status = new StatusGrid();
    private final ReceiptTree receipts;
    private final Runnable renewal = () -> SwingUtilities.invokeLater(this::renew);
    private boolean renewing;
    private boolean asking;
    private String said = "";

    public MemoryPanel(Memory memory, ChoiceStore choices, Places places) {
        super(new BorderLayout(0, 8));
        this.memory = memory;
        this.choices = choices;
        this.receipts = new ReceiptTree(places);
        name();
        lay();
        listen();
        renew();
    }

    /** Ask for the state of the index; to be called when the panel comes to sight and the server runs anyway. */
    public void refresh() {
        memory.refresh().exceptionally(this::fail);
    }

    /** Hear of the memory while the panel is on screen. */
    @Override
    public void addNotify() {
        super.addNotify();
        memory.onChange(renewal);
        renew();
    }

    @Override
    public void removeNotify() {
        memory.forgetListener(renewal);
        super.removeNotify();
    }

    private void name() {
        enabled.setName("enabled");
        autoIndex.setName("autoIndex");
        topK.setName("topK");
        index.setName("index");
        cancel.setName("cancel");
        progress.setName("progress");
        enabled.setToolTipText("Chats that run through Carrel get pages of this project. Copying context and searching work in any case.");
        index.setToolTipText("Bring the index of this project up to date");
        cancel.setToolTipText("Stop indexing; what was finished stays");
        progress.setStringPainted(true);
    }

    private void lay() {
        setBorder(BorderFactory.createEmptyBorder(8, 10, 8, 10));
        var top = new JPanel();
        top.setOpaque(false);
        top.setLayout(new BoxLayout(top, BoxLayout.Y_AXIS));
        var places = new JLabel("Places an answer: ");
        places.setLabelFor(topK);
        for (JComponent row : new JComponent[] {
            enabled, autoIndex, row(places, topK), row(index, cancel), progress, note, heading("Index"), status
        }) {
            row.setAlignmentX(Component.LEFT_ALIGNMENT);
            top.add(row);
        }
        progress.setMaximumSize(new Dimension(Integer.MAX_VALUE, progress.getPreferredSize().height));
        add(top, BorderLayout.NORTH);
        var middle = new JPanel(new BorderLayout(0, 4));
        middle.setOpaque(false);
        middle.add(heading("Last questions"), BorderLayout.NORTH);
        middle.add(new JScrollPane(receipts), BorderLayout.CENTER);
        add(middle, BorderLayout.CENTER);
        var bottom = new JPanel(new BorderLayout(0, 4));
        bottom.setOpaque(false);
        bottom.add(heading("How it works"), BorderLayout.NORTH);
        var how = text("how");
        how.setText(HOW);
        bottom.add(how, BorderLayout.CENTER);
        add(bottom, BorderLayout.SOUTH);
    }

    private void listen() {
        enabled.addActionListener(event -> choices.set(choices.get().withEnabled(enabled.isSelected())));
        autoIndex.addActionListener(event -> choices.set(choices.get().withAutoIndex(autoIndex.isSelected())));
        topK.addChangeListener(event -> {
            if (!renewing) {
                choices.set(choices.get().withTopK((Integer) topK.getValue()));
            }
        });
        choices.onChange(renewal);
        index.addActionListener(event -> index());
        cancel.addActionListener(event -> memory.cancel());
    }

    private void index() {
        asking = true;
        said = "";
        renew();
        memory.index()
                .thenAccept(summary -> say(summary.words()))
                .exceptionally(this::fail)
                .whenComplete((nothing, error) -> SwingUtilities.invokeLater(() -> {
                    asking = false;
                    renew();
                }));
    }

    private Void fail(Throwable error) {
        say("Failed: " + Memory.cause(error).getMessage());
        return null;
    }

    private void say(String words) {
        SwingUtilities.invokeLater(() -> {
            said = words;
            renew();
        });
    }

    private void renew() {
        var view = memory.view();
        var chosen = choices.get();
        renewing = true;
        enabled.setSelected(chosen.enabled());
        autoIndex.setSelected(chosen.autoIndex());
        topK.setValue(chosen.topK());
        renewing = false;
        boolean busy = asking || view.indexing();
        index.setEnabled(!busy);
        cancel.setEnabled(view.work().isPresent());
        progress.setVisible(busy);
        progress.setIndeterminate(view.work().map(work -> work.message().isEmpty()).orElse(true));
        progress.setValue(view.work().map(work -> work.percentage()).orElse(0));
        progress.setString(view.work().map(work -> work.message()).orElse(""));
        note.setText(noteFor(view.server()));
        note.setVisible(!note.getText().isEmpty());
        status.show(view.server(), view.statuses());
        receipts.show(view.receipts());
        revalidate();
        repaint();
    }

    private String noteFor(ServerState server) {
        if (server instanceof ServerState.Failed failed) {
            return failed.problem() + " " + failed.remedy();
        }
        if (server instanceof ServerState.Stopped stopped && stopped.ran()) {
            return "The server stopped. It starts again with the next question or index run.";
        }
        return server instanceof ServerState.Starting ? "The server starts" : said;
    }

    private static JPanel row(JComponent... parts) {
        var row = new JPanel(new FlowLayout(FlowLayout.LEADING, 0, 2)) {
            @Override
            public Dimension getMaximumSize() {
                return new Dimension(Integer.MAX_VALUE, getPreferredSize().height);
            }
        };
        row.setOpaque(false);
        for (JComponent part : parts) {
            row.add(part);
            row.add(Box.createHorizontalStrut(6));
        }
        return row;
    }

    private static JLabel heading(String words) {
        var label = new JLabel(words);
        label.setFont(label.getFont().deriveFont(Font.BOLD));
        label.setBorder(BorderFactory.createEmptyBorder(8, 0, 2, 0));
        return label;
    }

    /** A label that wraps its lines and can be copied from. */
    private static JTextArea text(String name) {
        var area = new JTextArea();
        area.setName(name);
        area.setEditable(false);
        area.setOpaque(false);
        area.setLineWrap(true);
        area.setWrapStyleWord(true);
        area.setBorder(null);
        area.setFont(UIManager.getFont("Label.font"));
        return area;
    }
}
