package carrel.panel;

import carrel.memory.Place;
import carrel.memory.Receipt;
import carrel.memory.Labels;
import carrel.memory.Why;
import carrel.panel.ReceiptRow.Kind;
import carrel.protocol.Messages.DroppedResult;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.RouteResult;
import carrel.protocol.Messages.SentResult;
import carrel.protocol.Messages.State;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import javax.swing.tree.DefaultMutableTreeNode;

/** Receipts as rows: what went in front of each question, from where, why, what it took, and what was left out. */
final class ReceiptNodes {
    /** The server's reason for what a person removed, which has rows of its own. */
    private static final String REMOVED = "left out of this question";

    private static final String CONFIDENCE =
            "How sure it is that the project holds anything relevant at all, from 0 to 1. Near 0 nothing is sent.";

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
        if (pack.rewritten() != null) {
            words(node, "searched for: " + pack.rewritten(), "The question in the words of the code", receipt);
        }
        if (pack.error() != null) {
            words(node, pack.error(), pack.error(), receipt);
        }
        if (pack.state() != State.READY || pack.pending() > 0) {
            words(node, "the index was not complete: %s waiting".formatted(Labels.count(pack.pending(), "file")), null, receipt);
        }
        pack.hits().forEach(hit -> node.add(given(hit, receipt, pinned.contains(hit.uri()))));
        if (pack.hits().isEmpty()) {
            words(node, "no place of the project goes with this question", null, receipt);
        }
        receipt.pinned().stream()
                .filter(uri -> pinned.contains(uri) && pack.hits().stream().noneMatch(hit -> hit.uri().equals(uri)))
                .forEach(uri -> {
                    var place = new Place(uri, Labels.within(question.folder(), uri), 0, 0);
                    node.add(leaf("pinned, not given: " + place.path(), "Unpin lets it go", receipt, Kind.MISSING, place));
                });
        question.removed().forEach(place -> node.add(
                leaf("excluded by you: " + Labels.place(place), "Include Again takes it in", receipt, Kind.REMOVED, place)));
        leftOut(node, receipt);
        if (pack.confidence() != null) {
            words(node, "confidence: " + Labels.score(pack.confidence()), CONFIDENCE, receipt);
        }
        sources(node, receipt);
        sent(node, receipt);
        return node;
    }

    private static DefaultMutableTreeNode given(HitResult hit, Receipt receipt, boolean pinned) {
        var text = Labels.place(hit)
                + (hit.symbol() == null ? "" : "  " + hit.symbol())
                + (Boolean.TRUE.equals(hit.attached()) ? "  chosen by you" : "  (%s)".formatted(Labels.score(hit.score())))
                + (hit.masked() > 0 ? "  %s hidden".formatted(Labels.count(hit.masked(), "secret")) : "")
                + (pinned ? "  pinned" : "");
        var active = receipt.question().active();
        var why = Why.sentence(hit, active == null ? null : active.uri(), pinned);
        var place = Place.of(hit);
        var node = leaf(text, why, receipt, Kind.GIVEN, place);
        node.add(leaf(why, why, receipt, Kind.GIVEN, place));
        var shares = Why.sum(hit);
        if (!shares.isEmpty() && !Boolean.TRUE.equals(hit.attached())) {
            var score = leaf("how the score adds up", "The rules' shares of %s".formatted(Labels.score(hit.score())), receipt, Kind.GIVEN, place);
            shares.forEach(share -> score.add(leaf(share, null, receipt, Kind.GIVEN, place)));
            node.add(score);
        }
        return node;
    }

    private static void leftOut(DefaultMutableTreeNode node, Receipt receipt) {
        var dropped = receipt.pack().dropped().stream().filter(one -> !one.reason().equals(REMOVED)).toList();
        if (!dropped.isEmpty()) {
            var group = words(node, "left out: " + Labels.count(dropped.size(), "place"), "What fitted less well, or was there already", receipt);
            dropped.forEach(one -> words(group, "%s: %s".formatted(place(one), one.reason()), one.reason(), receipt));
        }
    }

    /** Where the question went, with the reasons, and which sources nothing in it spoke for. */
    private static void sources(DefaultMutableTreeNode node, Receipt receipt) {
        var routes = receipt.pack().routes() == null ? List.<RouteResult>of() : receipt.pack().routes();
        var others = receipt.pack().notSearched() == null ? List.<String>of() : receipt.pack().notSearched();
        if (routes.isEmpty() && others.isEmpty()) {
            return;
        }
        var names = routes.stream().map(RouteResult::source).collect(Collectors.joining(", "));
        var group = words(node, "searched: " + names, "Which of your sources the question went to", receipt);
        routes.forEach(one -> words(group, "%s: %s".formatted(one.source(), one.reason()), null, receipt));
        others.forEach(one -> words(group, one + ": not searched, nothing in the question speaks for it", null, receipt));
    }

    /** What went to which service while the places were looked for. */
    private static void sent(DefaultMutableTreeNode node, Receipt receipt) {
        var sent = receipt.pack().sent() == null ? List.<SentResult>of() : receipt.pack().sent();
        if (sent.isEmpty()) {
            return;
        }
        var hosts = sent.stream().map(SentResult::host).distinct().collect(Collectors.joining(", "));
        var group = words(node, "sent to " + hosts, "What left this machine for this question", receipt);
        sent.forEach(one -> words(group, words(one), null, receipt));
    }

    private static String words(SentResult one) {
        var words = "%s at %s: %s, %s, %s, %s".formatted(
                one.provider(),
                one.host(),
                one.what(),
                Labels.count(one.requests(), "request"),
                Labels.count(one.texts(), "text"),
                Labels.count(one.bytes(), "byte"));
        return one.cost() > 0 ? words + String.format(Locale.US, ", $%.4f", one.cost()) : words;
    }

    private static DefaultMutableTreeNode words(DefaultMutableTreeNode node, String text, String tooltip, Receipt receipt) {
        var row = new DefaultMutableTreeNode(ReceiptRow.words(text, tooltip, receipt));
        node.add(row);
        return row;
    }

    private static DefaultMutableTreeNode leaf(String text, String tooltip, Receipt receipt, Kind kind, Place place) {
        return new DefaultMutableTreeNode(new ReceiptRow(text, tooltip, receipt, kind, place));
    }

    private static String place(DroppedResult dropped) {
        return Labels.place(dropped.path(), dropped.startLine(), dropped.endLine());
    }
}
