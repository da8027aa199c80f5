package carrel.panel;

import carrel.memory.Memory;
import carrel.protocol.Messages.SourceChanged;
import carrel.protocol.Messages.SourceResult;
import carrel.protocol.Messages.SourcesAddParams;
import java.awt.BorderLayout;
import java.awt.Component;
import java.util.concurrent.CompletableFuture;
import javax.swing.BorderFactory;
import javax.swing.Box;
import javax.swing.BoxLayout;
import javax.swing.DefaultListCellRenderer;
import javax.swing.DefaultListModel;
import javax.swing.JButton;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JList;
import javax.swing.JPanel;
import javax.swing.JScrollPane;
import javax.swing.JTextArea;
import javax.swing.JTextField;
import javax.swing.ListSelectionModel;
import javax.swing.SwingUtilities;

/** What is searched beside the project, with fields to add a source; below, the models that are set. The server checks and asks the person. */
public final class SourcesPanel extends JPanel {
    private final transient Memory memory;
    private final String folder;
    private final DefaultListModel<SourceResult> model = new DefaultListModel<>();
    private final JList<SourceResult> list = new JList<>(model);
    private final JTextArea details = Components.text("details");
    private final JTextField id = field("id", 12);
    private final JTextField place = field("place", 30);
    private final JTextField description = field("description", 30);
    private final JCheckBox git = new JCheckBox("history of a git repository (without a place: of this project)");
    private final JButton add = button("Add");
    private final JButton remove = button("Remove");
    private final JTextArea note = Components.text("note");
    private final JTextArea models = Components.text("models");
    private final JButton test = button("Test the Models");

    public SourcesPanel(Memory memory, String folder) {
        super(new BorderLayout(8, 8));
        this.memory = memory;
        this.folder = folder;
        setBorder(BorderFactory.createEmptyBorder(8, 8, 8, 8));
        list.setName("sources");
        list.setSelectionMode(ListSelectionModel.SINGLE_SELECTION);
        list.setVisibleRowCount(6);
        list.setCellRenderer(new Row());
        list.addListSelectionListener(event -> select());
        git.setName("git");
        git.setOpaque(false);
        add.addActionListener(event -> add());
        remove.addActionListener(event -> change(memory.removeSource(folder, list.getSelectedValue().id())));
        test.addActionListener(event -> showModels(true));
        var lower = new JPanel();
        lower.setOpaque(false);
        lower.setLayout(new BoxLayout(lower, BoxLayout.PAGE_AXIS));
        for (JComponent part : new JComponent[] {
            details,
            Components.row(remove),
            Components.heading("Add a source, for all your projects"),
            Components.row(new JLabel("Name"), id),
            Components.row(new JLabel("Folder, or an address mcp:// or qdrant://"), place),
            Components.row(new JLabel("What it holds"), description),
            Components.row(git, add),
            note,
            Components.heading("Models"),
            models,
            Components.row(test)
        }) {
            part.setAlignmentX(Component.LEFT_ALIGNMENT);
            lower.add(part);
            lower.add(Box.createVerticalStrut(2));
        }
        add(new JScrollPane(list), BorderLayout.CENTER);
        add(lower, BorderLayout.SOUTH);
        select();
        refresh();
        showModels(false);
    }

    /** What has the focus at first. */
    public JComponent focus() {
        return list;
    }

    private void add() {
        var wanted = new SourcesAddParams(
                folder, id.getText().strip(), place.getText().strip(), git.isSelected(), description.getText().strip(), null, null);
        if (wanted.id().isEmpty()) {
            note.setText("Type a name, such as runbooks.");
            id.requestFocusInWindow();
            return;
        }
        change(memory.add(wanted));
    }

    private void change(CompletableFuture<SourceChanged> answer) {
        note.setText("Carrel asks whether you allow it…");
        add.setEnabled(false);
        remove.setEnabled(false);
        answer.whenComplete((done, error) -> SwingUtilities.invokeLater(() -> {
            add.setEnabled(true);
            if (error != null) {
                note.setText(Memory.cause(error).getMessage());
            } else if (!done.changed()) {
                note.setText(done.problem());
            } else {
                note.setText("Written to " + done.file() + ".");
                id.setText("");
                place.setText("");
                description.setText("");
                git.setSelected(false);
            }
            refresh();
        }));
    }

    private void refresh() {
        memory.sources(folder).whenComplete((found, error) -> SwingUtilities.invokeLater(() -> {
            if (error != null) {
                note.setText(Memory.cause(error).getMessage());
                return;
            }
            model.clear();
            found.sources().forEach(model::addElement);
            list.setSelectedIndex(0);
        }));
    }

    private void showModels(boolean check) {
        test.setEnabled(false);
        memory.providers(folder, check).whenComplete((found, error) -> SwingUtilities.invokeLater(() -> {
            test.setEnabled(true);
            models.setText(error == null ? SourceLines.models(found) : Memory.cause(error).getMessage());
        }));
    }

    private void select() {
        var source = list.getSelectedValue();
        details.setText(source == null ? "" : SourceLines.details(source));
        remove.setEnabled(SourceLines.isRemovable(source));
    }

    private static JTextField field(String name, int columns) {
        var field = new JTextField(columns);
        field.setName(name);
        return field;
    }

    private static JButton button(String words) {
        var button = new JButton(words);
        button.setName(words);
        return button;
    }

    /** A name or a reason may begin with {@code <html>}, and means nothing by it. */
    private static final class Row extends DefaultListCellRenderer {
        Row() {
            PlainText.in(this);
        }

        @Override
        public Component getListCellRendererComponent(JList<?> in, Object value, int index, boolean selected, boolean focused) {
            return super.getListCellRendererComponent(in, SourceLines.row((SourceResult) value), index, selected, focused);
        }
    }
}
