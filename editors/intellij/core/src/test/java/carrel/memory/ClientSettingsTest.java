package carrel.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.lsp4j.ConfigurationItem;
import org.eclipse.lsp4j.ConfigurationParams;
import org.junit.jupiter.api.Test;

class ClientSettingsTest {
    private final ClientSettings settings = new ClientSettings(
            Choices.NONE.withTopK(3),
            ExcludedFolders.ofUrls(List.of("file:///shop/gen", "file:///lib/old", "file:///elsewhere/tmp")),
            List.of("file:///shop/", "file:///lib/"));

    @Test
    void everyFolderHearsOfItsOwnExcludesAndAllOfThemTogetherInGeneral() {
        var general = "{ragTopK: 3, editorExclude: ['/gen/', '/old/']}";
        assertAnswers(item("carrel", null), general);
        assertAnswers(item("carrel", "file:///shop/"), "{ragTopK: 3, editorExclude: ['/gen/']}");
        assertAnswers(item("carrel", "file:///elsewhere"), "{ragTopK: 3, editorExclude: ['/tmp/']}"); // the IDE told of it later
        assertAnswers(item("carrel", "file:///empty"), "{ragTopK: 3, editorExclude: []}");
        assertEquals(JsonParser.parseString(general), settings.general());
        assertEquals(JsonParser.parseString("{carrel: " + general + "}"), settings.sections());
    }

    @Test
    void everyQuestionGetsAnAnswerInItsPlace() {
        var whole = "{carrel: {ragTopK: 3, editorExclude: ['/old/']}}";
        var answers = settings.answers(new ConfigurationParams(
                List.of(item("python", "file:///shop/"), item(null, "file:///lib"), item("", "file:///lib/"))));
        assertEquals(Arrays.asList(null, JsonParser.parseString(whole), JsonParser.parseString(whole)), answers);
    }

    @Test
    void otherFoldersThanBeforeAreNoticedOnce() {
        var now = new ArrayList<>(List.of("file:///shop/gen"));
        var told = new ArrayList<List<String>>();
        var watch = new ExcludeWatch(() -> ExcludedFolders.ofUrls(now), () -> told.add(List.copyOf(now)));
        watch.look();
        watch.look();
        now.add("file:///shop/gen/"); // the same once more
        watch.look();
        assertEquals(1, told.size());
        now.clear();
        watch.look();
        watch.look();
        assertEquals(List.of(List.of("file:///shop/gen"), List.of()), told);
    }

    private static ConfigurationItem item(String section, String scope) {
        var item = new ConfigurationItem();
        item.setSection(section);
        item.setScopeUri(scope);
        return item;
    }

    private void assertAnswers(ConfigurationItem asked, String expected) {
        assertEquals(List.of(JsonParser.parseString(expected)), settings.answers(new ConfigurationParams(List.of(asked))));
    }
}
