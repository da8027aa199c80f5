package carrel.memory;

import carrel.protocol.CarrelClient;
import carrel.protocol.CarrelServer;
import carrel.protocol.Messages.ConfirmParams;
import carrel.protocol.Messages.ConfirmResult;
import carrel.protocol.Messages.StatusResult;
import carrel.server.ServerUnavailable;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.eclipse.lsp4j.ClientCapabilities;
import org.eclipse.lsp4j.ConfigurationParams;
import org.eclipse.lsp4j.DidChangeConfigurationParams;
import org.eclipse.lsp4j.InitializeParams;
import org.eclipse.lsp4j.InitializedParams;
import org.eclipse.lsp4j.MessageActionItem;
import org.eclipse.lsp4j.MessageParams;
import org.eclipse.lsp4j.ProgressParams;
import org.eclipse.lsp4j.PublishDiagnosticsParams;
import org.eclipse.lsp4j.ShowMessageRequestParams;
import org.eclipse.lsp4j.WindowClientCapabilities;
import org.eclipse.lsp4j.WorkDoneProgressCreateParams;
import org.eclipse.lsp4j.WorkspaceClientCapabilities;
import org.eclipse.lsp4j.WorkspaceFolder;
import org.eclipse.lsp4j.jsonrpc.Launcher;
import org.eclipse.lsp4j.services.LanguageClient;

/** Carrel's real server as a process, tied to a {@link Memory} the way LSP4IJ ties it in the IDE. */
public final class RealServer implements ServerAccess, AutoCloseable {
    private final Path folder;
    private final Path home;
    private final HeldChoices choices = new HeldChoices(this::choose);
    private final Memory memory;
    private final List<PermissionQuestion> asked = new CopyOnWriteArrayList<>();
    private volatile boolean allows;
    private volatile Choices chosen = Choices.NONE;
    private volatile ExcludedFolders excluded = ExcludedFolders.NONE;
    private final ExcludeWatch watch = new ExcludeWatch(() -> excluded, this::tell);
    private Process process;
    private CompletableFuture<CarrelServer> running;

    /** {@code folder} is the project; {@code home} takes the index and hides the settings of whoever runs the tests. */
    public RealServer(Path folder, Path home) {
        this.folder = folder;
        this.home = home;
        this.memory = new Memory(this, () -> List.of(folder.toUri().toString()), () -> choices.get().pinned());
    }

    public Memory memory() {
        return memory;
    }

    public HeldChoices choices() {
        return choices;
    }

    /** From now on the person clicks on Allow. */
    public void allow() {
        allows = true;
    }

    /** What the person was asked to allow. */
    public List<PermissionQuestion> asked() {
        return List.copyOf(asked);
    }

    /** A question to the project. */
    public Question question(String text) {
        return Question.of(folder.toUri().toString(), text, null, List.of());
    }

    @Override
    public synchronized CompletableFuture<CarrelServer> server() {
        if (running == null) {
            memory.serverStarts();
            try {
                running = start();
            } catch (IOException error) {
                return CompletableFuture.failedFuture(new ServerUnavailable(error.getMessage(), "Run `make build` first."));
            }
        }
        return running;
    }

    /** Tell the server what was chosen, as the IDE does after a change. */
    public void choose(Choices choices) {
        chosen = choices;
        tell();
    }

    /** Exclude these folders from now on, and tell the server as the IDE does when a project's roots have changed. */
    public void exclude(Path... folders) {
        excluded = excluded(folders);
        watch.look();
    }

    /** These folders are excluded before the server starts. */
    public void excludeFromTheStart(Path... folders) {
        excluded = excluded(folders);
    }

    public long pid() {
        return process.pid();
    }

    /** Let the process stand still and hold what it holds. Only where there are signals. */
    public void freeze() {
        signal("STOP");
    }

    /** Let it go on. */
    public void thaw() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().onExit().join();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** End the process as a crash does. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() {
        if (process != null) {
            kill();
        }
    }

    private CompletableFuture<CarrelServer> start() throws IOException {
        var log = Path.of(System.getProperty("carrel.output"), "server.log").toFile();
        var builder = new ProcessBuilder(command()).redirectError(ProcessBuilder.Redirect.appendTo(log));
        builder.environment().put("XDG_CONFIG_HOME", home.toString());
        process = builder.start();
        var launcher = new Launcher.Builder<CarrelServer>()
                .setLocalService(new Client())
                .setRemoteInterface(CarrelServer.class)
                .setInput(process.getInputStream())
                .setOutput(process.getOutputStream())
                .create();
        launcher.startListening();
        process.onExit().thenRun(this::stopped);
        var server = launcher.getRemoteProxy();
        return server.initialize(parameters()).thenApply(result -> {
            var mismatch = Optional.ofNullable(CarrelServer.mismatch(result.getCapabilities()));
            mismatch.ifPresent(problem -> {
                throw new ServerUnavailable(problem, "");
            });
            server.initialized(new InitializedParams());
            memory.serverRuns("carrel, started by the tests");
            return server;
        });
    }

    private synchronized void stopped() {
        running = null;
        memory.serverStopped();
    }

    private static ExcludedFolders excluded(Path... folders) {
        return ExcludedFolders.ofUrls(Stream.of(folders).map(one -> "file://" + one.toString().replace(File.separatorChar, '/')).toList());
    }

    private void tell() {
        server().join().getWorkspaceService().didChangeConfiguration(new DidChangeConfigurationParams(settings().sections()));
    }

    private ClientSettings settings() {
        return new ClientSettings(chosen, excluded, List.of(folder.toUri().toString()));
    }

    private InitializeParams parameters() {
        var parameters = new InitializeParams();
        var window = new WindowClientCapabilities();
        window.setWorkDoneProgress(true);
        var capabilities = new ClientCapabilities();
        capabilities.setWindow(window);
        var workspace = new WorkspaceClientCapabilities();
        workspace.setConfiguration(true);
        capabilities.setWorkspace(workspace);
        CarrelClient.announce(capabilities);
        parameters.setCapabilities(capabilities);
        parameters.setProcessId((int) ProcessHandle.current().pid());
        parameters.setWorkspaceFolders(List.of(new WorkspaceFolder(folder.toUri().toString(), "project")));
        var options = settings().general();
        options.addProperty("cacheFolder", home.toString());
        parameters.setInitializationOptions(options);
        return parameters;
    }

    private static List<String> command() {
        var chosen = System.getenv("CARREL_TEST_PYTHON");
        var repository = Path.of(System.getProperty("carrel.repository"));
        var inside = File.separatorChar == '\\' ? Path.of("Scripts", "python.exe") : Path.of("bin", "python");
        var python = chosen != null ? chosen : repository.resolve(".venv").resolve(inside).toString();
        return new ArrayList<>(List.of(python, "-P", "-m", "carrel", "serve"));
    }

    private final class Client implements LanguageClient, CarrelClient {
        @Override
        public void statusChanged(StatusResult status) {
            memory.statusChanged(status);
        }

        /** The person clicks on Don't Allow, unless a test says otherwise. */
        @Override
        public CompletableFuture<ConfirmResult> confirm(ConfirmParams question) {
            asked.add(PermissionQuestion.of(question));
            return CompletableFuture.completedFuture(new ConfirmResult(allows));
        }

        @Override
        public void notifyProgress(ProgressParams params) {
            memory.progressed(params);
        }

        @Override
        public CompletableFuture<List<Object>> configuration(ConfigurationParams asked) {
            return CompletableFuture.completedFuture(settings().answers(asked));
        }

        @Override
        public CompletableFuture<Void> createProgress(WorkDoneProgressCreateParams params) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void telemetryEvent(Object object) {}

        @Override
        public void publishDiagnostics(PublishDiagnosticsParams diagnostics) {}

        @Override
        public void showMessage(MessageParams message) {}

        @Override
        public CompletableFuture<MessageActionItem> showMessageRequest(ShowMessageRequestParams request) {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void logMessage(MessageParams message) {}
    }
}
