package carrel.panel;

import java.awt.Dimension;
import java.awt.FlowLayout;
import java.awt.Font;
import javax.swing.BorderFactory;
import javax.swing.Box;
import javax.swing.JComponent;
import javax.swing.JLabel;
import javax.swing.JPanel;
import javax.swing.JTextArea;
import javax.swing.UIManager;

/** Pieces that panels are made of. */
final class Components {
    private Components() {}

    /** Components side by side, no higher than they need. */
    static JPanel row(JComponent... parts) {
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

    static JLabel heading(String words) {
        var label = new JLabel(words);
        label.setFont(label.getFont().deriveFont(Font.BOLD));
        label.setBorder(BorderFactory.createEmptyBorder(8, 0, 2, 0));
        return label;
    }

    /** A label that wraps its lines and can be copied from. */
    static JTextArea text(String name) {
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
