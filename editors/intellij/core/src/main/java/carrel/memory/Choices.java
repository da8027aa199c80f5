package carrel.memory;

import com.google.gson.JsonObject;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a person chose about the memory of a project. Null is not chosen: the settings file that the command line reads too
 * counts there, and the default after it. {@code pinned} has the URIs of files that every answer should hold.
 */
public record Choices(Boolean ragEnabled, Integer ragTopK, Boolean ragAutoIndex, List<String> pinned) {
    public static final Choices NONE = new Choices(null, null, null, List.of());
    public static final boolean ENABLED_BY_DEFAULT = false;
    public static final boolean AUTO_INDEX_BY_DEFAULT = false;
    public static final int TOP_K_BY_DEFAULT = 5;
    public static final int LEAST_TOP_K = 1;
    public static final int MOST_TOP_K = 20;

    public Choices {
        if (ragTopK != null) {
            ragTopK = Math.max(LEAST_TOP_K, Math.min(MOST_TOP_K, ragTopK)); // a file may have been edited by hand
        }
        pinned = List.copyOf(pinned);
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

    /** Whether the last switch that was on is off now: the server that ran for it may end. */
    public boolean switchedOffSince(Choices before) {
        return before.memoryIsOn() && !memoryIsOn();
    }

    public Choices withEnabled(boolean on) {
        return new Choices(on, ragTopK, ragAutoIndex, pinned);
    }

    public Choices withAutoIndex(boolean on) {
        return new Choices(ragEnabled, ragTopK, on, pinned);
    }

    public Choices withTopK(int places) {
        return new Choices(ragEnabled, places, ragAutoIndex, pinned);
    }

    public Choices withPinned(String uri, boolean on) {
        var others = pinned.stream().filter(one -> !one.equals(uri));
        return new Choices(ragEnabled, ragTopK, ragAutoIndex, (on ? Stream.concat(others, Stream.of(uri)) : others).toList());
    }

    /** The settings for the server: only what was chosen. Pins go with each question. */
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
