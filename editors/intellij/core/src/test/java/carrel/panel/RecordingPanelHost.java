package carrel.panel;

import java.util.ArrayList;
import java.util.List;

/** A host that remembers what was done at it, and a person who says what the test says. */
final class RecordingPanelHost implements PanelHost {
    final List<String> opened = new ArrayList<>();
    final List<String> copied = new ArrayList<>();
    final List<String> asked = new ArrayList<>();
    boolean agrees;
    boolean trusted = true;

    @Override
    public void open(String uri, int line) {
        opened.add(uri + "#" + line);
    }

    @Override
    public void copy(String text) {
        copied.add(text);
    }

    @Override
    public boolean confirm(String question, String action) {
        asked.add(action + ": " + question);
        return agrees;
    }

    @Override
    public boolean isTrusted() {
        return trusted;
    }
}
