package carrel.ide;

import carrel.memory.ExcludedFolders;
import com.intellij.openapi.application.ApplicationManager;
import com.intellij.openapi.module.Module;
import com.intellij.openapi.module.ModuleManager;
import com.intellij.openapi.project.Project;
import com.intellij.openapi.roots.ModuleRootEvent;
import com.intellij.openapi.roots.ModuleRootListener;
import com.intellij.openapi.roots.ModuleRootManager;
import com.intellij.openapi.util.Computable;
import java.util.ArrayList;
import java.util.Collections;

/** The folders that are excluded from a project's modules: those that a person marked, and those that the IDE adds. */
public final class ProjectRoots implements ModuleRootListener {
    private final Project project;

    /** Made by the IDE, as plugin.xml says. */
    public ProjectRoots(Project project) {
        this.project = project;
    }

    /** From any thread; waits while the project is being changed. */
    static ExcludedFolders excluded(Project project) {
        Computable<ExcludedFolders> reading = () -> project.isDisposed() ? ExcludedFolders.NONE : ofModules(project);
        return ApplicationManager.getApplication().runReadAction(reading);
    }

    @Override
    public void rootsChanged(ModuleRootEvent event) {
        CarrelProject.of(project).rootsChanged();
    }

    private static ExcludedFolders ofModules(Project project) {
        var urls = new ArrayList<String>();
        for (Module module : ModuleManager.getInstance(project).getModules()) {
            Collections.addAll(urls, ModuleRootManager.getInstance(module).getExcludeRootUrls());
        }
        return ExcludedFolders.ofUrls(urls);
    }
}
