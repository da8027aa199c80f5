package carrel.ide;

import carrel.memory.Memory;
import carrel.server.ServerUnavailable;
import com.intellij.notification.Notification;
import com.intellij.notification.NotificationAction;
import com.intellij.notification.NotificationGroupManager;
import com.intellij.notification.NotificationType;
import com.intellij.openapi.options.ShowSettingsUtil;
import com.intellij.openapi.progress.ProgressIndicator;
import com.intellij.openapi.progress.ProgressManager;
import com.intellij.openapi.progress.Task;
import com.intellij.openapi.project.Project;
import java.util.concurrent.CancellationException;

/** What a person must act on, told once. */
final class ServerNotifications {
    private final Project project;
    private String told = "";

    ServerNotifications(Project project) {
        this.project = project;
    }

    static void tell(Project project, String words, NotificationType type) {
        group(words, type).notify(project);
    }

    /** There is no server: offer to install one. */
    synchronized void missing(ServerUnavailable problem) {
        var words = problem.getMessage() + " " + problem.remedy();
        if (words.equals(told)) {
            return;
        }
        told = words;
        group(words, NotificationType.WARNING)
                .addAction(NotificationAction.createSimpleExpiring("Install Carrel", this::install))
                .addAction(NotificationAction.createSimpleExpiring(
                        "Choose Program…", () -> ShowSettingsUtil.getInstance().showSettingsDialog(project, CarrelConfigurable.class)))
                .notify(project);
    }

    synchronized void forget() {
        told = "";
    }

    private void install() {
        ProgressManager.getInstance().run(new Task.Backgroundable(project, "Installing Carrel's server", true) {
            @Override
            public void run(ProgressIndicator indicator) {
                try {
                    installInto(indicator);
                    tell(project, "Carrel's server is installed.", NotificationType.INFORMATION);
                } catch (CancellationException cancelled) {
                    forget();
                } catch (ServerUnavailable failed) {
                    forget();
                    tell(project, failed.getMessage() + " " + failed.remedy(), NotificationType.ERROR);
                }
            }
        });
    }

    private void installInto(ProgressIndicator indicator) {
        var installer = LocalEnvironment.installer().orElseThrow(() -> new ServerUnavailable(
                "Carrel's server needs Python 3.11 or newer, which isn't on PATH.", "Install Python, and then try again."));
        var program = installer.install(LocalEnvironment.wheels(), indicator::setText2, indicator::isCanceled);
        ServerSettings.get().setProgram(program.toString());
        var carrel = CarrelProject.of(project);
        carrel.programChanged();
        carrel.memory().refresh().exceptionally(error -> {
            tell(project, Memory.cause(error).getMessage(), NotificationType.ERROR);
            return null;
        });
    }

    private static Notification group(String words, NotificationType type) {
        return NotificationGroupManager.getInstance().getNotificationGroup("Carrel").createNotification("Carrel", escaped(words), type);
    }

    /** Notifications are HTML; what a program printed is not. */
    private static String escaped(String words) {
        return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>");
    }
}
