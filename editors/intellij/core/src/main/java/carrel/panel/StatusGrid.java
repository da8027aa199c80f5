package carrel.panel;

import carrel.memory.ServerState;
import carrel.memory.Labels;
import carrel.protocol.Messages.StatusResult;
import java.awt.Dimension;
import java.awt.GridBagConstraints;
import java.awt.GridBagLayout;
import java.awt.Insets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.UIManager;

/** What the index holds, as rows of a name and a value. Several folders are added up; the state is told for each. */
final class StatusGrid extends JPanel {
    /** How the ids of the models in the package begin. */
    private static final String BUNDLED = "carrel-embed";

    private final Map<String, JLabel> values = new LinkedHashMap<>();

    StatusGrid() {
        super(new GridBagLayout());
        setOpaque(false);
        for (String name : new String[] {"State", "Files", "Pieces", "Size", "Search model", "Left out", "Server"}) {
            addRow(name);
        }
    }

    void show(ServerState server, Collection<StatusResult> statuses) {
        var program = server instanceof ServerState.Running running ? running.description() : "";
        set("Server", program, program);
        set("State", statuses.isEmpty() ? "not asked yet" : join(statuses, Labels::stateOf), "");
        set("Files", statuses.isEmpty() ? "" : Labels.number(sum(statuses, StatusResult::files)), listed(counted(statuses, StatusResult::languages)));
        long lacking = sum(statuses, status -> status.chunksWithoutVectors() == null ? 0 : status.chunksWithoutVectors());
        var chunks = statuses.isEmpty() ? "" : Labels.number(sum(statuses, StatusResult::chunks));
        set(
                "Pieces",
                lacking == 0 ? chunks : "%s (%s without a vector)".formatted(chunks, Labels.number(lacking)),
                lacking == 0 ? "" : "Without a vector: found by words");
        set("Size", statuses.isEmpty() ? "" : Labels.bytes(sum(statuses, StatusResult::bytes)), join(statuses, StatusResult::store));
        set("Search model", join(statuses, StatusGrid::model), join(statuses, StatusGrid::vectors));
        var leftOut = counted(statuses, StatusResult::leftOut);
        long paths = leftOut.values().stream().mapToLong(Integer::intValue).sum();
        set("Left out", paths == 0 ? "" : Labels.count(paths, "path"), listed(leftOut));
    }

    private void addRow(String name) {
        int row = values.size();
        var label = new JLabel(name);
        label.setForeground(UIManager.getColor("Label.disabledForeground"));
        add(label, cell(0, row, 0));
        var value = new JLabel();
        value.setMinimumSize(new Dimension(0, 0)); // a long one is cut, it doesn't widen the panel
        value.setName("status." + name);
        PlainText.in(value);
        label.setLabelFor(value);
        add(value, cell(1, row, 1));
        values.put(name, value);
    }

    private void set(String name, String text, String tooltip) {
        var label = values.get(name);
        label.setText(text.isEmpty() ? "–" : text);
        label.setToolTipText(tooltip.isEmpty() ? null : tooltip);
    }

    private static GridBagConstraints cell(int column, int row, double weight) {
        return new GridBagConstraints(column, row, 1, 1, weight, 0, GridBagConstraints.LINE_START, GridBagConstraints.HORIZONTAL,
                new Insets(1, 0, 1, 12), 0, 0);
    }

    private static long sum(Collection<StatusResult> statuses, ToLongFunction<StatusResult> of) {
        return statuses.stream().mapToLong(of).sum();
    }

    private static String join(Collection<StatusResult> statuses, Function<StatusResult, String> of) {
        return statuses.stream().map(of).distinct().collect(Collectors.joining("; "));
    }

    private static String model(StatusResult status) {
        return status.model().id().startsWith(BUNDLED) ? "built in, runs here" : status.model().id();
    }

    private static String vectors(StatusResult status) {
        var id = status.model().id();
        return id.isEmpty() ? "" : "%s, %s for each piece".formatted(id, Labels.count(status.model().dims(), "number"));
    }

    private static Map<String, Integer> counted(Collection<StatusResult> statuses, Function<StatusResult, Map<String, Integer>> of) {
        var all = new TreeMap<String, Integer>();
        statuses.forEach(status -> of.apply(status).forEach((name, amount) -> all.merge(name, amount, Integer::sum)));
        return all;
    }

    private static String listed(Map<String, Integer> amounts) {
        return amounts.entrySet().stream()
                .map(entry -> "%s: %s".formatted(entry.getKey(), Labels.number(entry.getValue())))
                .collect(Collectors.joining(", "));
    }
}
