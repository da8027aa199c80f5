package carrel.panel;

/** What the Memory panel needs of the editor around it. Called on Swing's thread. */
public interface PanelHost extends Places {
    /** Put a text on the clipboard. */
    void copy(String text);

    /** Ask a person for leave to do {@code action}, a word for the button. */
    boolean confirm(String question, String action);

    /** Whether the person trusts this project: nothing can be switched on in one that they don't. */
    boolean isTrusted();
}
