package carrel.protocol;

import com.google.gson.annotations.JsonAdapter;
import com.google.gson.annotations.SerializedName;
import java.util.List;
import java.util.Map;
import org.eclipse.lsp4j.Range;

/**
 * What goes over the wire with {@code carrel/*} requests. Each record is named as in {@code editors/protocol.schema.json} and has
 * the same fields; a test compares the two. A field that may be missing has a boxed or a reference type and is null then.
 */
public final class Messages {
    private Messages() {}

    /** How an index is. */
    public enum State {
        @SerializedName("empty")
        EMPTY,
        @SerializedName("indexing")
        INDEXING,
        @SerializedName("ready")
        READY,
        @SerializedName("error")
        ERROR
    }

    /** Why a context is asked for: an explicit request may start the first index and await it. */
    public enum Trigger {
        @SerializedName("chat")
        CHAT,
        @SerializedName("explicit")
        EXPLICIT
    }

    public record StatusParams(String workspaceFolder) {}

    /** The copy of an index's vectors in the store that is set. */
    public record VectorsInfo(
            String kind,
            String place,
            String state,
            boolean leavesMachine,
            int held,
            int backlog,
            double lagSeconds,
            String problem) {}

    public record StatusResult(
            String workspaceFolder, String name,
            @JsonAdapter(WireNames.class) State state,
            String role,
            int files,
            int chunks,
            long bytes,
            Map<String, Integer> languages,
            ModelInfo model,
            String store,
            VectorsInfo vectors,
            String lastIndexed,
            String lastCommitSha,
            String headSha,
            int pending,
            Boolean complete,
            Integer unfinished,
            List<SkippedFile> skipped,
            List<FailedFile> failed,
            int failedFiles,
            Integer refusedFiles,
            Integer chunksWithoutVectors,
            int maskedFiles,
            int maskedSecrets,
            Map<String, Integer> leftOut,
            Integer guessedEncodings,
            List<String> problems,
            String error) {
        public StatusResult {
            languages = languages == null ? Map.of() : languages;
            leftOut = leftOut == null ? Map.of() : leftOut;
            skipped = skipped == null ? List.of() : skipped;
            failed = failed == null ? List.of() : failed;
            problems = problems == null ? List.of() : problems;
        }

        /** The same status with the lists of files of an earlier one. */
        public StatusResult withFilesOf(StatusResult known) {
            return new StatusResult(workspaceFolder, name, state, role, files, chunks, bytes, languages, model, store, vectors,
                    lastIndexed, lastCommitSha, headSha, pending, complete, unfinished, known.skipped, failedFiles == 0 ? List.of() : known.failed, failedFiles,
                    refusedFiles, chunksWithoutVectors, maskedFiles, maskedSecrets, known.leftOut, guessedEncodings, problems, error);
        }
    }

    public record ModelInfo(String id, int dims) {}

    public record SkippedFile(String path, String reason) {}

    public record FailedFile(String path, String reason) {}

    public record IndexParams(String workspaceFolder, Boolean force, String workDoneToken) {}

    public record IndexResult(
            int added,
            int changed,
            int removed,
            int unchanged,
            int skipped,
            int failed,
            Integer refused,
            int chunks,
            int trivial,
            double elapsedMs) {}

    public record ClearParams(String workspaceFolder) {}

    public record ClearResult(long freedBytes) {}

    public record SearchParams(
            String workspaceFolder,
            List<String> folders,
            String query,
            List<HistoryTurn> history,
            ActiveEditor active,
            String plan,
            Boolean rerank,
            List<String> sources,
            Boolean lastChange,
            Integer limit,
            FiltersParam filters,
            Integer waitMs,
            Boolean assess,
            String modelToken,
            String format) {

        /** A query in its own words; everything else is left to the server. */
        public static SearchParams of(String workspaceFolder, String query, Integer limit, Integer waitMs) {
            return new SearchParams(
                    workspaceFolder, null, query, null, null, null, null, null, null, limit, null, waitMs, null, null, null);
        }
    }

    /** What a remote service was sent for one request. */
    public record SentResult(
            String provider, String host, String what, int requests, int texts, int bytes, int tokens, double cost) {}

    public record SearchResult(
            List<HitResult> hits,
            String text,
            double elapsedMs,
            @JsonAdapter(WireNames.class) State state,
            int pending,
            Map<String, Object> plan,
            String rewritten,
            List<String> subQueries,
            List<RouteResult> routes,
            List<String> notSearched,
            List<MissingFolderResult> missingFolders,
            List<SentResult> sent,
            Double confidence,
            List<AttemptResult> attempts) {}

    /** A search, and what a chat model said of it. */
    public record AttemptResult(
            String query,
            int hits,
            boolean isRelevant,
            boolean isSufficient,
            String action,
            String refinedQuery,
            String problem) {}

    /** A folder that was not searched. */
    public record MissingFolderResult(String folder, String name, String reason) {}

    /** Where a question went. */
    public record RouteResult(String source, String query, String reason) {}

    public record LastChangeResult(String sha, String author, String at, String subject) {}

    public record FiltersParam(
            List<String> sources,
            List<String> pathGlob,
            List<String> languages,
            String symbol,
            Double minScore,
            Double maxAgeDays,
            Map<String, List<String>> metadata) {}

    /** Lines of a file, 1-based and inclusive. */
    public record LinesParam(String uri, int startLine, int endLine) {}

    public record ContextParams(
            String workspaceFolder,
            List<String> folders,
            String query,
            List<HistoryTurn> history,
            String plan,
            Boolean rerank,
            List<String> sources,
            Integer topK,
            BudgetParam budget,
            Integer window,
            String model,
            String modelToken,
            ActiveEditor active,
            List<String> openUris,
            List<String> pinned,
            List<LinesParam> attached,
            List<String> exclude,
            List<LinesParam> excludeLines,
            FiltersParam filters,
            @JsonAdapter(WireNames.class) Trigger trigger,
            Integer waitMs,
            Integer deadlineMs,
            String format) {

        /** A question, and what the editor knows beside it; everything else is left to the server. */
        public static ContextParams of(
                String workspaceFolder, String query, Trigger trigger, Integer waitMs, ActiveEditor active, List<String> openUris) {
            return new ContextParams(workspaceFolder, null, query, null, null, null, null, null, null, null, null, null, active, openUris, null,
                    null, null, null, null, trigger, waitMs, null, null);
        }

        /** The same question after these turns, oldest first. */
        public ContextParams following(List<HistoryTurn> turns) {
            return new ContextParams(workspaceFolder, folders, query, turns, plan, rerank, sources, topK, budget, window, model,
                    modelToken, active, openUris, pinned, attached, exclude, excludeLines, filters, trigger, waitMs, deadlineMs, format);
        }

        /** The same question with these files, and without these files and lines. */
        public ContextParams choosing(List<String> pinned, List<String> exclude, List<LinesParam> excludeLines) {
            return new ContextParams(workspaceFolder, folders, query, history, plan, rerank, sources, topK, budget, window, model,
                    modelToken, active, openUris, pinned, attached, exclude, excludeLines, filters, trigger, waitMs, deadlineMs, format);
        }
    }

    public record ContextResult(
            String id,
            String text,
            String format,
            int tokens,
            Integer budgetTokens,
            Integer budgetChars,
            String tokenizer,
            List<HitResult> hits,
            List<DroppedResult> dropped,
            String query,
            String rewritten,
            List<String> subQueries,
            List<RouteResult> routes,
            List<String> notSearched,
            Double confidence,
            @JsonAdapter(WireNames.class) State state,
            int pending,
            String error,
            double elapsedMs,
            Map<String, Double> stages,
            List<MissingFolderResult> missingFolders,
            List<SentResult> sent) {}

    public record ChatMessage(String role, String content) {}

    public record ChatParams(
            String workspaceFolder,
            List<String> folders,
            String query,
            List<HistoryTurn> history,
            String plan,
            Boolean rerank,
            List<String> sources,
            Integer topK,
            BudgetParam budget,
            Integer window,
            String model,
            String modelToken,
            ActiveEditor active,
            List<String> openUris,
            List<String> pinned,
            List<LinesParam> attached,
            List<String> exclude,
            List<LinesParam> excludeLines,
            FiltersParam filters,
            @JsonAdapter(WireNames.class) Trigger trigger,
            Integer waitMs,
            Integer deadlineMs,
            String format,
            List<ChatMessage> messages,
            Integer maxTokens,
            Boolean assess,
            String partialResultToken) {

        /** A conversation that ends with the question of {@code given}; steps are reported under the token. */
        public static ChatParams of(ContextParams given, List<ChatMessage> messages, String partialResultToken) {
            return new ChatParams(given.workspaceFolder, given.folders, null, given.history, given.plan, given.rerank, given.sources,
                    given.topK, given.budget, given.window, given.model, given.modelToken, given.active, given.openUris, given.pinned,
                    given.attached, given.exclude, given.excludeLines, given.filters, given.trigger, given.waitMs, given.deadlineMs,
                    given.format, messages, null, null, partialResultToken);
        }
    }

    /** An answer of a chat model. */
    public record ChatResult(
            String text,
            List<ChatCitation> citations,
            ChatUsage usage,
            ContextResult pack,
            List<ChatStep> steps,
            String problem,
            Boolean cut,
            String limit,
            double elapsedMs,
            List<SentResult> sent) {}

    /** A place that an answer cites; {@code reason} says why it doesn't hold. */
    public record ChatCitation(
            String uri, String path, int startLine, int endLine, boolean ok, String reason, String version, String updatedAt) {}

    public record ChatUsage(
            int requests, int calls, int promptTokens, int answerTokens, int largestRequest, Double cost, String tokenizer) {}

    /** What happens while a question is answered. */
    public record ChatStep(
            String kind,
            String text,
            String tool,
            Map<String, Object> arguments,
            List<ChatPlace> places,
            String problem,
            Boolean repeated,
            String limit,
            Integer step,
            Integer tokens,
            Double elapsedMs,
            AttemptResult attempt) {}

    public record ChatPlace(String uri, String path, int startLine, int endLine) {}

    public record ActiveEditor(String uri, Range selection) {}

    public record BudgetParam(Integer tokens, Integer chars) {}

    public record HistoryTurn(String role, String content) {}

    public record DroppedResult(String path, int startLine, int endLine, String reason) {}

    public record HitResult(
            String id,
            String uri,
            String path,
            String folder,
            int startLine,
            int endLine,
            Range range,
            String symbol,
            String kind,
            String language,
            double score,
            SignalsResult signals,
            String text,
            List<String> definitions,
            List<String> imports,
            String container,
            String contentHash,
            String updatedAt,
            String source,
            String sourceId,
            Boolean notLocal,
            String note,
            String version,
            int masked,
            LastChangeResult lastChange,
            Boolean attached) {}

    public record SignalsResult(
            Double dense,
            Integer denseRank,
            Double lexical,
            Integer lexicalRank,
            double fused,
            Double rerank,
            List<String> matched,
            List<Boost> boosts,
            List<Contribution> contributions) {}

    public record Contribution(String rule, double share) {}

    public record Boost(String rule, double factor) {}

    public record ConfirmParams(String what, String risk, Map<String, String> details, String hash) {
        public ConfirmParams {
            details = details == null ? Map.of() : details;
        }
    }

    public record ConfirmResult(Boolean allowed) {}

    public record SourcesParams(String workspaceFolder) {}

    /** Something that is searched: the workspace, or what the person named beside it. */
    public record SourceResult(
            String id,
            String kind,
            String description,
            String folder,
            @JsonAdapter(WireNames.class) State state,
            int files,
            int chunks,
            int pending,
            String lastIndexed,
            List<String> problems,
            List<FailedFile> failed) {}

    public record SourcesResult(List<SourceResult> sources) {}

    public record SourcesAddParams(
            String workspaceFolder,
            String id,
            String place,
            Boolean git,
            String description,
            Integer outdatedAfterDays,
            String key) {}

    public record SourcesRemoveParams(String workspaceFolder, String id) {}

    public record SourceChanged(String id, boolean changed, String file, String problem) {}

    public record ProvidersParams(String workspaceFolder, Boolean check) {}

    public record ProviderDestination(String provider, String host, boolean local, boolean allowed) {}

    /** A model that is set. */
    public record ProviderModel(
            String role,
            String provider,
            String model,
            List<ProviderDestination> destinations,
            boolean hasKey,
            int requests,
            int tokens,
            double dollars,
            String lastError,
            Double answeredMs,
            String problem) {}

    public record ProviderStore(
            String kind, String place, List<ProviderDestination> destinations, boolean hasKey, String problem) {}

    public record ProvidersResult(
            List<ProviderModel> models, ProviderStore store, Map<String, List<String>> known, List<String> keys) {}
}
