package carrel.memory;

import com.google.gson.JsonObject;

/**
 * What a person chose about the memory of a project. Null is not chosen: the settings file that the command line reads too
 * counts there, and the default after it.
 */
public record Choices(Boolean ragEnabled, Integer ragTopK, Boolean ragAutoIndex) {
    public static final Choices NONE = new Choices(null, null, null);
    public static final boolean ENABLED_BY_DEFAULT = false;
    public static final boolean AUTO_INDEX_BY_DEFAULT = false;
    public static final int TOP_K_BY_DEFAULT = 5;
    public static final int LEAST_TOP_K = 1;
    public static final int MOST_TOP_K = 20;

    public Choices {
        if (ragTopK != null) {
            ragTopK = Math.max(LEAST_TOP_K, Math.min(MOST_TOP_K, ragTopK)); // a file may have been edited by hand
        }
    }

    public boolean enabled() {
        return ragEnabled == null ? ENABLED_BY_DEFAULT : ragEnabled;
    }

    public boolean autoIndex() {
        return ragAutoIndex == null ? AUTO_INDEX_BY_DEFAULT : ragAutoIndex;
    }

    public int topK() {
        return ragTopK == null ? TOP_K_BY_DEFAULT : ragTopK;
    }

    /** Whether the server should run without being asked. */
    public boolean memoryIsOn() {
        return enabled() || autoIndex();
    }

    public Choices withEnabled(boolean on) {
        return new Choices(on, ragTopK, ragAutoIndex);
    }

    public Choices withAutoIndex(boolean on) {
        return new Choices(ragEnabled, ragTopK, on);
    }

    public Choices withTopK(int places) {
        return new Choices(ragEnabled, places, ragAutoIndex);
    }

    /** The settings for the server: only what was chosen. */
    public JsonObject toSettings() {
        var settings = new JsonObject();
        if (ragEnabled != null) {
            settings.addProperty("ragEnabled", ragEnabled);
        }
        if (ragTopK != null) {
            settings.addProperty("ragTopK", ragTopK);
        }
        if (ragAutoIndex != null) {
            settings.addProperty("ragAutoIndex", ragAutoIndex);
        }
        return settings;
    }
}
