package carrel.ide;

import carrel.server.ServerUnavailable;
import com.intellij.execution.configurations.GeneralCommandLine;
import com.intellij.openapi.vfs.VirtualFile;
import com.redhat.devtools.lsp4ij.server.CannotStartProcessException;
import com.redhat.devtools.lsp4ij.server.OSProcessStreamConnectionProvider;
import java.nio.file.Path;

/** Starts the server's process, in the person's home folder: what lies in a project must not be picked up by a program's own search. */
final class CarrelConnection extends OSProcessStreamConnectionProvider {
    private final CarrelProject carrel;

    CarrelConnection(CarrelProject carrel) {
        this.carrel = carrel;
    }

    @Override
    public void start() throws CannotStartProcessException {
        try {
            var line = carrel.locate().serve();
            setCommandLine(new GeneralCommandLine(line).withWorkingDirectory(Path.of(System.getProperty("user.home"))));
        } catch (ServerUnavailable missing) {
            throw new CannotStartProcessException(missing.getMessage() + " " + missing.remedy());
        }
        super.start();
    }

    @Override
    public Object getInitializationOptions(VirtualFile root) {
        return carrel.settings().general();
    }
}
