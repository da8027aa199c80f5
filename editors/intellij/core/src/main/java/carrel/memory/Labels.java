package carrel.memory;

import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.StatusResult;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Numbers and states as people read them. */
public final class Labels {
    private static final List<String> UNITS = List.of("B", "KB", "MB", "GB");

    private Labels() {}

    /** {@code 1,204 files}, {@code 1 file}. */
    public static String count(long amount, String singular) {
        return "%s %s%s".formatted(number(amount), singular, amount == 1 ? "" : "s");
    }

    public static String number(long amount) {
        return String.format(Locale.US, "%,d", amount);
    }

    public static String bytes(long count) {
        double value = count;
        int unit = 0;
        while (value >= 1_000 && unit < UNITS.size() - 1) {
            value /= 1_000;
            unit++;
        }
        return String.format(Locale.US, unit > 0 && value < 10 ? "%.1f %s" : "%.0f %s", value, UNITS.get(unit));
    }

    /** How the index of one folder is, in a few words. */
    public static String stateOf(StatusResult status) {
        return switch (status.state()) {
            case EMPTY -> "not indexed yet";
            case INDEXING -> status.pending() > 0 ? "indexing, %s to go".formatted(count(status.pending(), "file")) : "indexing";
            case READY -> status.pending() > 0 ? "ready, %s to update".formatted(count(status.pending(), "file")) : "ready";
            case ERROR -> status.error() == null ? "error" : status.error();
        };
    }

    /** What a pack took of its budget. */
    public static String spent(ContextResult pack) {
        var tokens = count(pack.tokens(), "token");
        if (pack.budgetTokens() != null) {
            return "%s of %s".formatted(tokens, number(pack.budgetTokens()));
        }
        if (pack.budgetChars() == null) {
            return tokens;
        }
        // Counted as the server counts: whole characters.
        int characters = pack.text().codePointCount(0, pack.text().length());
        return "%s (%s of %s)".formatted(tokens, number(characters), count(pack.budgetChars(), "character"));
    }

    /** {@code src/login.py:12-30}. */
    public static String place(HitResult hit) {
        return place(hit.path(), hit.startLine(), hit.endLine());
    }

    public static String place(Place place) {
        return place(place.path(), place.startLine(), place.endLine());
    }

    public static String place(String path, int startLine, int endLine) {
        if (startLine == 0) {
            return path; // a whole file
        }
        return startLine == endLine ? path + ":" + startLine : "%s:%d-%d".formatted(path, startLine, endLine);
    }

    /** The path of a file in a folder, as the server writes it; both are URIs. */
    public static String within(String folder, String uri) {
        var inside = folder.endsWith("/") ? folder : folder + "/";
        return uri.startsWith(inside) ? URLDecoder.decode(uri.substring(inside.length()).replace("+", "%2B"), StandardCharsets.UTF_8) : uri;
    }

    /** Why a place was picked: how the searches ranked it, and which rules spoke for it. */
    public static List<String> reasons(HitResult hit) {
        var signals = hit.signals();
        var reasons = new ArrayList<String>();
        if (signals.dense() != null) {
            reasons.add("by meaning: %s%s".formatted(decimal(signals.dense()), rank(signals.denseRank())));
        }
        if (signals.lexical() != null) {
            reasons.add("by words: %s%s".formatted(decimal(signals.lexical()), rank(signals.lexicalRank())));
        }
        if (signals.rerank() != null) {
            reasons.add("ranked again: " + decimal(signals.rerank()));
        }
        if (!signals.matched().isEmpty()) {
            reasons.add("matched words: " + String.join(", ", signals.matched()));
        }
        if (!hit.definitions().isEmpty()) {
            reasons.add("defines: " + String.join(", ", hit.definitions()));
        }
        signals.boosts().forEach(boost -> reasons.add("rule %s: %s".formatted(boost.rule(), decimal(boost.factor()))));
        return reasons;
    }

    private static String rank(Integer place) {
        return place == null ? "" : ", place " + place;
    }

    private static String decimal(double value) {
        return String.format(Locale.US, "%.3f", value);
    }
}
