package carrel.memory;

import carrel.protocol.Messages.ContextResult;
import java.util.List;

/** A question, the URIs of the files that were pinned when it was asked, and what was put in front of it. */
public record Receipt(Question question, List<String> pinned, ContextResult pack) {
    public String prompt() {
        return question.after(pack);
    }
}
