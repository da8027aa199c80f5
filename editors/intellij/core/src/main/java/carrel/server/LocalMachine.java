package carrel.server;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** This machine. Programs run in {@code folder}, never in a project: what lies there must not be picked up by a program's own search. */
public final class LocalMachine implements Machine {
    private static final long PATIENCE_SECONDS = 10;

    private final Path folder;
    private final Map<String, String> environment;

    /** {@code environment}: that of the person's shell, which an editor started from a desktop doesn't have by itself. */
    public LocalMachine(Path folder, Map<String, String> environment) {
        this.folder = folder;
        this.environment = environment;
    }

    @Override
    public boolean windows() {
        return File.separatorChar == '\\';
    }

    @Override
    public Optional<Path> onPath(String name) {
        var extensions = windows() ? List.of(".exe", ".cmd", ".bat") : List.of("");
        return Stream.of(variable("PATH").split(File.pathSeparator))
                .flatMap(LocalMachine::absolute)
                .flatMap(place -> extensions.stream().map(extension -> place.resolve(name + extension)))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .findFirst();
    }

    @Override
    public Optional<String> output(List<String> command) {
        Process process;
        try {
            var builder = new ProcessBuilder(command).directory(folder.toFile()).redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().putAll(environment);
            process = builder.start();
        } catch (IOException error) {
            return Optional.empty(); // there is no such program, or it may not be run
        }
        try (var output = process.getInputStream()) {
            process.getOutputStream().close();
            // These programs print one line, which the pipe holds until they have ended.
            boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (!ended || process.exitValue() != 0) {
                return Optional.empty();
            }
            return Optional.of(new String(output.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException error) {
            return Optional.empty();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        } finally {
            process.destroyForcibly();
        }
    }

    /** Windows writes it {@code Path}, and doesn't care. */
    private String variable(String name) {
        return environment.entrySet().stream()
                .filter(entry -> windows() ? entry.getKey().toUpperCase(Locale.ROOT).equals(name) : entry.getKey().equals(name))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse("");
    }

    /** A relative place on PATH depends on where one stands, which may be a project. */
    private static Stream<Path> absolute(String place) {
        try {
            return Stream.of(Path.of(place)).filter(Path::isAbsolute);
        } catch (InvalidPathException error) {
            return Stream.empty();
        }
    }
}
