package carrel.memory;

import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HitResult;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** Numbers and states as people read them. */
public final class Labels {
    private static final List<String> UNITS = List.of("B", "KB", "MB", "GB");
    private static final Pattern COUNTED = Pattern.compile("(\\d+)/(\\d+) files(.*)");

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
            case READY -> isPartial(status) ? partOf(status) : readiness(status);
            case ERROR -> status.error() == null ? "error" : status.error();
        };
    }

    /** Whether a run over all files was stopped, or never ended, so that only a part of the project is found. */
    public static boolean isPartial(StatusResult status) {
        return status.state() == State.READY
                && status.files() > 0
                && (Boolean.FALSE.equals(status.complete()) || unfinished(status) > 0);
    }

    /** What is said of a run that was cancelled. */
    public static String cancelled(Collection<StatusResult> statuses) {
        return "cancelled, %s kept".formatted(count(statuses.stream().mapToLong(StatusResult::files).sum(), "file"));
    }

    /** How far a run is: the server's {@code 18445/50001 files} with the numbers as people read them. */
    public static String progress(Work work) {
        var found = COUNTED.matcher(work.message());
        if (!found.matches()) {
            return work.message().isEmpty() ? "looking for changed files" : work.message();
        }
        return "%s of %s%s".formatted(number(Long.parseLong(found.group(1))), count(Long.parseLong(found.group(2)), "file"), found.group(3));
    }

    private static String readiness(StatusResult status) {
        return status.pending() > 0 ? "ready, %s to update".formatted(count(status.pending(), "file")) : "ready";
    }

    private static String partOf(StatusResult status) {
        if ("follower".equals(status.role())) {
            return "another window is indexing it";
        }
        int rest = unfinished(status);
        var part = rest > 0
                ? "%s of %s".formatted(number(status.files()), count(status.files() + rest, "file"))
                : count(status.files(), "file") + ", not all";
        return part + ": resume";
    }

    private static int unfinished(StatusResult status) {
        return status.unfinished() == null ? 0 : status.unfinished();
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
        return uri.startsWith(inside) ? decoded(uri.substring(inside.length())) : uri;
    }

    /** A part of a URI as people write it. */
    static String decoded(String part) {
        return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    /** A score or a share of one. */
    public static String score(double value) {
        return String.format(Locale.US, "%.2f", value);
    }
}
