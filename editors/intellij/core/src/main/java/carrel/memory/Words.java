package carrel.memory;

import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.StatusResult;
import java.util.List;
import java.util.Locale;

/** Numbers and states as people read them. */
public final class Words {
    private static final List<String> UNITS = List.of("B", "KB", "MB", "GB");

    private Words() {}

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

    public static String place(String path, int startLine, int endLine) {
        if (startLine == 0) {
            return path; // a whole file
        }
        return startLine == endLine ? path + ":" + startLine : "%s:%d-%d".formatted(path, startLine, endLine);
    }
}
