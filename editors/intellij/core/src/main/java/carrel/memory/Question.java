package carrel.memory;

import carrel.protocol.Messages.ActiveEditor;
import carrel.protocol.Messages.ContextParams;
import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HistoryTurn;
import carrel.protocol.Messages.Trigger;
import java.util.List;
import java.util.stream.Stream;

/**
 * A question to a folder as a person asked it, so that it can be asked again; nothing of {@code removed} may be in its answer.
 * {@code history} are the questions before it, oldest first: they say what a follow-up is about.
 */
public record Question(
        String folder, String text, ActiveEditor active, List<String> openUris, List<HistoryTurn> history, List<Place> removed) {
    public Question {
        history = List.copyOf(history);
        openUris = List.copyOf(openUris);
        removed = List.copyOf(removed);
    }

    /** A new question. {@code active}, the file in front, may be null. */
    public static Question of(String folder, String text, ActiveEditor active, List<String> openUris) {
        return new Question(folder, text, active, openUris, List.of(), List.of());
    }

    /** The same question after these turns. */
    public Question following(List<HistoryTurn> turns) {
        return new Question(folder, text, active, openUris, turns, removed);
    }

    public Question without(Place place) {
        return removing(Stream.concat(removed.stream(), Stream.of(place)).distinct().toList());
    }

    /** The place was removed, and may be in the answer again. */
    public Question allowing(Place place) {
        return removing(removed.stream().filter(one -> !one.equals(place)).toList());
    }

    /** What a chat gets: the pages, and the question after them. */
    public String after(ContextResult pack) {
        return pack.text().isEmpty() ? text : pack.text() + "\n\n" + text;
    }

    ContextParams params(int waitMs, List<String> pinned) {
        return ContextParams.of(folder, text, Trigger.EXPLICIT, waitMs, active, openUris)
                .following(history)
                .choosing(
                        pinned,
                        removed.stream().filter(Place::isWholeFile).map(Place::glob).toList(),
                        removed.stream().filter(place -> !place.isWholeFile()).map(Place::lines).toList());
    }

    private Question removing(List<Place> places) {
        return new Question(folder, text, active, openUris, history, places);
    }
}
