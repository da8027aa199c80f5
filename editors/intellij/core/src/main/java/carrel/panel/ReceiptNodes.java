package carrel.panel;

import carrel.memory.Place;
import carrel.memory.Receipt;
import carrel.memory.Labels;
import carrel.panel.ReceiptRow.Kind;
import carrel.protocol.Messages.DroppedResult;
import carrel.protocol.Messages.HitResult;
import java.util.List;
import java.util.Locale;
import javax.swing.tree.DefaultMutableTreeNode;

/** Receipts as rows: what went in front of each question, from where, why, what it took, and what was left out. */
final class ReceiptNodes {
    /** The server's reason for what a person removed, which has rows of its own. */
    private static final String REMOVED = "left out of this question";

    private ReceiptNodes() {}

    /** {@code pinned}: the URIs that are pinned by now. */
    static DefaultMutableTreeNode of(List<Receipt> receipts, List<String> pinned) {
        var root = new DefaultMutableTreeNode();
        if (receipts.isEmpty()) {
            root.add(new DefaultMutableTreeNode(
                    ReceiptRow.words("None yet: Copy Context for This Question makes one", null, null)));
        }
        receipts.forEach(receipt -> root.add(node(receipt, pinned)));
        return root;
    }

    private static DefaultMutableTreeNode node(Receipt receipt, List<String> pinned) {
        var pack = receipt.pack();
        var question = receipt.question();
        var head = "%s: %s".formatted(Labels.count(pack.tokens(), "token"), question.text());
        var node = new DefaultMutableTreeNode(ReceiptRow.words(head, question.text(), receipt));
        var sum = "%s, %s".formatted(Labels.count(pack.hits().size(), "place"), Labels.spent(pack));
        words(node, sum, "What it took of the budget", receipt);
        if (pack.error() != null) {
            words(node, pack.error(), pack.error(), receipt);
        }
        pack.hits().forEach(hit -> node.add(given(hit, receipt, pinned.contains(hit.uri()))));
        receipt.pinned().stream()
                .filter(uri -> pinned.contains(uri) && pack.hits().stream().noneMatch(hit -> hit.uri().equals(uri)))
                .forEach(uri -> {
                    var place = new Place(uri, Labels.within(question.folder(), uri), 0, 0);
                    node.add(leaf("pinned, not given: " + place.path(), "Unpin lets it go", receipt, Kind.MISSING, place));
                });
        question.removed().forEach(place -> node.add(
                leaf("removed by you: " + Labels.place(place), "Allow takes it in again", receipt, Kind.REMOVED, place)));
        pack.dropped().stream()
                .filter(dropped -> !dropped.reason().equals(REMOVED))
                .forEach(dropped -> words(node, "left out: " + place(dropped), dropped.reason(), receipt));
        return node;
    }

    private static DefaultMutableTreeNode given(HitResult hit, Receipt receipt, boolean pinned) {
        var symbol = hit.symbol() == null ? "" : "  " + hit.symbol();
        var text = "%s%s  (%s)%s".formatted(
                Labels.place(hit), symbol, String.format(Locale.US, "%.2f", hit.score()), pinned ? "  pinned" : "");
        var matched = hit.signals().matched().isEmpty() ? null : "matched " + String.join(", ", hit.signals().matched());
        var node = leaf(text, matched, receipt, Kind.GIVEN, Place.of(hit));
        Labels.reasons(hit).forEach(reason -> node.add(leaf(reason, reason, receipt, Kind.GIVEN, Place.of(hit))));
        return node;
    }

    private static void words(DefaultMutableTreeNode node, String text, String tooltip, Receipt receipt) {
        node.add(new DefaultMutableTreeNode(ReceiptRow.words(text, tooltip, receipt)));
    }

    private static DefaultMutableTreeNode leaf(String text, String tooltip, Receipt receipt, Kind kind, Place place) {
        return new DefaultMutableTreeNode(new ReceiptRow(text, tooltip, receipt, kind, place));
    }

    private static String place(DroppedResult dropped) {
        return Labels.place(dropped.path(), dropped.startLine(), dropped.endLine());
    }
}
