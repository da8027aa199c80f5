package carrel.panel;

import carrel.chat.Segment;
import java.awt.Color;
import java.awt.Cursor;
import java.awt.Font;
import java.awt.Point;
import java.awt.event.ActionEvent;
import java.awt.event.FocusEvent;
import java.awt.event.MouseAdapter;
import java.awt.event.MouseEvent;
import java.util.List;
import java.util.function.Consumer;
import javax.swing.AbstractAction;
import javax.swing.JTextPane;
import javax.swing.KeyStroke;
import javax.swing.UIManager;
import javax.swing.text.AttributeSet;
import javax.swing.text.BadLocationException;
import javax.swing.text.DefaultCaret;
import javax.swing.text.SimpleAttributeSet;
import javax.swing.text.StyleConstants;
import javax.swing.text.StyledDocument;

/** A transcript that can be read, copied from and followed: a click or Enter opens the link there, Alt+Down and Alt+Up go to the next. */
final class TranscriptPane extends JTextPane {
    private static final String LINK = "carrel.link";

    private final transient Consumer<Segment> follow;
    private transient List<Segment> shown = List.of();

    TranscriptPane(Consumer<Segment> follow) {
        this.follow = follow;
        setName("transcript");
        setEditable(false);
        getAccessibleContext().setAccessibleName("Conversation");
        getAccessibleContext().setAccessibleDescription("Enter opens the place under the caret, Alt+Down and Alt+Up go to the next link");
        setCaret(new DefaultCaret() {
            @Override
            public void focusGained(FocusEvent event) {
                super.focusGained(event);
                setVisible(true); // also where nothing can be typed
            }
        });
        ((DefaultCaret) getCaret()).setUpdatePolicy(DefaultCaret.NEVER_UPDATE);
        var mouse = new MouseAdapter() {
            @Override
            public void mouseClicked(MouseEvent event) {
                open(linkAt(event.getPoint()));
            }

            @Override
            public void mouseMoved(MouseEvent event) {
                setCursor(Cursor.getPredefinedCursor(linkAt(event.getPoint()) == null ? Cursor.TEXT_CURSOR : Cursor.HAND_CURSOR));
            }
        };
        addMouseListener(mouse);
        addMouseMotionListener(mouse);
        bind("ENTER", () -> open(linkAt(getCaretPosition())));
        bind("alt DOWN", () -> step(1));
        bind("alt UP", () -> step(-1));
    }

    /** What didn't change keeps its place, so that a reader's selection stays while an answer streams in. */
    void show(List<Segment> segments) {
        int same = 0;
        int at = 0;
        while (same < segments.size() && same < shown.size() && segments.get(same).equals(shown.get(same))) {
            at += shown.get(same).text().length();
            same++;
        }
        var document = getStyledDocument();
        try {
            document.remove(at, document.getLength() - at);
            for (Segment segment : segments.subList(same, segments.size())) {
                document.insertString(document.getLength(), segment.text(), style(segment));
            }
        } catch (BadLocationException error) {
            throw new IllegalStateException(error);
        }
        shown = List.copyOf(segments);
    }

    /** The look of the IDE changed. */
    @Override
    public void updateUI() {
        super.updateUI();
        var again = shown;
        if (again != null && !again.isEmpty()) {
            shown = List.of();
            show(again);
        }
    }

    private void open(Segment segment) {
        if (segment != null) {
            follow.accept(segment);
        }
    }

    private void step(int by) {
        StyledDocument document = getStyledDocument();
        var here = linkAt(getCaretPosition());
        for (int at = getCaretPosition() + by; at >= 0 && at < document.getLength(); at += by) {
            var link = linkAt(at);
            if (link != null && link != here) {
                setCaretPosition(document.getCharacterElement(at).getStartOffset());
                return;
            }
            here = link == null ? null : here;
        }
    }

    private Segment linkAt(Point point) {
        int at = viewToModel2D(point);
        try {
            var character = at < getDocument().getLength() ? modelToView2D(at) : null;
            return character != null && point.y <= character.getMaxY() ? linkAt(at) : null; // not below the last line
        } catch (BadLocationException error) {
            return null;
        }
    }

    private Segment linkAt(int position) {
        return (Segment) getStyledDocument().getCharacterElement(position).getAttributes().getAttribute(LINK);
    }

    private void bind(String key, Runnable action) {
        getInputMap().put(KeyStroke.getKeyStroke(key), key);
        getActionMap().put(key, new AbstractAction() {
            @Override
            public void actionPerformed(ActionEvent event) {
                action.run();
            }
        });
    }

    private AttributeSet style(Segment segment) {
        var style = new SimpleAttributeSet();
        StyleConstants.setForeground(style, color(segment.kind()));
        switch (segment.kind()) {
            case QUESTION -> StyleConstants.setBold(style, true);
            case CODE -> StyleConstants.setFontFamily(style, Font.MONOSPACED);
            case UNVERIFIED -> StyleConstants.setStrikeThrough(style, true);
            default -> {}
        }
        if (segment.isLink()) {
            style.addAttribute(LINK, segment);
            StyleConstants.setUnderline(style, segment.kind() != Segment.Kind.UNVERIFIED);
        }
        return style;
    }

    /** By the look's own names: those of the IDE, of FlatLaf and of Swing. */
    private Color color(Segment.Kind kind) {
        return switch (kind) {
            case PLACE, RECEIPT -> first(new Color(0x2470B3), "Link.activeForeground", "Component.linkColor");
            case UNVERIFIED, PROBLEM -> first(new Color(0xB3261E), "Label.errorForeground", "Actions.Red");
            case STEP -> first(Color.GRAY, "Label.infoForeground", "Label.disabledForeground");
            default -> getForeground();
        };
    }

    private static Color first(Color otherwise, String... names) {
        for (String name : names) {
            var color = UIManager.getColor(name);
            if (color != null) {
                return color;
            }
        }
        return otherwise;
    }
}
