package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.protocol.Messages.ConfirmParams;
import com.google.gson.Gson;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PermissionQuestionTest {
    @Test
    void showsTheRiskAndAllDetails() {
        var sent = """
                {"what": "provider", "risk": "Text leaves this machine.", "hash": "x",
                 "details": {"provider": "openai", "host": "api.openai.com"}}""";
        var question = PermissionQuestion.of(new Gson().fromJson(sent, ConfirmParams.class));
        assertEquals("Carrel: Allow Text to Be Sent to a Remote Model?", question.title());
        assertEquals("Carrel: Text leaves this machine.\n\nhost: api.openai.com\nprovider: openai", question.text());
    }

    @Test
    void cannotBeMadeToLookLikeAnother() {
        var asked = new ConfirmParams("x", "<html>Safe", Map.of("host", "evil\n\nhost: localhost \u202Etsoh"), "x");
        var question = PermissionQuestion.of(asked);
        assertEquals("Carrel: Allow This?", question.title());
        assertEquals("Carrel: <html>Safe\n\nhost: evil host: localhost  tsoh", question.text());
    }

    @Test
    void onlyTheButtonThatSaysSoAllows() {
        assertEquals("Allow", PermissionQuestion.BUTTONS[1]);
        assertTrue(PermissionQuestion.allows(1));
        assertFalse(PermissionQuestion.allows(0));
        assertFalse(PermissionQuestion.allows(-1), "the dialog was closed");
    }
}
