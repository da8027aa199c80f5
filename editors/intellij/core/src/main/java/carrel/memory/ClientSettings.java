package carrel.memory;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.lsp4j.ConfigurationItem;
import org.eclipse.lsp4j.ConfigurationParams;

/** What the server is told: the choices of a person, and what the IDE excludes. {@code folders} has the URIs of the project's. */
public record ClientSettings(Choices choices, ExcludedFolders excluded, List<String> folders) {
    private static final String SECTION = "carrel";

    /** For no folder in particular, what any of them excludes: rather too little is read than too much. */
    public JsonObject general() {
        return with(folders.stream().flatMap(folder -> excluded.globs(folder).stream()).distinct().toList());
    }

    /** The general settings as they go with a notification of a change. */
    public JsonObject sections() {
        return sections(general());
    }

    /** One answer for each thing that was asked: null for another program's, and what a folder excludes for that folder. */
    public List<Object> answers(ConfigurationParams asked) {
        var answers = new ArrayList<Object>();
        asked.getItems().forEach(item -> answers.add(answer(item)));
        return answers;
    }

    private JsonObject answer(ConfigurationItem item) {
        var settings = item.getScopeUri() == null ? general() : with(excluded.globs(item.getScopeUri()));
        var section = item.getSection();
        if (section == null || section.isEmpty()) {
            return sections(settings);
        }
        return section.equals(SECTION) ? settings : null;
    }

    /** An empty list is sent too: a setting that isn't named would count as before. */
    private JsonObject with(List<String> globs) {
        var settings = choices.toSettings();
        var lines = new JsonArray();
        globs.forEach(lines::add);
        settings.add("editorExclude", lines);
        return settings;
    }

    private static JsonObject sections(JsonObject settings) {
        var sections = new JsonObject();
        sections.add(SECTION, settings);
        return sections;
    }
}
