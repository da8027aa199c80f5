package carrel.panel;

import carrel.memory.ChoiceStore;
import carrel.memory.Choices;
import carrel.memory.Headline;
import carrel.memory.IndexSummary;
import carrel.memory.Memory;
import carrel.memory.ServerState;
import carrel.memory.Labels;
import java.awt.BorderLayout;
import java.awt.Component;
import java.awt.Dimension;
import java.util.concurrent.CompletableFuture;
import javax.swing.BorderFactory;
import javax.swing.BoxLayout;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JProgressBar;
import javax.swing.JSpinner;
import javax.swing.JTextArea;
import javax.swing.SpinnerNumberModel;
import javax.swing.SwingUtilities;

/** The Memory panel: the choices, the index and its progress, the last questions. It shows what {@link Memory} says. */
public final class MemoryPanel extends JPanel {
    private static final String HOW = """
            Your files are cut along functions and classes and indexed on this machine; nothing leaves it unless you allow a remote model.
            A question finds the places that fit, and they are put in front of it within the budget.
            The list above shows for each question what was sent, from where, why, and what was left out.
            Pin a file, exclude a place or search again there.""";

    private static final String WELCOME = """
            Press Index once, then ask: Tools | Carrel | Copy Context for This Question takes the right places of this project to any chat.
            A small project takes seconds. Cancel keeps what was finished.""";

    private static final String UNTRUSTED = "Switched off: this project isn't trusted. Trust it in the IDE to use the switches and Index.";

    private static final String SURE = "Delete the index of this project? Your files stay as they are.";

    private final Memory memory;
    private final ChoiceStore choices;
    private final JCheckBox enabled = new JCheckBox("Help my other chats too");
    private final JCheckBox autoIndex = new JCheckBox("Keep this project indexed");
    private final JSpinner topK =
            new JSpinner(new SpinnerNumberModel(Choices.TOP_K_BY_DEFAULT, Choices.LEAST_TOP_K, Choices.MOST_TOP_K, 1));
    private final JButton index = new JButton("Index");
    private final JButton cancel = new JButton("Cancel");
    private final JButton clear = new JButton("Clear…");
    private final JProgressBar progress = new JProgressBar(0, 100);
    private final JTextArea note = Components.text("note");
    private final JLabel headline = Components.heading("");
    private final JTextArea welcome = Components.text("welcome");
    private final JLabel aboutIndex = Components.heading("Index");
    private final StatusGrid status = new StatusGrid();
    private final PanelHost host;
    private final ReceiptPanel receipts;
    private final Runnable renewal = () -> SwingUtilities.invokeLater(this::renew);
    private boolean renewing;
    private boolean asking;
    private String said = "";

    public MemoryPanel(Memory memory, ChoiceStore choices, PanelHost host) {
        super(new BorderLayout(0, 8));
        this.memory = memory;
        this.choices = choices;
        this.host = host;
        this.receipts = new ReceiptPanel(memory, choices, host, this::fail);
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
        headline.setName("headline");
        PlainText.in(headline);
        welcome.setText(WELCOME);
        welcome.setFocusable(false); // the first focus is a switch's
        enabled.setName("enabled");
        autoIndex.setName("autoIndex");
        topK.setName("topK");
        index.setName("index");
        cancel.setName("cancel");
        clear.setName("clear");
        progress.setName("progress");
        enabled.setToolTipText("Chats that run through Carrel get pages of this project. Copying context and searching work in any case.");
        index.setToolTipText("Bring the index of this project up to date");
        cancel.setToolTipText("Stop indexing; what was finished stays");
        clear.setToolTipText("Delete the index of this project; your files stay as they are");
        progress.setStringPainted(true);
    }

    private void lay() {
        setBorder(BorderFactory.createEmptyBorder(8, 10, 8, 10));
        var top = new JPanel();
        top.setOpaque(false);
        top.setLayout(new BoxLayout(top, BoxLayout.Y_AXIS));
        var places = new JLabel("Places per answer: ");
        places.setLabelFor(topK);
        for (JComponent row : new JComponent[] {
            headline,
            welcome,
            enabled,
            autoIndex,
            Components.row(places, topK),
            Components.row(index, cancel, clear),
            progress,
            note,
            aboutIndex,
            status
        }) {
            row.setAlignmentX(Component.LEFT_ALIGNMENT);
            top.add(row);
        }
        progress.setMaximumSize(new Dimension(Integer.MAX_VALUE, progress.getPreferredSize().height));
        add(top, BorderLayout.NORTH);
        add(receipts, BorderLayout.CENTER);
        var bottom = new JPanel(new BorderLayout(0, 4));
        bottom.setOpaque(false);
        bottom.add(Components.heading("How it works"), BorderLayout.NORTH);
        var how = Components.text("how");
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
        clear.addActionListener(event -> clear());
    }

    private void index() {
        follow(memory.index().thenApply(this::outcome));
    }

    private String outcome(IndexSummary summary) {
        return summary.cancelled() ? Labels.cancelled(memory.view().statuses()) : summary.words();
    }

    private void clear() {
        if (host.confirm(SURE, "Delete")) {
            follow(memory.clear().thenApply(bytes -> "The index is deleted, %s freed".formatted(Labels.bytes(bytes))));
        }
    }

    /** Show that something is going on until it is over, and then what came of it. */
    private void follow(CompletableFuture<String> work) {
        asking = true;
        said = "";
        renew();
        work.thenAccept(this::say)
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
        var now = Headline.of(view, chosen.memoryIsOn());
        boolean trusted = host.isTrusted();
        boolean first = now.welcome() && !busy;
        headline.setText("Carrel: " + now.text());
        welcome.setVisible(first && trusted);
        enabled.setEnabled(trusted);
        autoIndex.setEnabled(trusted);
        index.setText(now.index());
        index.setEnabled(trusted && !busy);
        clear.setVisible(!first);
        clear.setEnabled(!busy);
        cancel.setVisible(!first);
        cancel.setEnabled(view.work().isPresent());
        aboutIndex.setVisible(!first);
        status.setVisible(!first);
        receipts.setVisible(!first || !view.receipts().isEmpty());
        progress.setVisible(busy);
        progress.setIndeterminate(view.work().map(work -> work.message().isEmpty()).orElse(true));
        progress.setValue(view.work().map(work -> work.percentage()).orElse(0));
        progress.setString(view.work().map(Labels::progress).orElse(""));
        note.setText(trusted ? noteFor(view.server()) : UNTRUSTED);
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
        return said;
    }
}
