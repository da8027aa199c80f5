package carrel.ide;

import carrel.chat.Conversation;
import carrel.memory.Choices;
import carrel.memory.ClientSettings;
import carrel.memory.ExcludeWatch;
import carrel.memory.Memory;
import carrel.memory.ServerAccess;
import carrel.protocol.CarrelServer;
import carrel.server.Launch;
import carrel.server.Located;
import carrel.server.ServerFinder;
import carrel.server.ServerUnavailable;
import com.intellij.openapi.components.Service;
import com.intellij.openapi.project.Project;
import com.intellij.util.concurrency.AppExecutorUtil;
import com.redhat.devtools.lsp4ij.LanguageServerItem;
import com.redhat.devtools.lsp4ij.LanguageServerManager;
import com.redhat.devtools.lsp4ij.LanguageServerManager.StartOptions;
import com.redhat.devtools.lsp4ij.LanguageServerManager.StopOptions;
import com.redhat.devtools.lsp4ij.ServerStatus;
import com.redhat.devtools.lsp4ij.server.LanguageServerException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Carrel in one open project: its memory, and the way to the server that LSP4IJ runs. */
@Service(Service.Level.PROJECT)
public final class CarrelProject implements ServerAccess {
    private final Project project;
    private final Memory memory;
    private final Conversation conversation;
    private final ExcludeWatch excludes;
    private final ServerNotifications notifications;
    private volatile Launch launch;
    private volatile boolean wanted;
    private volatile CarrelLanguageClient client;

    public CarrelProject(Project project) {
        this.project = project;
        this.memory = new Memory(this, this::folders, () -> choices().get().pinned());
        this.conversation = new Conversation(memory);
        this.excludes = new ExcludeWatch(() -> ProjectRoots.excluded(project), this::tellRunning);
        this.notifications = new ServerNotifications(project);
    }

    static CarrelProject of(Project project) {
        return project.getService(CarrelProject.class);
    }

    Memory memory() {
        return memory;
    }

    Conversation conversation() {
        return conversation;
    }

    ProjectChoices choices() {
        return project.getService(ProjectChoices.class);
    }

    /** URIs of the folders that are indexed. */
    List<String> folders() {
        var path = project.getBasePath();
        return path == null ? List.of() : List.of(Path.of(path).toUri().toString());
    }

    /** What the server is to know, as it is now. */
    ClientSettings settings() {
        return new ClientSettings(choices().get(), ProjectRoots.excluded(project), folders());
    }

    /** Whether open files may be told to the server: it was asked for, and there is one. */
    boolean isWanted() {
        return wanted;
    }

    /**
     * The program to start. Runs programs: not for the UI thread.
     *
     * @throws ServerUnavailable when there is none; the person was told
     */
    Launch locate() {
        var known = launch;
        if (known != null) {
            return known;
        }
        var located = new ServerFinder(LocalEnvironment.machine()).find(ServerSettings.get().program());
        if (located instanceof Located.Missing missing) {
            wanted = false;
            var problem = new ServerUnavailable(missing.problem(), missing.remedy());
            memory.serverFailed(problem);
            notifications.missing(problem);
            throw problem;
        }
        launch = ((Located.Found) located).launch();
        return launch;
    }

    /** Which program is the server. */
    String description() {
        var known = launch;
        return known == null ? "" : known.description();
    }

    @Override
    public CompletableFuture<CarrelServer> server() {
        return CompletableFuture.supplyAsync(this::locate, AppExecutorUtil.getAppExecutorService())
                .thenCompose(found -> running())
                .thenApply(CarrelProject::checked);
    }

    /** The choices changed: tell the server that runs, start the one that is wanted now, or end the one that was just switched off. */
    void choicesChanged(Choices before) {
        if (choices().get().switchedOffSince(before)) {
            wanted = false; // nor does an opened file start it again
            stop();
        } else if (!tellRunning()) {
            startIfChosen();
        }
    }

    /** Folders may have been excluded or taken in again: a server that runs hears of it, none is started for it. */
    void rootsChanged() {
        AppExecutorUtil.getAppExecutorService().execute(excludes::look); // the IDE tells of it inside a write action
    }

    /** Start the server if the memory of this project is on, and the person trusts the project. */
    void startIfChosen() {
        if (choices().get().memoryIsOn() && Trust.isIn(project)) {
            memory.refresh();
        }
    }

    /** Another program is to be the server. */
    void programChanged() {
        launch = null;
        notifications.forget();
        stop();
        startIfChosen();
    }

    /** The state of the index can be asked for without starting anything. */
    boolean isRunning() {
        return manager().getServerStatus(CarrelServerFactory.ID) == ServerStatus.started;
    }

    void connected(CarrelLanguageClient next) {
        client = next;
    }

    private void stop() {
        manager().stop(CarrelServerFactory.ID, new StopOptions().setWillDisable(false));
    }

    /** Settings are others. A server that is about to start asks for them by itself. */
    private boolean tellRunning() {
        var connected = client;
        if (connected == null || !isRunning()) {
            return false;
        }
        connected.triggerChangeConfiguration();
        return true;
    }

    private CompletableFuture<LanguageServerItem> running() {
        wanted = true;
        var status = manager().getServerStatus(CarrelServerFactory.ID);
        if (status == null || status == ServerStatus.none || status == ServerStatus.stopped) {
            try {
                // Forced: a question needs no open file. LSP4IJ tells the server of those that are open.
                manager().start(
                        CarrelServerFactory.ID, new StartOptions().setForceStart(true).setForceRestart(false).setWillEnable(false));
            } catch (LanguageServerException off) {
                return CompletableFuture.failedFuture(switchedOff());
            }
        }
        return manager().getLanguageServer(CarrelServerFactory.ID);
    }

    private static CarrelServer checked(LanguageServerItem item) {
        if (item == null || !(item.getServer() instanceof CarrelServer server)) {
            throw switchedOff();
        }
        var mismatch = CarrelServer.mismatch(item.getServerCapabilities());
        if (mismatch != null) {
            throw new ServerUnavailable("Carrel can't be used: " + mismatch + ".", "See Settings | Tools | Carrel.");
        }
        return server;
    }

    private static ServerUnavailable switchedOff() {
        return new ServerUnavailable(
                "Carrel's server isn't running.",
                "Look at Settings | Languages & Frameworks | Language Servers, where it may be switched off, and at its log there.");
    }

    private LanguageServerManager manager() {
        return LanguageServerManager.getInstance(project);
    }
}
