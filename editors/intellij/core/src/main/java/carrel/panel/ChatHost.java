package carrel.panel;

import carrel.protocol.Messages.ActiveEditor;
import java.util.List;

/** What the chat needs of the editor around it. Called on Swing's thread. */
public interface ChatHost extends Places {
    /** The file in front, and what is selected in it; null if there is none on a disk. */
    ActiveEditor front();

    /** URIs of the open files that lie on a disk. */
    List<String> open();

    /** Bring what was put before the questions to sight. */
    void showReceipts();
}
