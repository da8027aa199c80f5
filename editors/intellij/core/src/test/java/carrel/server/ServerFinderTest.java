package carrel.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import carrel.server.Located.Found;
import carrel.server.Located.Missing;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ServerFinderTest {
    private static final String VERSION = "carrel 0.1.0\n";

    /** A machine with these programs on PATH, on which these command lines print something and end well. */
    private record PanelHost(boolean windows, Map<String, Path> programs, Map<List<String>, String> answers) implements Machine {
        @Override
        public Optional<Path> onPath(String name) {
            return Optional.ofNullable(programs.get(name));
        }

        @Override
        public Optional<String> output(List<String> command) {
            return Optional.ofNullable(answers.get(command));
        }
    }

    private static final Path CARREL = Path.of("/bin/carrel");
    private static final Path PYTHON = Path.of("/bin/python3");

    @Test
    void theSettingWins() {
        var machine = new PanelHost(false, Map.of("carrel", CARREL), Map.of(List.of("/my/carrel", "--version"), VERSION));
        var launch = found(machine, " /my/carrel ");
        assertEquals(List.of("/my/carrel", "serve"), launch.serve());
        assertEquals("/my/carrel (chosen in the settings, carrel 0.1.0)", launch.description());
    }

    @Test
    void aSettingThatCantBeRunIsToldAndNothingElseIsTaken() {
        var machine = new PanelHost(false, Map.of("carrel", CARREL), Map.of(List.of("/bin/carrel", "--version"), VERSION));
        var missing = missing(machine, "/my/carrel");
        assertEquals("Carrel found no server to start: /my/carrel, chosen in the settings, can't be run.", missing.problem());
        assertEquals("Correct the program in Settings | Tools | Carrel, or empty it to have one looked for.", missing.remedy());
    }

    @Test
    void thenPath() {
        var machine = new PanelHost(
                false,
                Map.of("carrel", CARREL, "python3", PYTHON),
                Map.of(List.of(CARREL.toString(), "--version"), VERSION, module(PYTHON), VERSION));
        assertEquals(List.of(CARREL.toString(), "serve"), found(machine, "").serve());
    }

    @Test
    void thenPythonWhichTakesNoModuleFromWhereItStands() {
        var machine = new PanelHost(false, Map.of("python3", PYTHON), Map.of(module(PYTHON), VERSION));
        assertEquals(List.of(PYTHON.toString(), "-P", "-m", "carrel", "serve"), found(machine, "").serve());
    }

    @Test
    void windowsHasOtherNames() {
        var launcher = Path.of("C:\\Windows\\py.exe");
        var machine = new PanelHost(true, Map.of("py", launcher, "python3", PYTHON), Map.of(module(launcher), VERSION, module(PYTHON), VERSION));
        assertEquals(List.of(launcher.toString(), "-P", "-m", "carrel", "serve"), found(machine, "").serve());
    }

    @Test
    void anotherProgramOfThatNameIsNotTaken() {
        var machine = new PanelHost(false, Map.of("carrel", CARREL), Map.of(List.of(CARREL.toString(), "--version"), "PanelHost 7\n"));
        assertEquals(List.of(CARREL + " can't be run", "there is no Python on PATH"), missing(machine, "").tried());
    }

    @Test
    void theRemedyDependsOnThePythonThatIsThere() {
        var old = new PanelHost(false, Map.of("python3", PYTHON), Map.of(question(PYTHON), "False\n"));
        assertEquals(List.of("carrel is not on PATH", PYTHON + " has no Carrel"), missing(old, "").tried());
        assertEquals(
                "Install Python 3.11 or newer and then Carrel, or choose its program in Settings | Tools | Carrel.",
                missing(old, "").remedy());
        var current = new PanelHost(false, Map.of("python3", PYTHON), Map.of(question(PYTHON), "True\n"));
        assertEquals("Install Carrel, or choose its program in Settings | Tools | Carrel.", missing(current, "").remedy());
        assertEquals(Optional.of(PYTHON), new ServerFinder(current).python());
    }

    private static Launch found(Machine machine, String setting) {
        return assertInstanceOf(Found.class, new ServerFinder(machine).find(setting)).launch();
    }

    private static Missing missing(Machine machine, String setting) {
        return assertInstanceOf(Missing.class, new ServerFinder(machine).find(setting));
    }

    private static List<String> module(Path python) {
        return List.of(python.toString(), "-P", "-m", "carrel", "--version");
    }

    private static List<String> question(Path python) {
        return List.of(python.toString(), "-c", "import sys; print(sys.version_info >= (3, 11))");
    }
}
