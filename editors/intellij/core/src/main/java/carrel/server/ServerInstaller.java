package carrel.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Installs the server with pip into an environment of its own, so that nobody's Python is touched. */
public final class ServerInstaller {
    private static final String BY_HAND = "You can install Carrel yourself, by `pip install` of a checkout or of the wheel that `make dist` "
            + "makes there, and choose its program in Settings | Tools | Carrel.";
    private static final int REMEMBERED_LINES = 5;
    private static final int LOOK_MS = 100;

    private final Path python;
    private final Path folder;
    private final boolean windows;

    /** {@code folder}: becomes the environment; what is there is replaced. */
    public ServerInstaller(Path python, Path folder, boolean windows) {
        this.python = python;
        this.folder = folder;
        this.windows = windows;
    }

    /**
     * Install the server and give its program. Blocks until it is done; each line that the tools print goes to {@code progress}.
     *
     * @param wheels a folder with Carrel's wheels, of which the one that fits is installed, with what it depends on. Carrel is never
     *     installed by its name: who holds that name on a package registry would run code here
     * @throws ServerUnavailable without a wheel that fits, or with what the tools said last
     * @throws CancellationException when {@code cancelled} says so
     */
    public Path install(Optional<Path> wheels, Consumer<String> progress, BooleanSupplier cancelled) {
        List<Path> carried = wheels.map(ServerInstaller::wheelsIn).orElse(List.of());
        if (carried.isEmpty()) {
            throw new ServerUnavailable("This build of the plugin carries no server.", BY_HAND);
        }
        run(List.of(python.toString(), "-m", "venv", "--clear", folder.toString()), progress, cancelled);
        Path wheel = fitting(carried, progress, cancelled);
        run(pip("install", wheel.toString()), progress, cancelled); // what it depends on
        Path program = inside("carrel");
        if (!Files.isExecutable(program)) {
            throw new ServerUnavailable("%s holds no program carrel.".formatted(wheel), BY_HAND);
        }
        return program;
    }

    private static List<Path> wheelsIn(Path folder) {
        try (var files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().endsWith(".whl")).sorted().toList();
        } catch (IOException error) {
            throw new ServerUnavailable("The plugin's folder %s can't be read: %s".formatted(folder, error.getMessage()), BY_HAND);
        }
    }

    /** Install the first wheel that pip takes for this Python and system, and give it. */
    private Path fitting(List<Path> carried, Consumer<String> progress, BooleanSupplier cancelled) {
        ServerUnavailable refused = null;
        for (Path wheel : carried) {
            try {
                run(pip("install", "--no-index", "--no-deps", wheel.toString()), progress, cancelled);
                return wheel;
            } catch (ServerUnavailable failed) {
                refused = failed;
            }
        }
        throw refused;
    }

    private List<String> pip(String... arguments) {
        var command = new ArrayList<>(List.of(inside("python").toString(), "-m", "pip", "--disable-pip-version-check", "--no-input"));
        command.addAll(List.of(arguments));
        return command;
    }

    private Path inside(String program) {
        return windows ? folder.resolve("Scripts").resolve(program + ".exe") : folder.resolve("bin").resolve(program);
    }

    private void run(List<String> command, Consumer<String> progress, BooleanSupplier cancelled) {
        var last = new ArrayDeque<String>();
        Process process = null;
        try {
            Files.createDirectories(folder.getParent());
            // Not in a project: -m would take a module from there.
            process = new ProcessBuilder(command).directory(folder.getParent().toFile()).redirectErrorStream(true).start();
            process.getOutputStream().close();
            stopWhen(cancelled, process);
            try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    progress.accept(line);
                    last.add(line);
                    if (last.size() > REMEMBERED_LINES) {
                        last.remove();
                    }
                }
            }
            int code = process.waitFor();
            if (cancelled.getAsBoolean()) {
                throw new CancellationException("The installation was cancelled.");
            }
            if (code != 0) {
                throw failed(command, String.join("\n", last));
            }
        } catch (IOException error) {
            throw failed(command, error.getMessage());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new CancellationException("The installation was interrupted.");
        } finally {
            if (process != null) {
                process.destroyForcibly();
            }
        }
    }

    /** The tools may be silent for long, so the wish isn't looked for only when a line comes. */
    private static void stopWhen(BooleanSupplier cancelled, Process process) {
        CompletableFuture.delayedExecutor(LOOK_MS, TimeUnit.MILLISECONDS).execute(() -> {
            if (cancelled.getAsBoolean()) {
                process.destroyForcibly();
            } else if (process.isAlive()) {
                stopWhen(cancelled, process);
            }
        });
    }

    private static ServerUnavailable failed(List<String> command, String said) {
        return new ServerUnavailable(
                "Carrel's server can't be installed: " + said, "To see more, run `%s`. %s".formatted(String.join(" ", command), BY_HAND));
    }
}
