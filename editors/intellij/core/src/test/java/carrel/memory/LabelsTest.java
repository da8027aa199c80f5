package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.State;
import carrel.protocol.Messages.StatusResult;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LabelsTest {
    @ParameterizedTest
    @CsvSource({"0,0 B", "999,999 B", "1000,1.0 KB", "98304,98 KB", "1234567,1.2 MB", "7000000000,7.0 GB", "5000000000000,5000 GB"})
    void bytes(long count, String words) {
        assertEquals(words, Labels.bytes(count));
    }

    @ParameterizedTest
    @CsvSource({"0,0 files", "1,1 file", "1204,'1,204 files'"})
    void count(long amount, String words) {
        assertEquals(words, Labels.count(amount, "file"));
    }

    @Test
    void places() {
        assertEquals("a.py:3-9", Labels.place("a.py", 3, 9));
        assertEquals("a.py:3", Labels.place("a.py", 3, 3));
        assertEquals("a.py", Labels.place("a.py", 0, 0));
        assertEquals("src/a+b c.py", Labels.within("file:///shop/", "file:///shop/src/a+b%20c.py"));
        assertEquals("src/a.py", Labels.within("file:///shop", "file:///shop/src/a.py"));
        assertEquals("file:///shopping/a.py", Labels.within("file:///shop", "file:///shopping/a.py"));
    }

    @Test
    void whatAPackTookIsCountedInItsBudgetsUnit() {
        assertEquals("12 tokens of 1,000", Labels.spent(pack("x", 12, 1_000, null)));
        assertEquals("12 tokens (3 of 4,000 characters)", Labels.spent(pack("a😀b", 12, null, 4_000)));
        assertEquals("1 token", Labels.spent(pack("x", 1, null, null)));
    }

    @Test
    void states() {
        assertEquals("not indexed yet", Labels.stateOf(MemoryStateTest.status(State.EMPTY, 0, List.of())));
        assertEquals("ready", Labels.stateOf(MemoryStateTest.status(State.READY, 3, List.of())));
        assertEquals("18,445 of 50,001 files: resume", Labels.stateOf(partial("writer")));
        assertEquals("another window is indexing it", Labels.stateOf(partial("follower")));
        assertEquals("cancelled, 18,445 files kept", Labels.cancelled(List.of(partial("writer"))));
        assertEquals("error", Labels.stateOf(MemoryStateTest.status(State.ERROR, 3, List.of())));
    }

    @ParameterizedTest
    @CsvSource({"18445/50001 files,'18,445 of 50,001 files'", "0/1 files,0 of 1 file", "'','looking for changed files'", "waiting,waiting"})
    void howFarARunIs(String message, String words) {
        assertEquals(words, Labels.progress(new Work("Indexing", message, 0)));
    }

    private static StatusResult partial(String role) {
        return MemoryStateTest.status(State.READY, role, 18_445, 31_556, List.of());
    }

    private static ContextResult pack(String text, int tokens, Integer budgetTokens, Integer budgetChars) {
        return new ContextResult("1", text, "xml", tokens, budgetTokens, budgetChars, "cl100k_base", List.of(), List.of(), "q", null, null,
                null, null, null, State.READY, 0, null, 1, Map.of(), null, null);
    }
}
