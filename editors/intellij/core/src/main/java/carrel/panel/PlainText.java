package carrel.panel;

import javax.swing.JComponent;

/** Swing takes a text that begins with {@code <html>} for a page; names of files and what a server says must not become one. */
final class PlainText {
    private PlainText() {}

    /** To be called before the component gets its text. */
    static void in(JComponent component) {
        component.putClientProperty("html.disable", true);
    }
}
