package carrel.memory;

import carrel.protocol.Messages.Boost;
import carrel.protocol.Messages.Contribution;
import carrel.protocol.Messages.HitResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Why a place was chosen, in the words that the VS Code extension uses too; and its score as a sum. */
public final class Why {
    private static final int MOST_NAMES = 3;
    private static final int MOST_WORDS = 4;
    /** A tie below this is too weak to be named. */
    private static final double LEAST_TIE = 1.02;

    private static final Map<String, String> RULES = Map.ofEntries(
            Map.entry("words", "words of the question"),
            Map.entry("meaning", "close in meaning"),
            Map.entry("coverage", "holds many of the words"),
            Map.entry("whole_file", "the file as a whole is about it"),
            Map.entry("path_match", "the file is called like it"),
            Map.entry("in_scope", "lies in the part that is named"),
            Map.entry("substance", "length of the place and its file"),
            Map.entry("name_match", "defines what the question names"),
            Map.entry("verbatim", "holds its words in their order"),
            Map.entry("path_penalty", "tests, documents, data and the like step back"),
            Map.entry("in_view", "open in the editor"),
            Map.entry("nearby", "near the file in front"),
            Map.entry("tied", "tied to the file in front"),
            Map.entry("combined", "several searches together"));

    private Why() {}

    /**
     * Say it in one sentence: what the place defines, which words it holds, how it is tied to the file in front.
     *
     * @param inFront the URI of that file; may be null
     * @param pinned whether the person pinned the place's file
     */
    public static String sentence(HitResult hit, String inFront, boolean pinned) {
        if (Boolean.TRUE.equals(hit.attached())) {
            return "You selected or attached these lines.";
        }
        var parts = new ArrayList<String>();
        if (pinned) {
            parts.add("is pinned by you");
        }
        if (share(hit, "verbatim") > 0) {
            parts.add("holds your words in your order");
        }
        var defined = defined(hit);
        if (!defined.isEmpty()) {
            parts.add(("docs".equals(hit.source()) ? "is headed " : "defines ") + listed(defined, MOST_NAMES, "name"));
        }
        var matched = hit.signals().matched().stream().map(word -> "“" + word + "”").toList();
        if (!matched.isEmpty()) {
            parts.add("holds " + listed(matched, MOST_WORDS, "word"));
        } else if (share(hit, "meaning") > 0) {
            parts.add("is close to the question in meaning");
        }
        if (hit.uri().equals(inFront)) {
            parts.add("is in the file in front of you");
        } else if (inFront != null && factor(hit, "tied") > LEAST_TIE) {
            parts.add("uses or is used by %s, the file in front of you".formatted(fileName(inFront)));
        }
        if (parts.isEmpty()) {
            return share(hit, "combined") != 0 ? "Fits several parts of the question." : "Fits the question best by all signs together.";
        }
        int last = parts.size() - 1;
        var sentence = last == 0 ? parts.get(0) : String.join(", ", parts.subList(0, last)) + " and " + parts.get(last);
        return sentence.substring(0, 1).toUpperCase(Locale.ROOT) + sentence.substring(1) + ".";
    }

    /** Give each rule's signed share of the score, with its meaning; they add up to the score. */
    public static List<String> sum(HitResult hit) {
        return contributions(hit).stream()
                .map(one -> "%s%s  %s"
                        .formatted(one.share() < 0 ? "−" : "+", Labels.score(Math.abs(one.share())), RULES.getOrDefault(one.rule(), one.rule())))
                .toList();
    }

    private static List<String> defined(HitResult hit) {
        if (!hit.definitions().isEmpty()) {
            return hit.definitions().stream().distinct().toList();
        }
        return hit.symbol() == null ? List.of() : List.of(hit.symbol());
    }

    private static String listed(List<String> names, int most, String singular) {
        var shown = String.join(", ", names.subList(0, Math.min(most, names.size())));
        int more = names.size() - most;
        return more > 0 ? "%s and %s".formatted(shown, Labels.count(more, "more " + singular)) : shown;
    }

    private static String fileName(String uri) {
        return Labels.decoded(uri.substring(uri.lastIndexOf('/') + 1));
    }

    private static double share(HitResult hit, String rule) {
        return contributions(hit).stream().filter(one -> one.rule().equals(rule)).mapToDouble(Contribution::share).findFirst().orElse(0);
    }

    private static double factor(HitResult hit, String rule) {
        return hit.signals().boosts().stream().filter(one -> one.rule().equals(rule)).mapToDouble(Boost::factor).findFirst().orElse(1);
    }

    private static List<Contribution> contributions(HitResult hit) {
        var told = hit.signals().contributions();
        return told == null ? List.of() : told;
    }
}
