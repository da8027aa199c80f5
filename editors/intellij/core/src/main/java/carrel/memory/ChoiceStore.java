package carrel.memory;

/** Where a person's choices are kept. */
public interface ChoiceStore {
    Choices get();

    /** Keep these, tell the running server and every listener. */
    void set(Choices choices);

    /** Hear of every change, whoever makes it. */
    void onChange(Runnable listener);
}
