package carrel.chat;

import carrel.chat.Segment.Kind;
import carrel.memory.Labels;
import carrel.protocol.Messages.ChatCitation;
import carrel.protocol.Messages.ContextResult;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A conversation as text with links. */
public final class Transcript {
    private static final String FENCE = "```";

    private Transcript() {}

    public static List<Segment> of(List<Turn> turns) {
        var segments = new ArrayList<Segment>();
        for (Turn turn : turns) {
            if (!segments.isEmpty()) {
                segments.add(Segment.of(Kind.TEXT, "\n"));
            }
            write(turn, segments);
        }
        return segments;
    }

    private static void write(Turn turn, List<Segment> segments) {
        segments.add(Segment.of(Kind.QUESTION, turn.question() + "\n"));
        turn.steps().forEach(step -> segments.add(Segment.of(Kind.STEP, "> " + step + "\n")));
        if (turn.answering()) {
            segments.add(Segment.of(Kind.TEXT, turn.text() + "…\n")); // until its places are checked, too
            return;
        }
        if (!turn.text().isEmpty()) {
            answer(turn, segments);
            segments.add(Segment.of(Kind.TEXT, "\n"));
        }
        turn.places().stream().filter(place -> !place.ok()).forEach(place -> {
            segments.add(link(place, place.path(), place.startLine(), place.endLine()));
            var reason = place.reason() == null ? "the model was not given it" : place.reason();
            segments.add(Segment.of(Kind.PROBLEM, " (unverified: %s)\n".formatted(reason)));
        });
        turn.problems().forEach(problem -> segments.add(Segment.of(Kind.PROBLEM, "> " + problem + "\n")));
        if (turn.pack() != null) {
            segments.add(Segment.of(Kind.RECEIPT, given(turn.pack())));
            segments.add(Segment.of(Kind.TEXT, "\n"));
        }
    }

    private static String given(ContextResult pack) {
        return pack.hits().isEmpty()
                ? "Nothing was put before the question"
                : "Put before the question: %s, %s".formatted(Labels.count(pack.hits().size(), "place"), Labels.spent(pack));
    }

    /** The text with its cited places as links; fenced code stands as it is. */
    private static void answer(Turn turn, List<Segment> segments) {
        var cited = new HashMap<String, List<ChatCitation>>();
        turn.places().forEach(place -> cited.computeIfAbsent(place.path(), path -> new ArrayList<>()).add(place));
        var pattern = pattern(cited);
        boolean code = false;
        for (String line : turn.text().split("(?<=\n)", -1)) {
            boolean fence = line.strip().startsWith(FENCE);
            if (code || fence) {
                segments.add(Segment.of(Kind.CODE, line));
            } else {
                links(line, pattern, cited, segments);
            }
            code ^= fence;
        }
    }

    private static void links(String text, Pattern pattern, Map<String, List<ChatCitation>> cited, List<Segment> segments) {
        int from = 0;
        for (MatchResult found : pattern == null ? List.<MatchResult>of() : pattern.matcher(text).results().toList()) {
            int first = number(found.group(2));
            int last = found.group(3) == null ? first : number(found.group(3));
            plain(text.substring(from, found.start()), segments);
            segments.add(link(citation(cited.get(found.group(1)), first), found.group(1), first, last));
            from = found.end();
        }
        plain(text.substring(from), segments);
    }

    private static void plain(String text, List<Segment> segments) {
        if (!text.isEmpty()) {
            segments.add(Segment.of(Kind.TEXT, text));
        }
    }

    /** The citation that these words are of: several of one file differ in their lines. */
    private static ChatCitation citation(List<ChatCitation> places, int line) {
        return places.stream().filter(place -> place.startLine() == line).findFirst().orElse(places.get(0));
    }

    private static Segment link(ChatCitation place, String path, int first, int last) {
        return new Segment(place.ok() ? Kind.PLACE : Kind.UNVERIFIED, Labels.place(path, first, last), place.uri(), Math.max(1, first));
    }

    /** {@code src/login.py:12-20}, of the paths that are cited; null where none is. */
    private static Pattern pattern(Map<String, List<ChatCitation>> cited) {
        if (cited.isEmpty()) {
            return null;
        }
        var paths = cited.keySet().stream()
                .sorted(Comparator.comparingInt(String::length).reversed()) // the longer of two that begin alike
                .map(Pattern::quote)
                .collect(Collectors.joining("|"));
        return Pattern.compile("(?<![\\w/.-])(" + paths + "):L?(\\d{1,9})(?:[-–]L?(\\d{1,9}))?");
    }

    private static int number(String digits) {
        return Integer.parseInt(digits);
    }
}
