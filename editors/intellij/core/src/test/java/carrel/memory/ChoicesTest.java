package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChoicesTest {
    /** A server that was started by hand while all was off goes on; so does one that one switch still wants. */
    @ParameterizedTest
    @CsvSource({"true,false,false,false,true", "true,true,true,false,false", "true,true,false,false,true", "false,false,false,false,false",
        "false,false,true,false,false"})
    void theServerEndsWithTheLastSwitch(boolean enabled, boolean auto, boolean enabledThen, boolean autoThen, boolean ends) {
        var before = Choices.NONE.withEnabled(enabled).withAutoIndex(auto);
        assertEquals(ends, before.withEnabled(enabledThen).withAutoIndex(autoThen).switchedOffSince(before));
    }
}
