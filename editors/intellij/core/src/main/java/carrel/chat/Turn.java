package carrel.chat;

import carrel.protocol.Messages.ChatCitation;
import carrel.protocol.Messages.ContextResult;
import java.util.List;

/**
 * A question and its answer, as far as there is one. {@code steps} are the tools that ran; {@code problem} is why there is no answer, or
 * what is wrong with it. {@code pack}, what was put before the question, is null until the answer is complete.
 */
public record Turn(
        String question,
        List<String> steps,
        String text,
        List<ChatCitation> places,
        List<String> problems,
        ContextResult pack,
        boolean answering) {
    public Turn {
        steps = List.copyOf(steps);
        places = List.copyOf(places);
        problems = List.copyOf(problems);
    }

    static Turn of(String question) {
        return new Turn(question, List.of(), "", List.of(), List.of(), null, true);
    }
}
