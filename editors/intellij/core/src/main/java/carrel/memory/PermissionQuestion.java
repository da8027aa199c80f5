package carrel.memory;

import carrel.protocol.Messages.ConfirmParams;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What a dialog asks about a permission: the risk, and all that is decided. */
public record PermissionQuestion(String title, String text) {
    /** The buttons; the first is what Enter means, for who is typing when the dialog opens must not agree. */
    public static final String[] BUTTONS = {"Don't Allow", "Allow"};

    private static final int ALLOW = 1;

    public static PermissionQuestion of(ConfirmParams asked) {
        var title =
                switch (asked.what()) {
                    case "provider" -> "Carrel: Allow Text to Be Sent to a Remote Model?";
                    case "source" -> "Carrel: Change What Is Searched Beside Your Projects?";
                    case "paidIndex" -> "Carrel: Allow an Index That Costs Money?";
                    default -> "Carrel: Allow This?";
                };
        var details = new TreeMap<>(asked.details()).entrySet().stream()
                .map(one -> plain(one.getKey()) + ": " + plain(one.getValue()))
                .collect(Collectors.joining("\n"));
        // A dialog takes a text that begins with <html> for HTML.
        return new PermissionQuestion(title, "Carrel: " + plain(asked.risk()) + "\n\n" + details);
    }

    /** Whether this button allows it; a dialog that is closed gives none of them. */
    public static boolean allows(int button) {
        return button == ALLOW;
    }

    /** One line, as it is: neither line ends nor characters that turn or hide text may make it look like something else. */
    private static String plain(String text) {
        return text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]+", " ").strip();
    }
}
