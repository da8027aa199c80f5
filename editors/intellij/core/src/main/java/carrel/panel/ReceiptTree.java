package carrel.panel;

import carrel.memory.Receipt;
import carrel.panel.ReceiptRow.Kind;
import java.awt.Point;
import java.awt.event.ActionEvent;
import java.awt.event.KeyEvent;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.util.Collections;
import java.util.List;
import javax.swing.AbstractAction;
import javax.swing.Action;
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
    private List<String> pinned = List.of();

    ReceiptTree(Places places) {
        super(new DefaultTreeModel(ReceiptNodes.of(List.of(), List.of())));
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
    }

    /** {@code nowPinned}: URIs of the files that are pinned. The newest question takes over the selection, so that it can be changed further. */
    void show(List<Receipt> receipts, List<String> nowPinned) {
        if (receipts.equals(shown) && nowPinned.equals(pinned)) {
            return; // what is unfolded stays so
        }
        boolean selected = !isSelectionEmpty();
        shown = receipts;
        pinned = nowPinned;
        setModel(new DefaultTreeModel(ReceiptNodes.of(receipts, nowPinned)));
        unfoldNewest();
        if (selected) {
            setSelectionRow(0);
        }
    }

    /** The selected row; null if there is none. */
    ReceiptRow selected() {
        return at(getSelectionPath());
    }

    /** Do this at a press of the key. */
    void bind(int key, Action action) {
        getInputMap().put(KeyStroke.getKeyStroke(key, 0), action);
        getActionMap().put(action, action);
    }

    @Override
    public String getToolTipText(MouseEvent event) {
        var row = at(getPathForLocation(event.getX(), event.getY()));
        return row == null ? null : row.tooltip();
    }

    /** The menu is about the row under the mouse. */
    @Override
    public Point getPopupLocation(MouseEvent event) {
        if (event != null) {
            setSelectionPath(getPathForLocation(event.getX(), event.getY()));
        }
        return super.getPopupLocation(event);
    }

    private void listen() {
        addMouseListener(new MouseAdapter() {
            @Override
            public void mouseClicked(MouseEvent event) {
                if (event.getClickCount() == 2) {
                    open(at(getPathForLocation(event.getX(), event.getY())));
                }
            }
        });
        bind(KeyEvent.VK_ENTER, new AbstractAction() {
            @Override
            public void actionPerformed(ActionEvent event) {
                open(selected());
            }
        });
    }

    /** The newest question shows its places, and each place why it is there; how its score adds up stays folded. */
    private void unfoldNewest() {
        var root = (DefaultMutableTreeNode) getModel().getRoot();
        var newest = (DefaultMutableTreeNode) root.getFirstChild();
        expandPath(new TreePath(newest.getPath()));
        for (var child : Collections.list(newest.children())) {
            var node = (DefaultMutableTreeNode) child;
            if (node.getUserObject() instanceof ReceiptRow row && row.is(Kind.GIVEN)) {
                expandPath(new TreePath(node.getPath()));
            }
        }
    }

    private void open(ReceiptRow row) {
        if (row != null && row.place() != null) {
            places.open(row.place().uri(), row.line());
        }
    }

    private static ReceiptRow at(TreePath path) {
        return path != null && ((DefaultMutableTreeNode) path.getLastPathComponent()).getUserObject() instanceof ReceiptRow row ? row : null;
    }
}
