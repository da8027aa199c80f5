package carrel.panel;

import carrel.memory.ChoiceStore;
import carrel.memory.Memory;
import carrel.memory.Question;
import carrel.panel.ReceiptRow.Kind;
import java.awt.event.ActionEvent;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import javax.swing.AbstractAction;
import javax.swing.Action;

/** What can be done with the selected row of the receipts. A change repeats the question, which leaves a receipt of its own. */
final class ReceiptActions {
    private final Memory memory;
    private final ChoiceStore choices;
    private final Supplier<ReceiptRow> selected;
    private final Consumer<Throwable> failed;

    final Action open;
    final Action pin;
    final Action remove;
    final Action removeFile;
    final Action repeat;
    final Action copy;

    /** {@code selected} gives the selected row, null if there is none. */
    ReceiptActions(Memory memory, ChoiceStore choices, PanelHost host, Supplier<ReceiptRow> selected, Consumer<Throwable> failed) {
        this.memory = memory;
        this.choices = choices;
        this.selected = selected;
        this.failed = failed;
        open = action("Open", "Open the place in the editor", row -> host.open(row.place().uri(), row.line()));
        pin = action("Pin", "Put this file before every question, or let it go again", this::pin);
        remove = action("Exclude", "Ask again without this place, or with it", this::remove);
        removeFile = action("Exclude the Whole File", "Ask again without this file", row -> ask(question(row).without(row.place().wholeFile())));
        repeat = action("Search Again", "Ask again, about the files as they are now", row -> ask(question(row)));
        copy = action("Copy", "Put the pages and the question on the clipboard, for any chat", row -> host.copy(row.receipt().prompt()));
        renew();
    }

    /** Offer what the selected row allows. */
    void renew() {
        offer(open, row -> row.place() != null);
        offer(pin, row -> row.is(Kind.GIVEN) || row.is(Kind.MISSING));
        offer(remove, row -> row.is(Kind.GIVEN) || row.is(Kind.REMOVED));
        offer(removeFile, row -> row.is(Kind.GIVEN));
        offer(repeat, row -> row.receipt() != null);
        offer(copy, row -> row.receipt() != null);
        var row = selected.get();
        pin.putValue(Action.NAME, row != null && isPinned(row) ? "Unpin" : "Pin");
        remove.putValue(Action.NAME, row != null && row.is(Kind.REMOVED) ? "Include Again" : "Exclude");
    }

    private void offer(Action action, Predicate<ReceiptRow> fits) {
        var row = selected.get();
        action.setEnabled(row != null && fits.test(row));
    }

    private void pin(ReceiptRow row) {
        choices.set(choices.get().withPinned(row.place().uri(), !isPinned(row)));
        ask(question(row));
    }

    private void remove(ReceiptRow row) {
        ask(row.is(Kind.REMOVED) ? question(row).allowing(row.place()) : question(row).without(row.place()));
    }

    private void ask(Question question) {
        memory.context(question).exceptionally(error -> {
            failed.accept(error);
            return null;
        });
    }

    private boolean isPinned(ReceiptRow row) {
        return row.place() != null && choices.get().pinned().contains(row.place().uri());
    }

    private static Question question(ReceiptRow row) {
        return row.receipt().question();
    }

    private AbstractAction action(String name, String tooltip, Consumer<ReceiptRow> work) {
        var action = new AbstractAction(name) {
            @Override
            public void actionPerformed(ActionEvent event) {
                var row = selected.get();
                if (isEnabled() && row != null) { // a key doesn't look whether it may
                    work.accept(row);
                }
            }
        };
        action.putValue(Action.SHORT_DESCRIPTION, tooltip);
        return action;
    }
}
