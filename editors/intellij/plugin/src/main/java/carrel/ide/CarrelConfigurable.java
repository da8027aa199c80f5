package carrel.ide;

import carrel.memory.Choices;
import com.intellij.openapi.options.Configurable;
import com.intellij.openapi.project.Project;
import java.awt.BorderLayout;
import java.awt.FlowLayout;
import java.awt.GridLayout;
import javax.swing.Box;
import javax.swing.JCheckBox;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JSpinner;
import javax.swing.JTextField;
import javax.swing.SpinnerNumberModel;

/** Settings | Tools | Carrel. */
public final class CarrelConfigurable implements Configurable {
    private final Project project;
    private final JCheckBox enabled = new JCheckBox("Help my other chats too");
    private final JCheckBox autoIndex = new JCheckBox("Keep this project indexed");
    private final JSpinner topK =
            new JSpinner(new SpinnerNumberModel(Choices.TOP_K_BY_DEFAULT, Choices.LEAST_TOP_K, Choices.MOST_TOP_K, 1));
    private final JTextField program = new JTextField(40);

    public CarrelConfigurable(Project project) {
        this.project = project;
    }

    @Override
    public String getDisplayName() {
        return "Carrel";
    }

    @Override
    public JComponent createComponent() {
        var rows = new JPanel(new GridLayout(0, 1, 0, 4));
        rows.add(enabled);
        rows.add(autoIndex);
        rows.add(labelled("Places per answer:", topK));
        rows.add(labelled("Server program:", program));
        rows.add(new JLabel("Empty: carrel on PATH, else Carrel in the Python on PATH. Holds for all projects."));
        var page = new JPanel(new BorderLayout());
        page.add(rows, BorderLayout.NORTH);
        reset();
        return page;
    }

    @Override
    public boolean isModified() {
        return !chosen().equals(choices().get()) || programIsNew();
    }

    @Override
    public void apply() {
        if (programIsNew()) {
            ServerSettings.get().setProgram(program.getText());
            CarrelProject.of(project).programChanged();
        }
        choices().set(chosen());
    }

    @Override
    public void reset() {
        var now = choices().get();
        enabled.setSelected(now.enabled());
        autoIndex.setSelected(now.autoIndex());
        topK.setValue(now.topK());
        boolean trusted = Trust.isIn(project);
        enabled.setEnabled(trusted);
        autoIndex.setEnabled(trusted);
        program.setText(ServerSettings.get().program());
    }

    /** What was never touched stays unchosen, so that the person's settings file goes on counting there. */
    private Choices chosen() {
        var next = choices().get();
        if (enabled.isSelected() != next.enabled()) {
            next = next.withEnabled(enabled.isSelected());
        }
        if (autoIndex.isSelected() != next.autoIndex()) {
            next = next.withAutoIndex(autoIndex.isSelected());
        }
        if (!topK.getValue().equals(next.topK())) {
            next = next.withTopK((Integer) topK.getValue());
        }
        return next;
    }

    private boolean programIsNew() {
        return !program.getText().strip().equals(ServerSettings.get().program());
    }

    private ProjectChoices choices() {
        return CarrelProject.of(project).choices();
    }

    private static JPanel labelled(String words, JComponent field) {
        var label = new JLabel(words);
        label.setLabelFor(field);
        var row = new JPanel(new FlowLayout(FlowLayout.LEADING, 0, 0));
        row.add(label);
        row.add(Box.createHorizontalStrut(6));
        row.add(field);
        return row;
    }
}
