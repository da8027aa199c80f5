package carrel.ide;

import carrel.memory.PermissionQuestion;
import carrel.protocol.CarrelClient;
import carrel.protocol.Messages.ConfirmParams;
import carrel.protocol.Messages.ConfirmResult;
import carrel.protocol.Messages.StatusResult;
import com.intellij.openapi.application.ApplicationManager;
import com.intellij.openapi.project.Project;
import com.intellij.util.concurrency.AppExecutorUtil;
import com.redhat.devtools.lsp4ij.ServerStatus;
import com.redhat.devtools.lsp4ij.client.LanguageClientImpl;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.eclipse.lsp4j.ConfigurationParams;
import org.eclipse.lsp4j.ProgressParams;

/** Hands what the server tells to the memory, and what it asks to the person. */
final class CarrelLanguageClient extends LanguageClientImpl implements CarrelClient {
    private final CarrelProject carrel;
    private final IdePanelHost panels;

    CarrelLanguageClient(Project project, CarrelProject carrel) {
        super(project);
        this.carrel = carrel;
        this.panels = new IdePanelHost(project);
        carrel.connected(this);
    }

    @Override
    public void statusChanged(StatusResult status) {
        carrel.memory().statusChanged(status);
    }

    @Override
    public CompletableFuture<ConfirmResult> confirm(ConfirmParams question) {
        var answer = new CompletableFuture<ConfirmResult>();
        ApplicationManager.getApplication().invokeLater(() -> {
            if (!answer.isCancelled()) { // the server hasn't taken the question back
                answer.complete(new ConfirmResult(panels.permits(PermissionQuestion.of(question))));
            }
        });
        return answer;
    }

    /** LSP4IJ shows progress in the IDE's own way; the Memory panel shows it too. */
    @Override
    public void notifyProgress(ProgressParams params) {
        carrel.memory().progressed(params);
        if (params.getValue().isLeft()) { // else a step of an answer
            super.notifyProgress(params);
        }
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
        return carrel.settings().sections();
    }

    /** LSP4IJ's own answers are the same for every folder; what is excluded isn't. */
    @Override
    public CompletableFuture<List<Object>> configuration(ConfigurationParams asked) {
        return CompletableFuture.supplyAsync(() -> carrel.settings().answers(asked), AppExecutorUtil.getAppExecutorService());
    }
}
