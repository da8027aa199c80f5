package carrel.protocol;

import carrel.protocol.Messages.StatusResult;
import org.eclipse.lsp4j.jsonrpc.services.JsonNotification;

/** What Carrel's server tells beside the language server protocol. */
public interface CarrelClient {
    /** The state of one folder's index changed. The list of skipped files is left out. */
    @JsonNotification("carrel/statusChanged")
    void statusChanged(StatusResult status);
}
