package carrel.memory;

import carrel.memory.Memory.View;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;

/**
 * The state of a project's memory in one line.
 *
 * @param index what the button that indexes is called
 * @param welcome nothing is indexed as far as is known, and nothing is going on: the person may see Carrel for the first time
 */
public record Headline(String text, String index, boolean welcome) {
    /** Say how the memory is; {@code on}: it was switched on for this project. */
    public static Headline of(View view, boolean on) {
        if (view.server() instanceof ServerState.Failed) {
            return plain("problem");
        }
        if (view.work().isPresent()) {
            return plain("indexing, " + Labels.progress(view.work().get()));
        }
        if (view.server() instanceof ServerState.Starting) {
            return plain("starting");
        }
        if (view.statuses().isEmpty()) {
            return unknown(view, on);
        }
        var worst = worst(view);
        if (worst.state() == State.READY && Labels.isPartial(worst)) {
            return new Headline(Labels.stateOf(worst), "Resume", false);
        }
        return new Headline(Labels.stateOf(worst), "Index", worst.state() == State.EMPTY);
    }

    /** The same for a status bar, where there is room for a few words. */
    public String inStatusBar() {
        int more = text.indexOf(';');
        return "Carrel: " + (more < 0 ? text : text.substring(0, more));
    }

    private static Headline unknown(View view, boolean on) {
        if (view.server() instanceof ServerState.Running || on) {
            return plain(view.server() instanceof ServerState.Stopped stopped && stopped.ran() ? "stopped" : "opening");
        }
        boolean ran = view.server() instanceof ServerState.Stopped stopped && stopped.ran();
        return new Headline("on request; the first question or an index run starts it", "Index", !ran);
    }

    /** Of several folders, the one that a person must know of first. */
    private static StatusResult worst(View view) {
        return view.statuses().stream().min((one, other) -> Integer.compare(rank(one), rank(other))).orElseThrow();
    }

    private static int rank(StatusResult status) {
        return switch (status.state()) {
            case ERROR -> 0;
            case INDEXING -> 1;
            case READY -> Labels.isPartial(status) ? 2 : 3;
            case EMPTY -> 4; // of several folders, one that is indexed answers
        };
    }

    private static Headline plain(String text) {
        return new Headline(text, "Index", false);
    }
}
