package carrel.chat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.StreamSupport;

/** A chat model behind real HTTP, as Ollama's interface has it, that says its lines one after the other. */
public final class PlayedModel implements AutoCloseable {
    private final HttpServer service;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Queue<Reply> replies = new ConcurrentLinkedQueue<>();
    private final List<List<String>> requests = new CopyOnWriteArrayList<>();

    /** Words, or the call of a tool; it waits for {@code gate} before it ends. */
    private record Reply(String text, String tool, String query, CountDownLatch gate) {}

    public PlayedModel() throws IOException {
        service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.setExecutor(threads);
        service.createContext("/api/chat", this::answer);
        service.createContext("/api/show", PlayedModel::describe);
        service.start();
    }

    /** Name it as `models.chat` in the settings below {@code home}. */
    public PlayedModel setIn(Path home) throws IOException {
        var own = Files.createDirectories(home.resolve("carrel")).resolve("settings.toml");
        Files.writeString(own, """
                planner = "never"
                [models.chat]
                provider = "ollama"
                model = "tiny"
                baseUrl = "http://127.0.0.1:%d"
                """.formatted(service.getAddress().getPort()));
        return this;
    }

    public PlayedModel says(String text) {
        replies.add(new Reply(text, null, null, new CountDownLatch(0)));
        return this;
    }

    public PlayedModel searches(String query) {
        replies.add(new Reply("Let me look.", "search_code", query, new CountDownLatch(0)));
        return this;
    }

    /** Say this and wait in the middle of the answer until the gate opens. */
    public PlayedModel begins(String text, CountDownLatch gate) {
        replies.add(new Reply(text, null, null, gate));
        return this;
    }

    /** The messages of each request, but for those of the system. */
    public List<List<String>> requests() {
        return List.copyOf(requests);
    }

    @Override
    public void close() {
        replies.forEach(reply -> reply.gate.countDown());
        threads.shutdownNow();
        service.stop(0);
    }

    private static void describe(HttpExchange exchange) throws IOException {
        try (exchange) {
            var described = "{\"model_info\": {\"general.architecture\": \"tiny\", \"tiny.context_length\": 32000}, \"capabilities\": [\"completion\", \"tools\"]}"
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, described.length);
            exchange.getResponseBody().write(described);
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange; var body = new InputStreamReader(exchange.getRequestBody(), StandardCharsets.UTF_8)) {
            var messages = JsonParser.parseReader(body).getAsJsonObject().getAsJsonArray("messages");
            requests.add(StreamSupport.stream(messages.spliterator(), false)
                    .map(one -> one.getAsJsonObject())
                    .filter(one -> !one.get("role").getAsString().equals("system"))
                    .map(one -> one.get("content").getAsString())
                    .toList());
            var reply = replies.remove();
            exchange.getResponseHeaders().add("Content-Type", "application/x-ndjson");
            exchange.sendResponseHeaders(200, 0);
            for (String word : reply.text.split("(?<= )")) {
                send(exchange, message(word), false);
            }
            if (reply.tool != null) {
                send(exchange, call(reply), false);
            }
            reply.gate.await();
            send(exchange, message(""), true);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private static JsonObject message(String content) {
        var message = new JsonObject();
        message.addProperty("role", "assistant");
        message.addProperty("content", content);
        return message;
    }

    private static JsonObject call(Reply reply) {
        var message = message("");
        message.add("tool_calls", JsonParser.parseString(
                "[{\"function\": {\"name\": \"%s\", \"arguments\": {\"query\": \"%s\"}}}]".formatted(reply.tool, reply.query)));
        return message;
    }

    private static void send(HttpExchange exchange, JsonObject message, boolean done) throws IOException {
        var piece = new JsonObject();
        piece.addProperty("model", "tiny");
        piece.addProperty("created_at", "2026-01-01T00:00:00Z");
        piece.add("message", message);
        piece.addProperty("done", done);
        exchange.getResponseBody().write((piece + "\n").getBytes(StandardCharsets.UTF_8));
        exchange.getResponseBody().flush();
    }
}
