package carrel.ide;

import carrel.protocol.CarrelClient;
import carrel.protocol.Messages.StatusResult;
import com.google.gson.JsonObject;
import com.intellij.openapi.project.Project;
import com.redhat.devtools.lsp4ij.ServerStatus;
import com.redhat.devtools.lsp4ij.client.LanguageClientImpl;
import org.eclipse.lsp4j.ProgressParams;

/** Hands what the server tells to the memory. */
final class CarrelLanguageClient extends LanguageClientImpl implements CarrelClient {
    private final CarrelProject carrel;

    CarrelLanguageClient(Project project, CarrelProject carrel) {
        super(project);
        this.carrel = carrel;
        carrel.connected(this);
    }

    @Override
    public void statusChanged(StatusResult status) {
        carrel.memory().statusChanged(status);
    }

    /** LSP4IJ shows progress in the IDE's own way; the Memory panel shows it too. */
    @Override
    public void notifyProgress(ProgressParams params) {
        carrel.memory().progressed(params);
        super.notifyProgress(params);
    }

    /** What was chosen while the server started is told once more. */
    @Override
    public void handleServerStatusChanged(ServerStatus status) {
        if (status == ServerStatus.started) {
            triggerChangeConfiguration();
        }
    }

    @Override
    protected Object createSettings() {
        var section = new JsonObject();
        section.add("carrel", carrel.choices().get().toSettings());
        return section;
    }
}
