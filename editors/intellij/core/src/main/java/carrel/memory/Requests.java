package carrel.memory;

import carrel.protocol.CarrelServer;
import carrel.server.ServerUnavailable;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;

/** Requests that are under way. An answer comes for each: LSP4J by itself would leave those of a dead server open for ever. */
final class Requests {
    private final ServerAccess access;
    private final Set<CompletableFuture<?>> open = ConcurrentHashMap.newKeySet();

    Requests(ServerAccess access) {
        this.access = access;
    }

    /** Ask the server, which is started for it if need be. Cancelling the answer cancels the request. */
    <T> CompletableFuture<T> ask(Function<CarrelServer, CompletableFuture<T>> call) {
        return ask(call, value -> {});
    }

    /** Ask likewise. {@code arrived} sees the value before the answer is complete, so that who waits for it sees what {@code arrived} did. */
    <T> CompletableFuture<T> ask(Function<CarrelServer, CompletableFuture<T>> call, Consumer<T> arrived) {
        var answer = new CompletableFuture<T>();
        access.server().whenComplete((server, error) -> {
            if (error != null) {
                answer.completeExceptionally(Memory.cause(error));
            } else if (!answer.isDone()) {
                pass(sent(call, server), answer, arrived);
            }
        });
        return answer;
    }

    /** The server has gone: nobody waits for it any longer. Who waits for a server to start goes on waiting. */
    void abandon() {
        var gone = new ServerUnavailable("Carrel's server stopped before it answered.", "Ask again: it starts when it is asked.");
        open.forEach(answer -> answer.completeExceptionally(gone));
    }

    /** A server whose connection has broken refuses a message at once. */
    private static <T> CompletableFuture<T> sent(Function<CarrelServer, CompletableFuture<T>> call, CarrelServer server) {
        try {
            return call.apply(server);
        } catch (RuntimeException error) {
            return CompletableFuture.failedFuture(error);
        }
    }

    private <T> void pass(CompletableFuture<T> request, CompletableFuture<T> answer, Consumer<T> arrived) {
        open.add(answer);
        answer.whenComplete((value, error) -> {
            open.remove(answer);
            if (answer.isCancelled()) {
                request.cancel(true);
            }
        });
        request.whenComplete((value, error) -> {
            if (error != null) {
                answer.completeExceptionally(Memory.cause(error));
            } else if (!answer.isDone()) {
                try {
                    arrived.accept(value);
                } finally {
                    answer.complete(value);
                }
            }
        });
    }
}
