package carrel.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.server.Located.Found;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Looking for a server and installing one, with real programs. */
@Timeout(120)
class RealMachineTest {
    @TempDir
    Path folder;

    @Test
    void findsPythonOnPath() {
        var machine = new LocalMachine(folder, System.getenv());
        var python = new ServerFinder(machine).python().orElseThrow();
        assertTrue(python.isAbsolute() && Files.isExecutable(python), python.toString());
        assertEquals(Optional.of("6"), machine.output(List.of(python.toString(), "-c", "print(2 * 3)")).map(String::strip));
        assertEquals(Optional.empty(), machine.output(List.of(python.toString(), "-c", "raise SystemExit(3)")));
        assertEquals(Optional.empty(), machine.output(List.of(folder.resolve("nothing").toString())));
    }

    @Test
    void aFolderOnPathThatDependsOnWhereOneStandsIsNoPlaceToLook() throws IOException {
        var name = new LocalMachine(folder, Map.of()).windows() ? "carrel.exe" : "carrel";
        assertTrue(Files.createFile(folder.resolve(name)).toFile().setExecutable(true));
        var absolute = Map.of("PATH", "missing" + File.pathSeparator + folder);
        assertEquals(Optional.of(folder.resolve(name)), new LocalMachine(folder, absolute).onPath("carrel"));
        var relative = Map.of("PATH", Path.of("").toAbsolutePath().relativize(folder).toString());
        assertEquals(Optional.empty(), new LocalMachine(folder, relative).onPath("carrel"));
        assertEquals(Optional.empty(), new LocalMachine(folder, Map.of()).onPath("carrel"));
    }

    @Test
    void installsAWheelIntoAnEnvironmentOfItsOwnThatIsFoundAfterwards() throws IOException {
        var lines = new ArrayList<String>();
        var program = installer().install(Optional.of(wheels()), lines::add, () -> false);

        assertTrue(program.startsWith(folder.resolve("server")), program.toString());
        assertTrue(lines.stream().anyMatch(line -> line.startsWith("Successfully installed carrel-context-0.0.7")), lines.toString());
        var found = assertInstanceOf(Found.class, new ServerFinder(cleanMachine()).find(program.toString()));
        assertTrue(found.launch().description().contains("carrel 0.0.7"), found.toString());
    }

    @Test
    void whatAToolSaidOfItsFailureIsTold() throws IOException {
        var inTheWay = Files.createFile(folder.resolve("server"));
        var error = assertThrows(
                ServerUnavailable.class, () -> installer().install(Optional.of(wheels()), line -> {}, () -> false));
        assertTrue(error.getMessage().contains(inTheWay.toString()), error.getMessage());
        assertTrue(error.remedy().contains("-m venv") && error.remedy().contains("Settings | Tools | Carrel"), error.remedy());
    }

    @Test
    void ofSeveralWheelsTheOneThatFitsIsTakenAndAlwaysByItsFile() throws IOException {
        var wheels = wheels();
        var mine = wheels.resolve("carrel_context-0.0.7-py3-none-any.whl");
        Files.copy(mine, wheels.resolve("carrel_context-0.0.7-cp27-none-any.whl"));
        var lines = new ArrayList<String>();
        installer().install(Optional.of(wheels), lines::add, () -> false);
        assertTrue(lines.stream().anyMatch(line -> line.contains("not a supported wheel")), lines.toString());
        var taken = lines.stream().filter(line -> line.startsWith("Processing ")).toList();
        assertEquals(2, taken.size(), lines.toString());
        assertTrue(taken.stream().allMatch(line -> line.contains(mine.getFileName().toString())), taken.toString());
        assertFalse(lines.stream().anyMatch(line -> line.startsWith("Collecting carrel") || line.startsWith("Looking in indexes")));
    }

    @Test
    void withoutAWheelThatFitsNothingIsInstalledAndTheRemedyIsNamed() throws IOException {
        var empty = Files.createDirectory(folder.resolve("empty"));
        for (var carried : List.of(Optional.<Path>empty(), Optional.of(empty))) {
            var error = assertThrows(ServerUnavailable.class, () -> installer().install(carried, line -> {}, () -> false));
            assertEquals("This build of the plugin carries no server.", error.getMessage());
            assertTrue(error.remedy().contains("make dist"), error.remedy());
            assertFalse(Files.exists(folder.resolve("server")));
        }
        var wheels = wheels();
        Files.move(wheels.resolve("carrel_context-0.0.7-py3-none-any.whl"), wheels.resolve("carrel_context-0.0.7-cp27-none-any.whl"));
        var error = assertThrows(ServerUnavailable.class, () -> installer().install(Optional.of(wheels), line -> {}, () -> false));
        assertTrue(error.getMessage().contains("not a supported wheel"), error.getMessage());
    }

    @Test
    void anInstallationCanBeCancelled() throws IOException {
        var wheels = wheels();
        assertThrows(CancellationException.class, () -> installer().install(Optional.of(wheels), line -> {}, () -> true));
        try (var left = Files.walk(folder)) {
            assertFalse(left.anyMatch(file -> file.getFileName().toString().matches("carrel(\\.exe)?")));
        }
    }

    private ServerInstaller installer() {
        var machine = cleanMachine();
        return new ServerInstaller(new ServerFinder(machine).python().orElseThrow(), folder.resolve("server"), machine.windows());
    }

    /** Without the PYTHONPATH of whoever runs the tests, which would hide what was installed. */
    private LocalMachine cleanMachine() {
        var environment = new HashMap<>(System.getenv());
        environment.put("PYTHONPATH", "");
        return new LocalMachine(folder, environment);
    }

    /** A folder with a wheel that is named carrel and depends on nothing. */
    private Path wheels() throws IOException {
        var wheels = Files.createDirectory(folder.resolve("wheels"));
        var about = "carrel_context-0.0.7.dist-info/";
        var files = Map.of(
                "carrel_of_a_test.py", "def main():\n    print('carrel 0.0.7')\n",
                about + "METADATA", "Metadata-Version: 2.1\nName: carrel-context\nVersion: 0.0.7\n",
                about + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                about + "entry_points.txt", "[console_scripts]\ncarrel = carrel_of_a_test:main\n",
                about + "RECORD", "");
        try (var wheel = new ZipOutputStream(Files.newOutputStream(wheels.resolve("carrel_context-0.0.7-py3-none-any.whl")))) {
            for (var file : files.entrySet()) {
                wheel.putNextEntry(new ZipEntry(file.getKey()));
                wheel.write(file.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
        return wheels;
    }
}
