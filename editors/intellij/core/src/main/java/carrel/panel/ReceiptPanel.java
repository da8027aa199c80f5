package carrel.panel;

import carrel.memory.ChoiceStore;
import carrel.memory.Memory;
import carrel.memory.Receipt;
import java.awt.BorderLayout;
import java.awt.GridLayout;
import java.awt.event.KeyEvent;
import java.util.List;
import java.util.function.Consumer;
import javax.swing.Action;
import javax.swing.JButton;
import javax.swing.JPanel;
import javax.swing.JPopupMenu;
import javax.swing.JScrollPane;

/** The receipts and the buttons for them. */
final class ReceiptPanel extends JPanel {
    private final ChoiceStore choices;
    private final ReceiptTree tree;
    private final ReceiptActions actions;

    /** {@code failed} hears of a question that could not be repeated. */
    ReceiptPanel(Memory memory, ChoiceStore choices, PanelHost host, Consumer<Throwable> failed) {
        super(new BorderLayout(0, 4));
        this.choices = choices;
        this.tree = new ReceiptTree(host);
        this.actions = new ReceiptActions(memory, choices, host, tree::selected, failed);
        lay();
        tree.addTreeSelectionListener(event -> actions.renew());
        tree.bind(KeyEvent.VK_DELETE, actions.remove);
    }

    void show(List<Receipt> receipts) {
        tree.show(receipts, choices.get().pinned());
        actions.renew();
    }

    private void lay() {
        setOpaque(false);
        var top = new JPanel(new BorderLayout());
        top.setOpaque(false);
        top.add(Components.heading("Last answers"), BorderLayout.NORTH);
        // A grid shares what room there is: a tool window may be narrow.
        var buttons = new JPanel(new GridLayout(0, 2, 4, 4));
        buttons.setOpaque(false);
        buttons.add(button("pin", actions.pin));
        buttons.add(button("remove", actions.remove));
        buttons.add(button("repeat", actions.repeat));
        buttons.add(button("copy", actions.copy));
        top.add(buttons, BorderLayout.CENTER);
        add(top, BorderLayout.NORTH);
        add(new JScrollPane(tree), BorderLayout.CENTER);
        var menu = new JPopupMenu();
        for (Action action : new Action[] {actions.open, actions.pin, actions.remove, actions.removeFile, actions.repeat, actions.copy}) {
            menu.add(action);
        }
        tree.setComponentPopupMenu(menu);
    }

    private static JButton button(String name, Action action) {
        var button = new JButton(action);
        button.setName(name);
        return button;
    }
}
