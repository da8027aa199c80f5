package carrel.ide;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.jetbrains.plugin.structure.base.plugin.PluginCreationSuccess;
import com.jetbrains.plugin.structure.intellij.plugin.IdePlugin;
import com.jetbrains.plugin.structure.intellij.plugin.IdePluginManager;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The zip as a person installs it. */
class PluginZipIT {
    private static final Path ZIP = Path.of(System.getProperty("carrel.zip"));
    private static IdePlugin plugin;
    /** Every class and resource of the jars, by its path. */
    private static final Map<String, byte[]> CONTENT = new HashMap<>();

    @BeforeAll
    static void open() throws IOException {
        var result = IdePluginManager.createManager().createPlugin(ZIP);
        var success = assertInstanceOf(PluginCreationSuccess.class, result, () -> "not a plugin: " + result);
        assertEquals(List.of(), success.getWarnings(), "JetBrains' own check warns");
        assertEquals(List.of(), success.getUnacceptableWarnings());
        plugin = (IdePlugin) success.getPlugin();
        try (var zip = new ZipFile(ZIP.toFile())) {
            for (ZipEntry entry : zip.stream().filter(one -> one.getName().endsWith(".jar")).toList()) {
                read(zip.getInputStream(entry));
            }
        }
    }

    @Test
    void isWhatItSays() {
        assertEquals("carrel", plugin.getPluginId());
        assertEquals("242.0", plugin.getSinceBuild().asStringWithoutProductCode());
        assertEquals(
                List.of("com.intellij.modules.platform", "com.redhat.devtools.lsp4ij"),
                plugin.getDependsList().stream().map(dependency -> dependency.getPluginId()).sorted().toList());
        assertTrue(plugin.getPluginVersion().matches("\\d+\\.\\d+\\.\\d+"), plugin.getPluginVersion());
    }

    @Test
    void holdsTheTwoJarsTheLicenceAndTheServer() throws IOException {
        try (var zip = new ZipFile(ZIP.toFile())) {
            var names = new TreeSet<>(zip.stream().filter(entry -> !entry.isDirectory()).map(ZipEntry::getName).toList());
            var carried = names.removeIf(name -> name.matches("carrel/server/carrel_context-[^/]+\\.whl"));
            assertTrue(carried, "no wheel of the server: run test.sh, which makes one, or name a folder by -Dcarrel.wheels");
            assertEquals(
                    new TreeSet<>(List.of(
                            "carrel/LICENSE",
                            "carrel/lib/carrel-core-%s.jar".formatted(plugin.getPluginVersion()),
                            "carrel/lib/carrel-plugin-%s.jar".formatted(plugin.getPluginVersion()))),
                    names);
        }
    }

    @Test
    void shipsNothingThatTheIdeBrings() {
        var foreign = CONTENT.keySet().stream().filter(name -> name.endsWith(".class") && !name.startsWith("carrel/")).toList();
        assertEquals(List.of(), foreign);
    }

    @Test
    void everyClassAndPictureThatTheManifestNamesIsThere() {
        var manifest = new String(CONTENT.get("META-INF/plugin.xml"), StandardCharsets.UTF_8);
        var named = Pattern.compile("(?:class|factoryClass|instance|implementation)=\"([\\w.]+)\"").matcher(manifest).results()
                .map(match -> match.group(1).replace('.', '/') + ".class")
                .toList();
        assertEquals(10, named.size(), named.toString());
        assertTrue(CONTENT.keySet().containsAll(named), named + " are not all in " + CONTENT.keySet());
        var pictures = Pattern.compile("icon=\"/([^\"]+)\"").matcher(manifest).results().map(match -> match.group(1)).toList();
        assertTrue(!pictures.isEmpty() && CONTENT.keySet().containsAll(pictures), pictures.toString());
        assertTrue(manifest.contains("serverId=\"%s\"".formatted(CarrelServerFactory.ID)));
    }

    @Test
    void runsOnJava17() {
        CONTENT.forEach((name, bytes) -> {
            if (name.endsWith(".class")) {
                assertEquals(61, bytes[6] << 8 | bytes[7], name);
            }
        });
    }

    private static void read(InputStream jar) throws IOException {
        try (var entries = new ZipInputStream(jar)) {
            for (ZipEntry entry = entries.getNextEntry(); entry != null; entry = entries.getNextEntry()) {
                if (!entry.isDirectory()) {
                    CONTENT.put(entry.getName(), entries.readAllBytes());
                }
            }
        }
    }
}
