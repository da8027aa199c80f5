package carrel.memory;

import carrel.memory.ServerState.Failed;
import carrel.memory.ServerState.Running;
import carrel.memory.ServerState.Starting;
import carrel.memory.ServerState.Stopped;
import carrel.protocol.CarrelServer;
import carrel.protocol.Messages.ChatMessage;
import carrel.protocol.Messages.ChatParams;
import carrel.protocol.Messages.ChatResult;
import carrel.protocol.Messages.ChatStep;
import carrel.protocol.Messages.ClearParams;
import carrel.protocol.Messages.ContextResult;
import carrel.protocol.Messages.HistoryTurn;
import carrel.protocol.Messages.IndexParams;
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
import carrel.server.ServerUnavailable;
import com.google.gson.Gson;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.eclipse.lsp4j.ProgressParams;
import org.eclipse.lsp4j.WorkDoneProgressCancelParams;
import org.eclipse.lsp4j.jsonrpc.ResponseErrorException;
import org.eclipse.lsp4j.jsonrpc.messages.Either;

/**
 * The memory of one open project: what is known of its index, and what a person can ask of it.
 *
 * <p>Methods may be called from any thread and don't wait. Listeners are told on whatever thread the news came.
 */
public final class Memory {
    /** How long a question waits for a first index; then the answer is what is there by then. */
    private static final int WAIT_MS = 30_000;
    /** The whole status is asked for so long after the last change: it holds more than a notification does. */
    private static final int REST_MS = 300;

    private static final int KEPT_RECEIPTS = 20;
    /** How many earlier questions go with one. */
    private static final int EARLIER = 5;

    private static final int REQUEST_CANCELLED = -32_800;
    private static final Gson GSON = new Gson();

    /** Everything that a view shows, at one moment. {@code work} is the newest run; {@code receipts} has the newest first. */
    public record View(
            ServerState server, Collection<StatusResult> statuses, Optional<Work> work, boolean indexing, List<Receipt> receipts) {}

    private final Requests requests;
    private final Supplier<List<String>> folders;
    private final Supplier<List<String>> pinned;
    private final MemoryState state = new MemoryState();
    private final Deque<Receipt> receipts = new ArrayDeque<>();
    private final Map<String, Consumer<ChatStep>> answering = new ConcurrentHashMap<>();
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private ServerState server = new Stopped(false);
    private int refreshTicket;

    /** {@code folders} gives the URIs of the project's folders, {@code pinned} those of pinned files; asked anew each time. */
    public Memory(ServerAccess access, Supplier<List<String>> folders, Supplier<List<String>> pinned) {
        this.requests = new Requests(access);
        this.folders = folders;
        this.pinned = pinned;
    }

    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    public void forgetListener(Runnable listener) {
        listeners.remove(listener);
    }

    public synchronized View view() {
        return new View(server, state.statuses(), state.work(), state.indexing(), List.copyOf(receipts));
    }

    /** Bring the index of every folder up to date, one after the other. */
    public CompletableFuture<IndexSummary> index() {
        var summary = CompletableFuture.completedFuture(IndexSummary.NOTHING);
        for (String folder : folders.get()) {
            summary = summary.thenCompose(before -> before.cancelled()
                    ? CompletableFuture.completedFuture(before)
                    : index(folder).thenApply(before::plus));
        }
        return summary.thenCompose(done -> refresh().thenApply(nothing -> done));
    }

    /** Stop every index run; what was finished stays. */
    public void cancel() {
        var tokens = tokens();
        requests.ask(running -> {
            tokens.forEach(token -> running.cancelProgress(new WorkDoneProgressCancelParams(token)));
            return CompletableFuture.completedFuture(null);
        });
    }

    /** Ask for the whole status of each folder. Starts the server. */
    public CompletableFuture<Void> refresh() {
        return CompletableFuture.allOf(folders.get().stream()
                .map(folder -> requests.ask(running -> running.status(new StatusParams(folder))).thenAccept(this::learned))
                .toArray(CompletableFuture<?>[]::new));
    }

    /** The pages for a question that a person asked. Indexes first where that never happened. Its receipt is kept. Can be cancelled. */
    public CompletableFuture<ContextResult> context(Question question) {
        var always = pinned.get();
        var params = question.params(WAIT_MS, always);
        return requests.ask(running -> running.context(params), pack -> keep(new Receipt(question, always, pack)));
    }

    /**
     * A chat model's answer to a conversation, which ends with the question. Each step goes to {@code steps} as it happens, on whatever
     * thread the news came. What was put before the question is kept as its receipt. Can be cancelled.
     */
    public CompletableFuture<ChatResult> chat(Question question, List<ChatMessage> messages, Consumer<ChatStep> steps) {
        var always = pinned.get();
        var token = "carrel-intellij-" + UUID.randomUUID();
        var params = ChatParams.of(question.params(WAIT_MS, always), messages, token);
        answering.put(token, steps);
        var answer = requests.ask(running -> running.chat(params), result -> keep(new Receipt(question, always, result.pack())));
        answer.whenComplete((result, error) -> answering.remove(token));
        return answer;
    }

    /** A question with those that were asked of its folder before it. The server tells a new topic from them. */
    public Question afterEarlier(Question question) {
        var earlier = new ArrayList<HistoryTurn>();
        for (var receipt : view().receipts()) { // the newest first
            var turn = new HistoryTurn("user", receipt.question().text());
            if (receipt.question().folder().equals(question.folder()) && earlier.size() < EARLIER && !earlier.contains(turn)) {
                earlier.add(0, turn);
            }
        }
        return question.following(earlier);
    }

    /** Delete the index of every folder; gives the bytes that were freed. Files stay as they are. */
    public CompletableFuture<Long> clear() {
        var freed = CompletableFuture.completedFuture(0L);
        for (String folder : folders.get()) {
            freed = freed.thenCompose(before -> requests.ask(running -> running.clear(new ClearParams(folder)))
                    .thenApply(result -> before + result.freedBytes()));
        }
        return freed.thenCompose(bytes -> refresh().thenApply(nothing -> bytes));
    }

    /** Chunks that answer the words, best first. Cancelling the answer cancels the search. */
    public CompletableFuture<SearchResult> search(String folder, String query, int limit) {
        return requests.ask(running -> running.search(SearchParams.of(folder, query, limit, WAIT_MS)));
    }

    /** What is searched beside a folder; the workspace itself comes first. */
    public CompletableFuture<SourcesResult> sources(String folder) {
        return requests.ask(running -> running.sources(new SourcesParams(folder)));
    }

    /** Add a source, or change one: the server has the person asked before it writes to their own settings. */
    public CompletableFuture<SourceChanged> add(SourcesAddParams wanted) {
        return requests.ask(running -> running.addSource(wanted));
    }

    /** Take a source out; the person is asked likewise. */
    public CompletableFuture<SourceChanged> removeSource(String folder, String id) {
        return requests.ask(running -> running.removeSource(new SourcesRemoveParams(folder, id)));
    }

    /** Which models are set; {@code check} asks each for as little as it can answer. */
    public CompletableFuture<ProvidersResult> providers(String folder, boolean check) {
        return requests.ask(running -> running.providers(new ProvidersParams(folder, check)));
    }

    /** The server told of a folder's state. */
    public void statusChanged(StatusResult status) {
        synchronized (this) {
            state.update(status, true);
        }
        changed();
        refreshSoon(); // whatever it says: editors may hand over notifications out of order
    }

    /** The server told of progress. */
    public void progressed(ProgressParams params) {
        if (!params.getValue().isLeft()) {
            var steps = params.getToken().isLeft() ? answering.get(params.getToken().getLeft()) : null;
            if (steps != null) {
                steps.accept(GSON.fromJson(GSON.toJsonTree(params.getValue().getRight()), ChatStep.class));
            }
            return;
        }
        synchronized (this) {
            state.progress(params.getToken(), params.getValue().getLeft());
        }
        changed();
    }

    public void serverStarts() {
        become(new Starting(), false);
    }

    /** {@code description} says to people which program it is. */
    public void serverRuns(String description) {
        become(new Running(description), false);
    }

    /** Whoever waits for an answer is told at once; nothing is shown that the server doesn't stand for any more. */
    public void serverStopped() {
        become(new Stopped(true), true);
    }

    public void serverFailed(ServerUnavailable reason) {
        become(new Failed(reason.getMessage(), reason.remedy()), true);
    }

    /** What went wrong, without the wrappings of futures. */
    public static Throwable cause(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? cause(error.getCause()) : error;
    }

    /** What went wrong and what helps, as a person is told. */
    public static String explain(Throwable error) {
        var cause = cause(error);
        return cause instanceof ServerUnavailable unavailable ? cause.getMessage() + " " + unavailable.remedy() : cause.getMessage();
    }

    public static boolean isCancelled(Throwable error) {
        var cause = cause(error);
        return cause instanceof CancellationException
                || cause instanceof ResponseErrorException refused && refused.getResponseError().getCode() == REQUEST_CANCELLED;
    }

    private void keep(Receipt receipt) {
        synchronized (this) {
            receipts.addFirst(receipt);
            if (receipts.size() > KEPT_RECEIPTS) {
                receipts.removeLast();
            }
        }
        changed();
    }

    private CompletableFuture<IndexSummary> index(String folder) {
        var token = "carrel-intellij-" + UUID.randomUUID();
        return requests.ask(running -> running.index(new IndexParams(folder, null, token)))
                .thenApply(IndexSummary::of)
                .exceptionally(error -> {
                    if (isCancelled(error)) {
                        return IndexSummary.CANCELLED;
                    }
                    throw new CompletionException(cause(error));
                });
    }

    private synchronized Collection<Either<String, Integer>> tokens() {
        return state.tokens();
    }

    private void learned(StatusResult status) {
        synchronized (this) {
            state.update(status, false);
        }
        changed();
    }

    private void refreshSoon() {
        int ticket;
        synchronized (this) {
            ticket = ++refreshTicket;
        }
        CompletableFuture.delayedExecutor(REST_MS, TimeUnit.MILLISECONDS).execute(() -> {
            synchronized (this) {
                if (ticket != refreshTicket || !(server instanceof Running)) {
                    return;
                }
            }
            refresh();
        });
    }

    private void become(ServerState next, boolean gone) {
        synchronized (this) {
            server = next;
            if (gone) {
                state.forget();
            }
        }
        if (gone) {
            requests.abandon();
        }
        changed();
    }

    private void changed() {
        listeners.forEach(Runnable::run);
    }
}
