package carrel.server;

import carrel.server.Located.Found;
import carrel.server.Located.Missing;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Finds the server: the setting, {@code carrel} on PATH, Carrel in a Python on PATH. */
public final class ServerFinder {
    /** {@code -P}: a folder that is named like a module must not become one. Python 3.11, Carrel's least, brought it. */
    private static final List<String> MODULE = List.of("-P", "-m", "carrel");

    private final Machine machine;

    public ServerFinder(Machine machine) {
        this.machine = machine;
    }

    /** Look for a server; {@code setting} is the path of a program that a person chose, or empty. Runs programs: not for the UI thread. */
    public Located find(String setting) {
        return setting.isBlank() ? search() : chosen(setting.strip());
    }

    /** The Python that Carrel can be installed with. */
    public Optional<Path> python() {
        return pythons().stream().filter(this::isNewEnough).findFirst();
    }

    private Located chosen(String program) {
        return version(List.of(program))
                .<Located>map(version ->
                        new Found(new Launch(List.of(program), "%s (chosen in the settings, %s)".formatted(program, version))))
                .orElseGet(() -> new Missing(
                        List.of(program + ", chosen in the settings, can't be run"),
                        "Correct the program in Settings | Tools | Carrel, or empty it to have one looked for."));
    }

    private Located search() {
        var tried = new ArrayList<String>();
        var onPath = machine.onPath("carrel");
        if (onPath.isPresent()) {
            var found = found(List.of(onPath.get().toString()), "on PATH");
            if (found.isPresent()) {
                return new Found(found.get());
            }
            tried.add(onPath.get() + " can't be run");
        } else {
            tried.add("carrel is not on PATH");
        }
        for (Path python : pythons()) {
            var command = new ArrayList<>(List.of(python.toString()));
            command.addAll(MODULE);
            var found = found(command, "a module of that Python");
            if (found.isPresent()) {
                return new Found(found.get());
            }
            tried.add(python + " has no Carrel");
        }
        if (pythons().isEmpty()) {
            tried.add("there is no Python on PATH");
        }
        return new Missing(
                tried,
                python().isPresent()
                        ? "Install Carrel, or choose its program in Settings | Tools | Carrel."
                        : "Install Python 3.11 or newer and then Carrel, or choose its program in Settings | Tools | Carrel.");
    }

    private Optional<Launch> found(List<String> command, String origin) {
        return version(command)
                .map(version -> new Launch(command, "%s (%s, %s)".formatted(String.join(" ", command), origin, version)));
    }

    private Optional<String> version(List<String> command) {
        var line = new ArrayList<>(command);
        line.add("--version");
        return machine.output(line).map(String::strip).filter(text -> text.startsWith("carrel "));
    }

    private List<Path> pythons() {
        var names = machine.windows() ? List.of("python", "py") : List.of("python3", "python");
        return names.stream().flatMap(name -> machine.onPath(name).stream()).toList();
    }

    private boolean isNewEnough(Path python) {
        var question = "import sys; print(sys.version_info >= (3, 11))";
        return machine.output(List.of(python.toString(), "-c", question)).filter(text -> text.strip().equals("True")).isPresent();
    }
}
