package carrel.protocol;

import carrel.protocol.Messages.ChatParams;
import carrel.protocol.Messages.ChatResult;
import carrel.protocol.Messages.ClearParams;
import carrel.protocol.Messages.ClearResult;
import carrel.protocol.Messages.ContextParams;
import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.IndexParams;
import carrel.protocol.Messages.IndexResult;
import carrel.protocol.Messages.ProvidersParams;
import carrel.protocol.Messages.ProvidersResult;
import carrel.protocol.Messages.SearchParams;
import carrel.protocol.Messages.SearchResult;
import carrel.protocol.Messages.SourceChanged;
import carrel.protocol.Messages.SourcesAddParams;
import carrel.protocol.Messages.SourcesParams;
import carrel.protocol.Messages.SourcesRemoveParams;
import carrel.protocol.Messages.SourcesResult;
import carrel.protocol.Messages.StatusParams;
import carrel.protocol.Messages.StatusResult;
import com.google.gson.JsonObject;
import java.util.concurrent.CompletableFuture;
import org.eclipse.lsp4j.ServerCapabilities;
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;
import org.eclipse.lsp4j.services.LanguageServer;

/** The server as a client sees it: the language server protocol and Carrel's own requests. LSP4J gives null for what isn't here. */
public interface CarrelServer extends LanguageServer {
    /** The version of {@code carrel/*} that these classes speak. */
    int PROTOCOL = 1;

    @JsonRequest("carrel/status")
    CompletableFuture<StatusResult> status(StatusParams params);

    @JsonRequest("carrel/index")
    CompletableFuture<IndexResult> index(IndexParams params);

    @JsonRequest("carrel/search")
    CompletableFuture<SearchResult> search(SearchParams params);

    @JsonRequest("carrel/context")
    CompletableFuture<ContextResult> context(ContextParams params);

    /** Each {@code ChatStep} comes before the answer, as progress of {@code partialResultToken}. */
    @JsonRequest("carrel/chat")
    CompletableFuture<ChatResult> chat(ChatParams params);

    @JsonRequest("carrel/clear")
    CompletableFuture<ClearResult> clear(ClearParams params);

    @JsonRequest("carrel/providers")
    CompletableFuture<ProvidersResult> providers(ProvidersParams params);

    @JsonRequest("carrel/sources")
    CompletableFuture<SourcesResult> sources(SourcesParams params);

    @JsonRequest("carrel/sources/add")
    CompletableFuture<SourceChanged> addSource(SourcesAddParams params);

    @JsonRequest("carrel/sources/remove")
    CompletableFuture<SourceChanged> removeSource(SourcesRemoveParams params);

    /** Why the server that said this can't be spoken to; null if it can. */
    static String mismatch(ServerCapabilities capabilities) {
        Integer spoken = spokenProtocol(capabilities);
        if (spoken == null) {
            return "the program that was started is not a Carrel server";
        }
        return spoken == PROTOCOL
                ? null
                : "the server speaks version %d of the protocol, this plugin version %d: update the older one"
                        .formatted(spoken, PROTOCOL);
    }

    private static Integer spokenProtocol(ServerCapabilities capabilities) {
        if (capabilities.getExperimental() instanceof JsonObject experimental
                && experimental.get("carrel") instanceof JsonObject carrel
                && carrel.get("protocol") != null
                && carrel.get("protocol").isJsonPrimitive()) {
            return carrel.get("protocol").getAsInt();
        }
        return null;
    }
}
