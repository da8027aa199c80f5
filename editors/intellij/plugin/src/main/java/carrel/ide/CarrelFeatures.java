package carrel.ide;

import carrel.protocol.CarrelClient;
import com.intellij.openapi.vfs.VirtualFile;
import com.redhat.devtools.lsp4ij.ServerStatus;
import com.redhat.devtools.lsp4ij.client.features.LSPClientFeatures;
import java.util.List;
import org.eclipse.lsp4j.InitializeParams;
import org.eclipse.lsp4j.WorkspaceFolder;

/** When the server runs, and for which files. */
final class CarrelFeatures extends LSPClientFeatures {
    /** An opened file alone doesn't start the server: a person's wish does. Which files count is the server's to decide. */
    @Override
    public boolean isEnabled(VirtualFile file) {
        return file.isInLocalFileSystem() && carrel().isWanted();
    }

    /** The memory doesn't end with the last open file. */
    @Override
    public boolean keepServerAlive() {
        return true;
    }

    @Override
    public void initializeParams(InitializeParams parameters) {
        CarrelClient.announce(parameters.getCapabilities());
        parameters.setWorkspaceFolders(carrel().folders().stream()
                .map(uri -> new WorkspaceFolder(uri, getProject().getName()))
                .toList());
    }

    @Override
    public void handleServerStatusChanged(ServerStatus status) {
        var memory = carrel().memory();
        switch (status) {
            case starting -> memory.serverStarts();
            case started -> memory.serverRuns(carrel().description());
            case stopped -> memory.serverStopped();
            default -> {} // on its way, or about installers, which Carrel doesn't use
        }
    }

    private CarrelProject carrel() {
        return CarrelProject.of(getProject());
    }
}
