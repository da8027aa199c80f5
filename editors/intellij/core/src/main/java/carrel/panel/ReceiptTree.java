package carrel.panel;

import carrel.memory.Receipt;
import carrel.memory.Words;
import carrel.protocol.Messages.DroppedResult;
import carrel.protocol.Messages.HitResult;
import java.awt.event.ActionEvent;
import java.awt.event.KeyEvent;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.util.List;
import java.util.Locale;
import javax.swing.AbstractAction;
import javax.swing.JTree;
import javax.swing.KeyStroke;
import javax.swing.ToolTipManager;
import javax.swing.tree.DefaultMutableTreeNode;
import javax.swing.tree.DefaultTreeCellRenderer;
import javax.swing.tree.DefaultTreeModel;
import javax.swing.tree.TreePath;
import javax.swing.tree.TreeSelectionModel;

/** The last questions, each with the places that were put in front of it and the tokens they took. */
final class ReceiptTree extends JTree {
    private final Places places;
    private List<Receipt> shown = List.of();

    /** A node's text, what a hover tells, and the place that it opens; {@code uri} may be null. */
    private record Line(String text, String tooltip, String uri, int line) {
        @Override
        public String toString() {
            return text;
        }
    }

    ReceiptTree(Places places) {
        super(new DefaultTreeModel(new DefaultMutableTreeNode()));
        this.places = places;
        setName("receipts");
        setRootVisible(false);
        setShowsRootHandles(true);
        setToggleClickCount(0);
        getSelectionModel().setSelectionMode(TreeSelectionModel.SINGLE_TREE_SELECTION);
        var renderer = new DefaultTreeCellRenderer();
        PlainText.in(renderer);
        renderer.setLeafIcon(null);
        renderer.setOpenIcon(null);
        renderer.setClosedIcon(null);
        setCellRenderer(renderer);
        ToolTipManager.sharedInstance().registerComponent(this);
        listen();
        show(List.of());
    }

    void show(List<Receipt> receipts) {
        if (receipts.equals(shown) && getRowCount() > 0) {
            return; // what is unfolded stays so
        }
        shown = receipts;
        var root = new DefaultMutableTreeNode();
        if (receipts.isEmpty()) {
            root.add(new DefaultMutableTreeNode(new Line("None yet: Copy Context for This Question makes one", null, null, 0)));
        }
        receipts.forEach(receipt -> root.add(node(receipt)));
        setModel(new DefaultTreeModel(root));
        expandRow(0);
    }

    @Override
    public String getToolTipText(MouseEvent event) {
        var line = at(getPathForLocation(event.getX(), event.getY()));
        return line == null ? null : line.tooltip();
    }

    private void listen() {
        addMouseListener(new MouseAdapter() {
            @Override
            public void mouseClicked(MouseEvent event) {
                if (event.getClickCount() == 2) {
                    open(getPathForLocation(event.getX(), event.getY()));
                }
            }
        });
        getInputMap().put(KeyStroke.getKeyStroke(KeyEvent.VK_ENTER, 0), "open");
        getActionMap().put("open", new AbstractAction() {
            @Override
            public void actionPerformed(ActionEvent event) {
                open(getSelectionPath());
            }
        });
    }

    private void open(TreePath path) {
        var line = at(path);
        if (line != null && line.uri() != null) {
            places.open(line.uri(), line.line());
        }
    }

    private static Line at(TreePath path) {
        return path != null && ((DefaultMutableTreeNode) path.getLastPathComponent()).getUserObject() instanceof Line line ? line : null;
    }

    private static DefaultMutableTreeNode node(Receipt receipt) {
        var pack = receipt.pack();
        var head = "%s: %s".formatted(Words.count(pack.tokens(), "token"), receipt.question());
        var node = new DefaultMutableTreeNode(new Line(head, receipt.question(), null, 0));
        var sum = "%s, %s".formatted(Words.count(pack.hits().size(), "place"), Words.spent(pack));
        node.add(new DefaultMutableTreeNode(new Line(sum, "What it took of the budget", null, 0)));
        if (pack.error() != null) {
            node.add(new DefaultMutableTreeNode(new Line(pack.error(), pack.error(), null, 0)));
        }
        pack.hits().forEach(hit -> node.add(new DefaultMutableTreeNode(source(hit))));
        pack.dropped().forEach(dropped -> node.add(new DefaultMutableTreeNode(leftOut(dropped))));
        return node;
    }

    private static Line source(HitResult hit) {
        var symbol = hit.symbol() == null ? "" : "  " + hit.symbol();
        var matched = hit.signals().matched().isEmpty() ? "" : "matched " + String.join(", ", hit.signals().matched());
        var text = "%s%s  (%s)".formatted(Words.place(hit), symbol, String.format(Locale.US, "%.2f", hit.score()));
        return new Line(text, matched, hit.uri(), hit.startLine());
    }

    private static Line leftOut(DroppedResult dropped) {
        var place = Words.place(dropped.path(), dropped.startLine(), dropped.endLine());
        return new Line("left out: " + place, dropped.reason(), null, 0);
    }
}
