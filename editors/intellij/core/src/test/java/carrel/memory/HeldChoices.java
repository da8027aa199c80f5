package carrel.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Choices that live as long as the test; each change is handed on. */
public final class HeldChoices implements ChoiceStore {
    private final List<Runnable> listeners = new ArrayList<>();
    private final Consumer<Choices> changed;
    private Choices choices = Choices.NONE;

    public HeldChoices(Consumer<Choices> changed) {
        this.changed = changed;
    }

    @Override
    public Choices get() {
        return choices;
    }

    @Override
    public void set(Choices next) {
        choices = next;
        changed.accept(next);
        listeners.forEach(Runnable::run);
    }

    @Override
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }
}
