package carrel.ide;

import com.intellij.openapi.actionSystem.ActionUpdateThread;
import com.intellij.openapi.actionSystem.AnAction;
import com.intellij.openapi.actionSystem.AnActionEvent;
import com.intellij.openapi.project.DumbAware;
import com.intellij.openapi.project.Project;

/** An action in a project that has a folder. */
abstract class ProjectAction extends AnAction implements DumbAware {
    @Override
    public final void update(AnActionEvent event) {
        var project = event.getProject();
        event.getPresentation().setEnabledAndVisible(project != null && project.getBasePath() != null);
    }

    @Override
    public final ActionUpdateThread getActionUpdateThread() {
        return ActionUpdateThread.BGT;
    }

    @Override
    public final void actionPerformed(AnActionEvent event) {
        var project = event.getProject();
        if (project == null) {
            return;
        }
        var carrel = CarrelProject.of(project);
        carrel.folders().stream().findFirst().ifPresent(folder -> perform(project, carrel, folder));
    }

    /** {@code folder}: the URI of the project's folder. */
    abstract void perform(Project project, CarrelProject carrel, String folder);
}
