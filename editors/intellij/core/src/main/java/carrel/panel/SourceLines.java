package carrel.panel;

import carrel.memory.Labels;
import carrel.protocol.Messages.ProviderDestination;
import carrel.protocol.Messages.ProviderModel;
import carrel.protocol.Messages.ProvidersResult;
import carrel.protocol.Messages.SourceResult;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Sources and models in words. */
final class SourceLines {
    private static final String WORKSPACE = "code";

    private SourceLines() {}

    /** A source as a row of a list. */
    static String row(SourceResult source) {
        var facts = new ArrayList<String>();
        facts.add(kind(source));
        facts.add(
                switch (source.state()) {
                    case EMPTY -> "read when a question first needs it";
                    case INDEXING -> "being indexed";
                    case READY -> "ready, " + Labels.count(source.files(), "file");
                    case ERROR -> "can't be searched";
                });
        return source.id() + ": " + String.join(", ", facts);
    }

    /** Where it is, what it holds, and what to mend. */
    static String details(SourceResult source) {
        var lines = new ArrayList<>(List.of(source.folder()));
        if (!source.description().isEmpty()) {
            lines.add(source.description());
        }
        if (source.problems() != null) {
            lines.addAll(source.problems());
        }
        if (source.failed() != null) {
            source.failed().forEach(file -> lines.add("Not read: " + file.path() + ": " + file.reason()));
        }
        return String.join("\n", lines);
    }

    /** Whether it can be taken out: the workspace itself can't. */
    static boolean isRemovable(SourceResult source) {
        return source != null && !source.kind().equals(WORKSPACE);
    }

    static String models(ProvidersResult found) {
        return found.models().stream().map(SourceLines::model).collect(Collectors.joining("\n"));
    }

    private static String model(ProviderModel model) {
        var places = model.destinations();
        var facts = new ArrayList<String>();
        if (places.isEmpty()) {
            facts.add("runs inside Carrel, nothing is sent");
        } else {
            facts.add("to " + places.stream().map(ProviderDestination::host).collect(Collectors.joining(", ")));
            facts.add(places.stream().allMatch(ProviderDestination::allowed) ? "allowed" : "not allowed yet");
            facts.add(model.hasKey() ? "has a key" : "no key found");
            facts.add("%s, $%.4f so far".formatted(Labels.count(model.requests(), "request"), model.dollars()));
        }
        if (model.answeredMs() != null) {
            facts.add("answered in %.0f ms".formatted(model.answeredMs()));
        }
        var wrong = model.problem() != null ? model.problem() : model.lastError();
        if (wrong != null) {
            facts.add(wrong);
        }
        return model.role() + ": " + model.provider() + " " + model.model() + ": " + String.join(", ", facts);
    }

    private static String kind(SourceResult source) {
        return switch (source.kind()) {
            case WORKSPACE -> "this workspace";
            case "git" -> "git history";
            case "mcp" -> "resources of an MCP server";
            case "repository" -> "published repository";
            default -> source.kind();
        };
    }
}
