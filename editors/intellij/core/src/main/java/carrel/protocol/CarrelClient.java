package carrel.protocol;

import carrel.protocol.Messages.ConfirmParams;
import carrel.protocol.Messages.ConfirmResult;
import carrel.protocol.Messages.StatusResult;
import com.google.gson.JsonObject;
import java.util.concurrent.CompletableFuture;
import org.eclipse.lsp4j.ClientCapabilities;
import org.eclipse.lsp4j.jsonrpc.services.JsonNotification;
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;

/** What Carrel's server tells and asks beside the language server protocol. */
public interface CarrelClient {
    /** The state of one folder's index changed. The list of skipped files is left out. */
    @JsonNotification("carrel/statusChanged")
    void statusChanged(StatusResult status);

    /** Have the person decide. Nothing but a click of theirs allows anything. */
    @JsonRequest("carrel/confirm")
    CompletableFuture<ConfirmResult> confirm(ConfirmParams question);

    /**
     * Say in the client's capabilities that it answers, and that its settings are the person's: no file of a project is read for
     * them. What others announced stays.
     */
    static void announce(ClientCapabilities capabilities) {
        var experimental = capabilities.getExperimental() instanceof JsonObject others ? others : new JsonObject();
        var answers = new JsonObject();
        answers.addProperty("confirm", true);
        answers.addProperty("ownSettings", true);
        experimental.add("carrel", answers);
        capabilities.setExperimental(experimental);
    }
}
