package carrel.ide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.intellij.openapi.components.State;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the IDE writes down, and where. */
class ProjectChoicesIT {
    private final ProjectChoices choices = new ProjectChoices(null);

    @Test
    void nothingIsChosenAtFirst() {
        assertFalse(choices.get().memoryIsOn());
        assertEquals(5, choices.get().topK());
        var kept = choices.getState();
        assertNull(kept.ragEnabled);
        assertNull(kept.ragTopK);
        assertNull(kept.ragAutoIndex);
        assertEquals(List.of(), kept.pinned);
    }

    @Test
    void whatWasWrittenDownIsReadAgainWithinItsLimits() {
        var written = new ProjectChoices.Kept();
        written.ragEnabled = true;
        written.ragTopK = 50;
        written.pinned = List.of("file:///shop/a.py");
        choices.loadState(written);
        assertTrue(choices.get().enabled());
        assertFalse(choices.get().autoIndex());
        assertEquals(20, choices.getState().ragTopK);
        assertNull(choices.getState().ragAutoIndex);
        assertEquals(List.of("file:///shop/a.py"), choices.getState().pinned);
    }

    @Test
    void nothingIsReadFromTheProjectsFolder() {
        assertEquals("$PRODUCT_WORKSPACE_FILE$", ProjectChoices.class.getAnnotation(State.class).storages()[0].value());
        assertEquals("carrel.xml", ServerSettings.class.getAnnotation(State.class).storages()[0].value());
    }
}
