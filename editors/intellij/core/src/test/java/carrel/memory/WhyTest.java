package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import carrel.protocol.Messages.HitResult;
import com.google.gson.Gson;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The sentences are those of the VS Code extension. */
class WhyTest {
    private static final String HERE = "file:///shop/a.py";
    private static final String FRONT = "file:///shop/my%20orders.py";

    @Test
    void whatAPlaceDefinesAndHoldsIsNamed() {
        var hit = hit("'definitions': ['a', 'b', 'c', 'd'], 'signals': {'matched': ['one', 'two', 'three', 'four', 'five', 'six'], 'boosts': []}");
        assertEquals("Defines a, b, c and 1 more name and holds “one”, “two”, “three”, “four” and 2 more words.", Why.sentence(hit, null, false));
    }

    @Test
    void theTieToTheFileInFrontIsNamed() {
        var tied = hit("'symbol': 'pay', 'definitions': [], 'signals': {'matched': [], 'boosts': [{'rule': 'tied', 'factor': 1.2}],"
                + " 'contributions': [{'rule': 'meaning', 'share': 0.3}]}");
        assertEquals(
                "Defines pay, is close to the question in meaning and uses or is used by my orders.py, the file in front of you.",
                Why.sentence(tied, FRONT, false));
        assertEquals("Is pinned by you, defines pay, is close to the question in meaning and is in the file in front of you.",
                Why.sentence(tied, HERE, true));
    }

    @Test
    void aPlaceWithoutASignStillHasASentence() {
        assertEquals("Fits the question best by all signs together.", Why.sentence(hit("'definitions': [], 'signals': {'matched': [], 'boosts': []}"), null, false));
        assertEquals("You selected or attached these lines.",
                Why.sentence(hit("'attached': true, 'definitions': [], 'signals': {'matched': [], 'boosts': []}"), null, false));
    }

    @Test
    void theScoreIsASumOfSignedShares() {
        var hit = hit("'definitions': [], 'signals': {'matched': [], 'boosts': [], 'contributions': [{'rule': 'words', 'share': 0.4},"
                + " {'rule': 'path_penalty', 'share': -0.1}, {'rule': 'of_tomorrow', 'share': 0.05}]}");
        assertEquals(
                List.of("+0.40  words of the question", "−0.10  tests, documents, data and the like step back", "+0.05  of_tomorrow"), Why.sum(hit));
    }

    private static HitResult hit(String fields) {
        return new Gson().fromJson("{'uri': '%s', 'source': 'code', %s}".formatted(HERE, fields), HitResult.class);
    }
}
