package carrel.ide;

import carrel.server.LocalMachine;
import carrel.server.ServerFinder;
import carrel.server.ServerInstaller;
import com.intellij.openapi.application.PathManager;
import com.intellij.util.EnvironmentUtil;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** This computer as the IDE knows it. */
final class LocalEnvironment {
    private LocalEnvironment() {}

    static LocalMachine machine() {
        return new LocalMachine(Path.of(System.getProperty("user.home")), EnvironmentUtil.getEnvironmentMap());
    }

    /** What can install the server, if there is a Python for it. Runs programs: not for the UI thread. */
    static Optional<ServerInstaller> installer() {
        var machine = machine();
        var folder = PathManager.getConfigDir().resolve("carrel").resolve("server");
        return new ServerFinder(machine).python().map(python -> new ServerInstaller(python, folder, machine.windows()));
    }

    /** The wheels that came with the plugin. */
    static Optional<Path> wheels() {
        return Optional.ofNullable(PathManager.getJarPathForClass(LocalEnvironment.class))
                .map(jar -> Path.of(jar).resolveSibling("../server").normalize()) // the jar lies in lib
                .filter(Files::isDirectory);
    }
}
