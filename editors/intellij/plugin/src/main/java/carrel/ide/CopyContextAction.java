package carrel.ide;

import carrel.memory.Memory;
import carrel.memory.Question;
import carrel.memory.Labels;
import carrel.protocol.Messages.ContextResult;
import com.intellij.notification.NotificationType;
import com.intellij.openapi.application.ApplicationManager;
import com.intellij.openapi.progress.ProgressIndicator;
import com.intellij.openapi.progress.ProgressManager;
import com.intellij.openapi.progress.Task;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.ui.Messages;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Puts the pages that a question is about on the clipboard, with the question: for any chat. */
public final class CopyContextAction extends ProjectAction {
    @Override
    void perform(Project project, CarrelProject carrel, String folder) {
        var host = new IdePanelHost(project);
        var front = host.front();
        var words = Messages.showInputDialog(
                project, "Context for which question?", "Carrel", Messages.getQuestionIcon(), host.selection(), null);
        if (words == null || words.isBlank()) {
            return;
        }
        var question = carrel.memory().afterEarlier(Question.of(folder, words.strip(), front, host.open()));
        var answer = carrel.memory().context(question);
        ProgressManager.getInstance().run(new Task.Backgroundable(project, "Carrel looks through the project", true) {
            @Override
            public void run(ProgressIndicator indicator) {
                try {
                    copy(project, question, await(answer, indicator), host);
                } catch (CancellationException cancelled) {
                    answer.cancel(true);
                } catch (ExecutionException error) {
                    ServerNotifications.tell(project, Memory.explain(error.getCause()), NotificationType.ERROR);
                }
            }
        });
    }

    private static ContextResult await(CompletableFuture<ContextResult> answer, ProgressIndicator indicator) throws ExecutionException {
        while (true) {
            if (indicator.isCanceled()) {
                throw new CancellationException();
            }
            try {
                return answer.get(100, TimeUnit.MILLISECONDS);
            } catch (TimeoutException notYet) {
                continue;
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new CancellationException();
            }
        }
    }

    private static void copy(Project project, Question question, ContextResult pack, IdePanelHost host) {
        if (pack.error() != null) {
            ServerNotifications.tell(project, pack.error(), NotificationType.WARNING);
        } else if (pack.hits().isEmpty()) {
            ServerNotifications.tell(project, "Nothing in the project fits this question.", NotificationType.INFORMATION);
        } else {
            ApplicationManager.getApplication().invokeLater(() -> host.copy(question.after(pack)));
            var words = "%s and the question copied: %s.".formatted(Labels.count(pack.hits().size(), "place"), Labels.spent(pack));
            ServerNotifications.tell(project, words, NotificationType.INFORMATION);
        }
    }
}
